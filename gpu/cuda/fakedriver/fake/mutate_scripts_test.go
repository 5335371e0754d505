//go:build cuda

package fake

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"capgnn/gpu"
)

// mutated are kernels with scripts of shapes below, at and above what their loops do at once.
func mutated() []mutatedKernel {
	return []mutatedKernel{
		{"col_sum", sums()}, {"transpose", transposes()}, {"gemm_nn64", products()}, {"softmax_loss", losses()},
		{"epilogue_backward", gradients()}, {"scatter_add", scatters()},
	}
}

// matrix is a matrix of random fp32 whose rows are ld elements apart and that ends with its last element. What lies between rows was
// never written: who reads it there and uses it is found, and who writes there.
func (s *script) matrix(name string, rows, cols, ld int) {
	s.buffer(name, 4*((rows-1)*ld+cols), "random")
	if ld > cols {
		s.line("gap", name, 4*cols, 4*ld)
	}
}

// sums are columns of matrices, in parts by blocks.
func sums() (list []string) {
	for _, c := range [][3]int{{100, 24, 1}, {9, 33, 1}, {64, 32, 2}, {8, 32, 1}, {16, 1, 2}, {7, 31, 1}} {
		rows, cols, parts := c[0], c[1], c[2]
		s := &script{}
		s.matrix("m", rows, cols, cols+1)
		s.matrix("part", parts, cols, cols)
		s.line("launch", "capgnn_col_sum", (cols+31)/32, parts, 256, 0, rows, cols, "@m", cols+1, "@part", (rows+parts-1)/parts)
		list = append(list, s.String())
	}
	return list
}

func transposes() (list []string) {
	for _, c := range [][2]int{{64, 64}, {33, 70}, {32, 32}, {31, 31}, {40, 57}, {25, 9}, {8, 16}, {24, 40}, {18, 20}, {16, 24}, {1, 1}} {
		rows, cols := c[0], c[1]
		s := &script{}
		s.matrix("src", rows, cols, cols+1)
		s.matrix("dst", cols, rows, rows+2)
		s.line("launch", "capgnn_transpose", 2, 1, 256, 0, rows, cols, "@dst", rows+2, "@src", cols+1)
		list = append(list, s.String())
	}
	return list
}

// products are m×n×k, of rows that are so many elements longer than needed, with k in pieces.
func products() (list []string) {
	for _, p := range [][5]int{
		{64, 64, 64, 0, 1}, {65, 67, 17, 0, 1}, {130, 5, 33, 0, 1}, {64, 61, 16, 0, 1}, {64, 62, 15, 0, 1}, {63, 63, 1, 0, 1}, {60, 60, 32, 0, 1}, {1, 1, 1, 0, 1}, {7, 4, 4, 0, 1},
		{5, 3, 2, 0, 1}, {9, 2, 18, 0, 1}, {4, 66, 20, 0, 1}, {64, 64, 64, 1, 1}, {65, 67, 19, 1, 1}, {60, 60, 20, 4, 1}, {60, 60, 20, 3, 1}, {7, 7, 7, 1, 1}, {5, 3, 3, 1, 1}, {8, 4, 4, 1, 1},
		{9, 6, 18, 2, 1}, {6, 10, 40, 0, 2}, {66, 10, 48, 2, 3},
	} {
		m, n, k, gap, pieces := p[0], p[1], p[2], p[3], p[4]
		s := &script{}
		s.matrix("a", m, k, k+gap)
		s.matrix("b", k, n, n+gap)
		ldc, split := n+gap, 0
		if pieces > 1 {
			ldc, split = n, (k+pieces-1)/pieces
		}
		s.matrix("c", m*pieces, n, ldc)
		s.line("launch", "capgnn_gemm_nn64", (m+63)/64*((n+63)/64), pieces, 256, 0, "@c", ldc, m, n, k, "@a", k+gap, "@b", n+gap, 0, 0, 0, 0, 0, 0, 0, "0.0", 0, split)
		list = append(list, s.String())
	}
	return list
}

func losses() (list []string) {
	add := func(rows, classes, label int, x ...any) {
		s := &script{}
		s.matrix("x", rows, classes, classes+2)
		if len(x) > 0 { // rows that are not random
			s.line(append([]any{"floats", "x"}, x...)...)
			s.line("gap", "x", 4*classes, 4*(classes+2))
		}
		s.buffer("labels", 4*rows, "ints", label, 1)
		s.matrix("grad", rows, classes, classes+1)
		s.buffer("part", 8)
		s.oneBlock("softmax_loss", rows, classes, "@x", classes+2, 0, 0, 0, "@labels", "1.0", "@part")
		s.oneBlock("softmax_loss", rows, classes, "@x", classes+2, "@grad", classes+1, 0, "@labels", "1.0", "@part")
		s.oneBlock("softmax_loss", rows, classes, "@x", classes+2, "@x", classes+2, 0, "@labels", "1.0", "@part")
		list = append(list, s.String())
	}
	for _, c := range [][2]int{{10, 16}, {3, 41}, {9, 129}, {4, 128}, {4, 96}, {2, 97}, {3, 32}, {3, 33}, {2, 2}} {
		add(c[0], c[1], 0)
	}
	add(2, 2, 1)                  // a label that is no class
	add(2, 97, 0, "-2.0", "0.02") // a maximum in the last round
	for i := range 44 {           // every sum of float32 near √2 at which the logarithm parts
		add(1, 2, 0, "0.0", fmt.Sprintf("%.9f", -0.8813720-6e-8*float64(i)))
	}
	return list
}

// gradients are gradients through an epilogue with LayerNorm and what else its flags say, of rows ld elements apart.
func gradients() (list []string) {
	add := func(rows, cols, ld, block, flags, shift int, threshold uint32) {
		wide := (cols + 3) / 4 * 4
		s := &script{}
		s.matrix("dh", rows, cols, ld)
		s.matrix("x", rows, cols, ld)
		s.matrix("dz", rows, cols, ld)
		s.buffer("gamma", 4*cols+shift, "random")
		s.buffer("beta", 4*cols+shift, "random")
		s.buffer("rstd", 4*rows, "random")
		s.buffer("ids", 4*rows, "ints", 5, 3)
		s.buffer("part", 12*cols, "random")
		s.line("launch", "capgnn_epilogue_backward", 1, 1, block, block/32*12*wide, rows, cols, "@dh", ld, "@x", ld, "@dz", ld, "@rstd", 0, "@part", 0, 1, flags, 0,
			fmt.Sprint("@gamma+", shift), fmt.Sprint("@beta+", shift), "@ids", threshold, "2.0", 99, 3)
		list = append(list, s.String())
	}
	const half = 1 << 31
	for _, cols := range []int{1, 2, 3, 4, 5, 6, 7, 8, 31, 100, 128, 129, 130, 257} {
		add(9, cols, cols, 256, 1, 0, half)
		add(9, cols, cols+3-cols%2, 256, 3, 4, half) // gamma and beta that are not aligned
		add(9, cols, (cols/4+1)*4, 256, 7, 0, half)
	}
	for _, cols := range []int{385, 1024, 1025} {
		add(2, cols, cols, 64, 7, 0, half)
	}
	add(3, 12, 12, 160, 7, 0, half)
	add(3, 12, 12, 256, 7, 8, half)
	// Dropout whose threshold is just the word of a column.
	for _, c := range [][2]uint32{{12, 0}, {132, 0}, {132, 32}, {1028, 0}} {
		for _, word := range gpu.Philox([4]uint32{c[1], 5, 3, 0}, [2]uint32{99, 0}) {
			add(1, int(c[0]), int(c[0]), 32, 5, 0, word)
		}
	}
	return list
}

func scatters() (list []string) {
	for _, c := range [][2]int{{10, 10}, {10, 33}, {10, 160}, {10, 1}, {10, 32}, {10, 96}, {10, 97}, {10, 128}, {10, 129}, {1, 5}, {32, 7}, {33, 7}} {
		n, cols := c[0], c[1]
		s := &script{}
		s.matrix("dst", n, cols, cols+1)
		s.matrix("src", n, cols, cols+2)
		s.buffer("rows", 4*n, "ints", 0, 1)
		s.oneBlock("scatter_add", n, cols, "@dst", cols+1, "@src", cols+2, "@rows")
		list = append(list, s.String())
	}
	return list
}

// profile is run with a profile, in a folder.
func (r *runner) profile(t *testing.T, text, script, folder string) string {
	t.Helper()
	file := filepath.Join(r.folder, "kernels.ptx")
	if err := os.WriteFile(file, []byte(text), 0o666); err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(r.program, file, "forward")
	cmd.Stdin = strings.NewReader(script)
	cmd.Env = append(os.Environ(), "FAKECUDA_PROFILE="+folder)
	out, err := cmd.Output()
	if err != nil {
		t.Fatal(err)
	}
	return strings.TrimSpace(string(out))
}
