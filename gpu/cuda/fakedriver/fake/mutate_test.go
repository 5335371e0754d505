//go:build cuda

package fake

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// A mutation makes one line of PTX a wrong one.
type mutation struct {
	name    string
	pattern *regexp.Regexp
	change  func(line string) string
}

// mutations are what goes wrong in kernels: barriers that are forgotten, masks, rows off by one, loads elsewhere. Comparisons are not
// mutated: of those in unrolled loops many decide nothing at their border, so a mutant that is not found says little.
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
}

// TestMutations mutates what a script reaches, line by line, and demands that 95 of 100 mutants are found out: by a finding or by
// other bits of the result. The rest compute the same: a product with the number of the only block, a grid with blocks that have
// nothing to do, a barrier of a warp whose lanes read what they wrote themselves.
func TestMutations(t *testing.T) {
	r := newRunner(t)
	found, all := 0, 0
	for _, c := range []struct {
		kernel  string
		scripts []string
	}{
		{"col_sum", []string{sums(100, 24, 1), sums(9, 33, 1), sums(64, 32, 2)}},
		{"transpose", []string{transposed(64, 64), transposed(33, 70)}},
		{"gemm_nn64", []string{multiplied(64, 64, 64), multiplied(65, 67, 17), multiplied(130, 5, 33)}},
		{"softmax_loss", []string{losses(10, 16), losses(3, 41), losses(9, 129)}},
		{"epilogue_backward", []string{strings.Replace(gradient, "launch", "random dh\nrandom x\nrandom dz\nlaunch", 1)}},
		{"scatter_add", []string{scattered(10), scattered(33), scattered(160)}},
	} {
		text, kernel := r.family(t, c.kernel)
		profile := t.TempDir()
		var want []string
		for _, script := range c.scripts {
			want = append(want, r.profile(t, text, script, profile))
		}
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
				lines[n] = m.change(line)
				mutant := strings.Replace(text, kernel, strings.Join(lines, "\n"), 1)
				lines[n] = line
				all++
				if slices.ContainsFunc(c.scripts, func(script string) bool {
					return r.run(t, mutant, "forward", script) != want[slices.Index(c.scripts, script)]
				}) {
					found++
				} else {
					t.Logf("%s, line %d, %s: not found: %s", c.kernel, first+n, m.name, strings.TrimSpace(line))
				}
			}
		}
	}
	t.Logf("%d of %d mutants found", found, all)
	if all < 100 || found*100 < all*95 {
		t.Errorf("%d of %d mutants found, want 95 %% of at least 100", found, all)
	}
}

// sums are columns of an m of rows×cols, in parts by blocks.
func sums(rows, cols, parts int) string {
	return fmt.Sprintf("buffer m %d\nrandom m\nbuffer part %d\nlaunch capgnn_col_sum %d %d 256 0 %d %d @m %d @part %d\n", 4*rows*cols, 4*parts*cols,
		(cols+31)/32, parts, rows, cols, cols, (rows+parts-1)/parts)
}

func transposed(rows, cols int) string {
	return fmt.Sprintf("buffer src %d\nrandom src\nbuffer dst %d\nlaunch capgnn_transpose 2 1 256 0 %d %d @dst %d @src %d\n", 4*rows*cols, 4*rows*cols,
		rows, cols, rows, cols)
}

func multiplied(m, n, k int) string {
	return fmt.Sprintf("buffer a %d\nrandom a\nbuffer b %d\nrandom b\nbuffer c %d\nlaunch capgnn_gemm_nn64 %d 1 256 0 @c %d %d %d %d @a %d @b %d 0 0 0 0 0 0 0 0.0 0 0\n",
		4*m*k, 4*k*n, 4*m*n, (m+63)/64*((n+63)/64), n, m, n, k, k, n)
}

func losses(rows, classes int) string {
	return fmt.Sprintf("buffer x %d\nrandom x\nbuffer labels %d\nints labels 0 1\nbuffer part 8\nlaunch capgnn_softmax_loss 1 1 256 0 %d %d @x %d 0 0 0 @labels 1.0 @part\n",
		4*rows*classes, 4*rows, rows, classes, classes)
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
