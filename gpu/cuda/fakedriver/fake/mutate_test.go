//go:build cuda

package fake

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// A mutation makes one line of PTX a wrong one.
type mutation struct {
	name    string
	pattern *regexp.Regexp
	change  func(line string) string
}

// mutations are what goes wrong in kernels: barriers that are forgotten, masks, rows off by one, loads elsewhere, checks off by one.
var mutations = []mutation{
	{"no barrier", regexp.MustCompile(`\tbar\.(warp\.)?sync`), func(string) string { return "" }},
	{"half a mask", regexp.MustCompile(`\t(shfl|vote)\.sync`), func(line string) string {
		return line[:strings.LastIndexByte(line, ',')] + ", 65535;"
	}},
	{"the next row", regexp.MustCompile(`\tmul\.lo\.s64 .*, %rd\d+;`), func(line string) string {
		by := line[strings.LastIndexByte(line, ' ')+1:]
		return strings.TrimSuffix(strings.Replace(line, "mul", "mad", 1), ";") + ", " + by
	}},
	{"a load elsewhere", regexp.MustCompile(`\tld\.global\..*%rd\d+[\]+]`), func(line string) string {
		return regexp.MustCompile(`(%rd\d+)(\+-?\d+)?\]`).ReplaceAllString(line, "${1}+65536]")
	}},
	{offByOne, regexp.MustCompile(`\tsetp\.(lt|le|gt|ge)\.[su](32|64) `), func(line string) string {
		return strings.NewReplacer(".lt.", ".le.", ".le.", ".lt.", ".gt.", ".ge.", ".ge.", ".gt.").Replace(line)
	}},
}

const offByOne = "a check off by one"

// TestMutations mutates what a script reaches, line by line, and demands that 95 of 100 mutants are found out: by a finding or by
// other bits of the result. The rest compute the same: a product with the number of the only block, a grid with blocks that have
// nothing to do, a barrier of a warp whose lanes read what they wrote themselves. Checks off by one count by themselves: many
// decide nothing at their border, such as whether four elements go as a vector or one by one. docs/bench/gpu-kernels.md has the numbers.
func TestMutations(t *testing.T) {
	r := newRunner(t)
	var found, all [2]int // of checks off by one, and of the others
	for _, c := range mutated() {
		text, kernel := r.family(t, c.kernel)
		script := ""
		for n, s := range c.scripts {
			script += fmt.Sprintf("case %d\n%s", n, s)
		}
		profile := t.TempDir()
		want := r.profile(t, text, script, profile)
		unreached := reachedNot(t, profile)
		before := text[:strings.Index(text, kernel)]
		first := strings.Count(before, "\n") + 1
		lines := strings.Split(kernel, "\n")
		for n, line := range lines {
			if unreached[fmt.Sprintf("capgnn_%s %d", c.kernel, first+n)] {
				continue
			}
			for _, m := range mutations {
				if !m.pattern.MatchString(line) {
					continue
				}
				kind := 1
				if m.name == offByOne {
					kind = 0
				}
				lines[n] = m.change(line)
				mutant := strings.Replace(text, kernel, strings.Join(lines, "\n"), 1)
				lines[n] = line
				all[kind]++
				if r.run(t, mutant, "forward", script) != want {
					found[kind]++
				} else {
					t.Logf("%s, line %d, %s: not found: %s", c.kernel, first+n, m.name, strings.TrimSpace(line))
				}
			}
		}
	}
	t.Logf("%d of %d mutants found, and %d of %d checks off by one", found[1], all[1], found[0], all[0])
	if all[1] < 100 || found[1]*100 < all[1]*95 {
		t.Errorf("%d of %d mutants found, want 95 %% of at least 100", found[1], all[1])
	}
	if all[0] < 100 || found[0]*100 < all[0]*70 {
		t.Errorf("%d of %d checks off by one found, want 70 %% of at least 100", found[0], all[0])
	}
}

// mutatedKernel is a kernel whose lines are mutated, and the scripts that must show it.
type mutatedKernel struct {
	kernel  string
	scripts []string
}

// mutated are kernels with scripts of shapes below, at and above what their loops do at once.
func mutated() []mutatedKernel {
	var tiles, products, rows, gradients, scatters []string
	for _, s := range [][2]int{{64, 64}, {33, 70}, {32, 32}, {31, 31}, {40, 57}, {25, 9}, {8, 16}, {24, 40}, {1, 1}} {
		tiles = append(tiles, transposed(s[0], s[1]))
	}
	for _, s := range [][3]int{{64, 64, 64}, {65, 67, 17}, {130, 5, 33}, {64, 61, 16}, {64, 62, 15}, {63, 63, 1}, {60, 60, 32}, {1, 1, 1}, {7, 4, 4}, {5, 3, 2}, {9, 2, 18}, {4, 66, 20}} {
		products = append(products, multiplied(s[0], s[1], s[2], 0))
	}
	for _, s := range [][4]int{{64, 64, 64, 1}, {65, 67, 19, 1}, {60, 60, 20, 3}, {7, 7, 7, 1}, {5, 3, 3, 1}, {8, 4, 4, 1}, {9, 6, 18, 2}} {
		products = append(products, multiplied(s[0], s[1], s[2], s[3]))
	}
	for _, s := range [][2]int{{10, 16}, {3, 41}, {9, 129}, {4, 128}, {4, 96}, {2, 97}, {3, 32}, {3, 33}, {2, 2}} {
		rows = append(rows, losses(s[0], s[1]))
	}
	for _, cols := range []int{100, 1, 2, 3, 4, 5, 6, 7, 8, 31, 128, 129, 130, 257} {
		gradients = append(gradients, gradientOf(cols, cols), gradientOf(cols, cols+3-cols%2), gradientOf(cols, (cols/4+1)*4))
	}
	for _, cols := range []int{10, 33, 160, 1, 32, 96, 97, 128, 129} {
		scatters = append(scatters, scattered(cols))
	}
	return []mutatedKernel{
		{"col_sum", []string{sums(100, 24, 1), sums(9, 33, 1), sums(64, 32, 2), sums(8, 32, 1), sums(16, 1, 2), sums(7, 31, 1)}},
		{"transpose", tiles}, {"gemm_nn64", products}, {"softmax_loss", rows}, {"epilogue_backward", gradients}, {"scatter_add", scatters},
	}
}

// gradientOf is the gradient through an epilogue with LayerNorm of 9 rows, ld elements apart.
func gradientOf(cols, ld int) string {
	n := 4 * 9 * ld
	return fmt.Sprintf("buffer dh %d\nrandom dh\nbuffer x %d\nrandom x\nbuffer dz %d\nrandom dz\nbuffer ones %d\nfloats ones 1\nbuffer part %d\nrandom part\n"+
		"launch capgnn_epilogue_backward 1 1 256 %d 9 %d @dh %d @x %d @dz %d @ones 0 @part 0 1 1 0 @ones @ones 0 0 1.0 0 0\n",
		n, n, n, 4*max(cols, 9), 12*cols, 96*((cols+3)/4*4), cols, ld, ld, ld)
}

// sums are columns of an m of rows×cols, in parts by blocks.
func sums(rows, cols, parts int) string {
	return fmt.Sprintf("buffer m %d\nrandom m\nbuffer part %d\nrandom part\nlaunch capgnn_col_sum %d %d 256 0 %d %d @m %d @part %d\n", 4*rows*cols, 4*parts*cols,
		(cols+31)/32, parts, rows, cols, cols, (rows+parts-1)/parts)
}

func transposed(rows, cols int) string {
	return fmt.Sprintf("buffer src %d\nrandom src\nbuffer dst %d\nrandom dst\nlaunch capgnn_transpose 2 1 256 0 %d %d @dst %d @src %d\n", 4*rows*cols, 4*rows*cols,
		rows, cols, rows, cols)
}

// multiplied is a product m×n×k; rows are so many elements longer than needed.
func multiplied(m, n, k, gap int) string {
	return fmt.Sprintf("buffer a %d\nrandom a\nbuffer b %d\nrandom b\nbuffer c %d\nrandom c\nlaunch capgnn_gemm_nn64 %d 1 256 0 @c %d %d %d %d @a %d @b %d 0 0 0 0 0 0 0 0.0 0 0\n",
		4*m*(k+gap), 4*k*(n+gap), 4*m*(n+gap), (m+63)/64*((n+63)/64), n+gap, m, n, k, k+gap, n+gap)
}

func losses(rows, classes int) string {
	return fmt.Sprintf("buffer x %d\nrandom x\nbuffer labels %d\nints labels 0 1\nbuffer grad %d\nrandom grad\nbuffer part 8\n"+
		"launch capgnn_softmax_loss 1 1 256 0 %d %d @x %d 0 0 0 @labels 1.0 @part\n"+
		"launch capgnn_softmax_loss 1 1 256 0 %d %d @x %d @grad %d 0 @labels 1.0 @part\n",
		4*rows*classes, 4*rows, 4*rows*(classes+1), rows, classes, classes, rows, classes, classes, classes+1)
}

func scattered(cols int) string {
	return fmt.Sprintf("buffer dst %d\nbuffer src %d\nrandom src\nbuffer rows 40\nints rows 0 1\nlaunch capgnn_scatter_add 1 1 256 0 10 %d @dst %d @src %d @rows\n",
		40*cols, 40*cols, cols, cols, cols)
}

// profile is run with a profile.
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

// reachedNot reads the "kernel line" of what never ran.
func reachedNot(t *testing.T, folder string) map[string]bool {
	t.Helper()
	files, err := filepath.Glob(filepath.Join(folder, "*"))
	if err != nil || len(files) == 0 {
		t.Fatalf("profiles: %v, %v", files, err)
	}
	missed := map[string]int{}
	for _, file := range files {
		data, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		for _, line := range strings.Split(string(data), "\n") {
			if f := strings.Fields(line); len(f) > 2 && f[0] == "unreached" {
				missed[f[1]+" "+f[2]]++
			}
		}
	}
	lines := map[string]bool{}
	for line, runs := range missed {
		lines[line] = runs == len(files)
	}
	return lines
}
