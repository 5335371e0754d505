//go:build cuda

package fake

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"
)

// reach is a script that takes a kernel where the shapes of the conformance suite do not: grids so small that every warp goes
// through many rows, rows of several segments, and kernels that the host chooses for large matrices only.
type reach struct {
	name, kernel, script string
	// exact: the kernel's sources, compiled by g++, have the same bits. Where they have not, docs/bench/gpu-kernels.md says why.
	exact bool
}

// script is a list of lines for testdata/ptx.cc.
type script struct{ strings.Builder }

func (s *script) line(words ...any) { fmt.Fprintln(s, words...) }

// buffer is bytes of memory, filled by fill and what it takes; nothing if there is none.
func (s *script) buffer(name string, bytes int, fill ...any) {
	s.line("buffer", name, bytes)
	if len(fill) > 0 {
		s.line(append([]any{fill[0], name}, fill[1:]...)...)
	}
}

// rows are a matrix of numbers of both types: "x" of fp32 and "xb" of bf16, and "y" and "yb" to write to.
func (s *script) rows(n int) {
	for _, name := range []string{"x", "y"} {
		s.buffer(name, 4*n, "random")
		s.buffer(name+"b", 2*n, "halves")
	}
}

// oneBlock launches a kernel of a block.
func (s *script) oneBlock(kernel string, args ...any) {
	s.line(append([]any{"launch", "capgnn_" + kernel, 1, 1, 256, 0}, args...)...)
}

// TestReach demands of every script that nothing is found, that the order of threads changes no bit, and where PTX computes just
// what is written in the sources that these come to the same bits.
func TestReach(t *testing.T) {
	r := newRunner(t)
	r.limit, r.profiled = 10*time.Minute, true
	families := map[string][]reach{}
	for _, c := range reaches() {
		text, _ := r.family(t, c.kernel)
		families[text] = append(families[text], c)
	}
	for text, cases := range families {
		all := ""
		for _, c := range cases {
			all += "case " + c.name + "\n" + c.script
		}
		results := map[string]map[string]string{}
		for _, order := range []string{"forward", "random:1", "sources"} {
			results[order] = map[string]string{}
			for line := range strings.Lines(r.run(t, text, order, all)) {
				name, result, _ := strings.Cut(strings.TrimSpace(line), " ")
				results[order][name] = result
			}
		}
		for _, c := range cases {
			got := results["forward"][c.name]
			if !strings.HasPrefix(got, "ok ") {
				t.Errorf("%s: %q", c.name, got)
			} else if other := results["random:1"][c.name]; other != got {
				t.Errorf("%s: in random order %s, else %s", c.name, other, got)
			} else if other := results["sources"][c.name]; c.exact && other != got {
				t.Errorf("%s: its sources give %s, PTX %s", c.name, other, got)
			}
		}
	}
}

func reaches() []reach {
	return slices.Concat(elementwiseReaches(), productReaches(), sumReaches())
}

// elementwiseReaches are rows of two segments, aligned and not, and of few columns, on one block.
func elementwiseReaches() []reach {
	var list []reach
	const rows = 70
	for _, c := range [][2]int{{1100, 1100}, {1099, 1101}, {1101, 1104}, {1100, 1102}, {6, 8}, {7, 8}, {1, 1}} {
		cols, ld := c[0], c[1]
		add := func(kernel string, exact bool, calls ...[]any) {
			s := &script{}
			s.rows(rows * ld)
			s.buffer("vec", 4*max(rows, ld), "random")
			s.buffer("out", 4*rows)
			s.buffer("list", 4*rows, "cycle", rows-3)
			for _, args := range calls {
				s.oneBlock(kernel, args...)
			}
			list = append(list, reach{fmt.Sprintf("%s_%dof%d_%d", kernel, cols, ld, len(list)), kernel, s.String(), exact})
		}
		add("fill", true, []any{rows, cols, "@y", ld, "1.5"})
		for _, m := range [][3]string{{"move_ff", "@y", "@x"}, {"move_fb", "@yb", "@x"}, {"move_bf", "@y", "@xb"}, {"move_bb", "@yb", "@xb"}} {
			add(m[0], true, []any{rows, cols, m[1], ld, m[2], ld, 0}, []any{rows, cols, m[1], ld, m[2], ld, "@list"})
		}
		add("axpby", true, []any{rows, cols, "@y", ld, "@x", ld, "0.5", "0.0"}, []any{rows, cols, "@y", ld, "@x", ld, "0.5", "1.5"})
		add("scale_rows", true, []any{rows, cols, "@y", ld, "@x", ld, "@vec"})
		add("scale_bias", true, []any{rows, cols, "@y", ld, "@vec", "@vec"}, []any{rows, cols, "@y", ld, 0, "@vec"}, []any{rows, cols, "@y", ld, "@vec", 0})
		add("add_scaled", true, []any{rows, cols, "@y", ld, "@x", ld, "@vec"})
		add("add_scaled_b", true, []any{rows, cols, "@y", ld, "@xb", ld, "@vec"})
		add("transpose", true, []any{rows, cols, "@y", rows, "@x", ld})
		if cols > 1 {
			add("pack_int8_f", true, []any{rows, cols, "@y", ld, "@x", ld, 0, "@list", 12345, 2147483648})
			add("pack_int8_b", true, []any{rows, cols, "@y", ld, "@xb", ld, "@list", "@list", 12345, 2147483648})
		}
		if cols%4 == 0 {
			add("head_mean", true, []any{rows, cols / 4, 4, "@y", ld, "@x", ld, "@vec"}, []any{rows, cols, 1, "@y", ld, "@x", ld, 0}, []any{rows, cols / 10, 10, "@y", ld, "@x", ld, 0})
			add("head_mean_backward", true, []any{rows, cols / 4, 4, "@y", ld, "@x", ld}, []any{rows, cols, 1, "@y", ld, "@x", ld})
			add("gat_scores", true, []any{rows, 4, cols / 4, "@x", ld, "@vec", "@vec", "@y", 8, "@yb", 8}, []any{rows, 1, cols, "@x", ld, "@vec", 0, "@y", 8, 0, 0})
		}
		for _, flags := range []int{1, 3, 7, 8, 15, 6, 32 + 1, 64 + 4 + 1, 96 + 1, 32 + 8, 64 + 8 + 4 + 1, 96 + 4} { // 1 norm, 2 ReLU, 4 dropout, 8 bf16; 32 LeakyReLU, 64 ELU, 96 Tanh
			kernel, h := forActivation("epilogue", flags), "@y"
			if flags&8 != 0 {
				h = "@yb"
			}
			for _, bias := range []any{0, "@vec"} {
				add(kernel, true, []any{rows, cols, "@x", ld, bias, flags, h, ld, "@vec", "@vec", "@out", "0.00001", "@list", 2147483648, "2.0", 99, 3})
			}
		}
	}
	return append(append(list, gradientReaches()...), optimiserReaches()...)
}

// forActivation returns the kernel for these flags.
func forActivation(kernel string, flags int) string {
	if flags >= 32 {
		return kernel + "_curved"
	}
	return kernel
}

// gradientReaches are gradients through an epilogue with all that it may have, of rows whose sums lie in shared memory and beside it,
// and of vectors that are aligned and not.
func gradientReaches() []reach {
	var list []reach
	const rows = 20
	for _, c := range [][2]int{{1100, 1100}, {1099, 1101}, {64, 64}, {63, 64}, {6, 8}, {1, 1}} {
		cols, ld := c[0], c[1]
		wide := (cols + 3) / 4 * 4
		s := &script{}
		s.rows(rows * ld)
		s.buffer("dh", 4*rows*ld, "random")
		s.buffer("h", 4*rows*ld)
		s.buffer("vec", 4*(wide+1), "random")
		s.buffer("rstd", 4*rows, "random")
		s.buffer("part", 4*3*cols)
		s.buffer("sums", 4*3*8*wide)
		s.buffer("list", 4*rows, "cycle", rows-3)
		shared, sums := 8*12*wide, any(0)
		if shared > 48<<10 {
			shared, sums = 0, "@sums"
		}
		for n, flags := range []int{1, 3, 7, 15, 2, 6, 32 + 1, 64 + 4 + 1, 96 + 8 + 4 + 1, 64, 96 + 4, 96} { // as in elementwiseReaches
			h, dz, want := any(0), "@y", 1
			if n%2 == 1 {
				h = "@h"
			}
			if flags&8 != 0 {
				dz = "@yb"
			}
			if flags == 2 || flags == 96 {
				want = 0
			}
			s.line("launch", "capgnn_"+forActivation("epilogue_backward", flags), 1, 1, 256, shared, rows, cols, "@dh", ld, "@x", ld, dz, ld, "@rstd", h, "@part", sums, want, flags, ld,
				"@vec", "@vec", "@list", 2147483648, "2.0", 99, 3)
		}
		list = append(list, reach{fmt.Sprintf("epilogue_backward_%dof%d", cols, ld), "epilogue_backward", s.String(), true})
	}
	return list
}

func optimiserReaches() []reach {
	const n = 256*13 + 77
	s := &script{}
	for _, name := range []string{"p", "g", "m"} {
		s.buffer(name, 4*n, "random")
	}
	s.buffer("v", 4*n, "floats", 0.25)
	sgd := s.String()
	s.oneBlock("adam", n, "@p", "@g", "@m", "@v", 0, "0.9", "0.999", "0.1", "0.001", "0.01", "1.5", "0.00000001", "0.01", "0.0")
	s.oneBlock("adam", n, "@p", "@g", "@m", "@v", "@v", "0.9", "0.999", "0.1", "0.001", "0.01", "1.5", "0.00000001", "0.0", "0.01")
	return []reach{{"adam", "adam", s.String(), false},
		{"sgd", "sgd", sgd + fmt.Sprintf("launch capgnn_sgd 1 1 256 0 %d @p @g 0.1 0.01\n", n), true}}
}

// productReaches are the six kernels of dense products: every edge of a tile, rows that are aligned and not, what is added, and k cut.
func productReaches() []reach {
	var list []reach
	for _, kernel := range []string{"nn64", "nt64", "tn64", "nn128", "nt128", "tn128"} {
		tile := 64
		if strings.HasSuffix(kernel, "128") {
			tile = 128
		}
		for _, p := range [][4]int{{130, 140, 36, 0}, {131, 133, 35, 0}, {129, 130, 40, 1}, {128, 128, 32, 2}, {5, 3, 70, 3}, {132, 136, 33, 4}, {131, 133, 33, 4}, {132, 136, 40, 1}, {132, 136, 40, 3}, {66, 200, 200, 5}} {
			list = append(list, reach{fmt.Sprintf("gemm_%s_%dx%dx%d", kernel, p[0], p[1], p[2]), "gemm_" + kernel, dense(kernel, tile, p), true})
		}
	}
	return list
}

// dense is a product m×n×k; the mode chooses what is added and which operands are bf16.
func dense(kernel string, tile int, p [4]int) string {
	m, n, k, mode := p[0], p[1], p[2], p[3]
	s := &script{}
	lda, ldb := k, n
	if kernel[0] == 't' {
		lda = m
	}
	if kernel[1] == 't' {
		ldb = k
	}
	size := max(m, n, k)
	s.rows(size * size)
	s.buffer("c", 4*4*size*size, "random")
	s.buffer("vec", 4*size, "random")
	blocks := (m + tile - 1) / tile * ((n + tile - 1) / tile)
	a, b, flags, split, pieces := "@x", "@x", 0, 0, 1
	second := []any{0, 0, 0, 0, 0}
	scale, bias, beta := any(0), any(0), "0.0"
	switch mode {
	case 1: // A is bf16, a second pair
		a, flags = "@xb", 1
		if kernel[1] == 't' {
			second = []any{k, "@y", k, "@y", k}
		}
	case 2:
		scale, bias, beta = "@vec", "@vec", "0.5"
	case 3: // B is bf16
		if kernel[0] == 't' {
			b, flags = "@xb", 2
		}
	case 4: // C is bf16
		if kernel[0] != 't' {
			flags, bias = 4, "@vec"
		}
	case 5:
		if kernel[0] == 't' {
			split, pieces = 50, 4
		}
		beta = "0.0"
	}
	ldc := n
	s.line(append(append([]any{"launch", "capgnn_gemm_" + kernel, blocks, pieces, 256, 0, "@c", ldc, m, n, k, a, lda, b, ldb}, second...), scale, bias, beta, flags, split)...)
	return s.String()
}
