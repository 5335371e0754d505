//go:build cuda

package fake

import (
	"fmt"
	"regexp"
	"strings"
	"sync"
	"testing"
	"time"
)

// A mutation makes one line of PTX a wrong one.
type mutation struct {
	name    string
	pattern *regexp.Regexp
	change  func(line string) string
}

const (
	noBarrier = "no barrier"
	nextRow   = "the next row"
	elsewhere = "a load elsewhere"
	offByOne  = "a check off by one"
)

// mutations are what goes wrong in kernels: barriers that are forgotten, masks, rows off by one, loads elsewhere, checks off by one.
var mutations = []mutation{
	{noBarrier, regexp.MustCompile(`\tbar\.(warp\.)?sync`), func(string) string { return "" }},
	{"half a mask", regexp.MustCompile(`\t(shfl|vote)\.sync`), func(line string) string {
		return line[:strings.LastIndexByte(line, ',')] + ", 65535;"
	}},
	{nextRow, regexp.MustCompile(`\tmul\.lo\.s64 .*, %rd\d+;`), func(line string) string {
		by := line[strings.LastIndexByte(line, ' ')+1:]
		return strings.TrimSuffix(strings.Replace(line, "mul", "mad", 1), ";") + ", " + by
	}},
	{elsewhere, regexp.MustCompile(`\tld\.global\..*%rd\d+[\]+]`), func(line string) string {
		return regexp.MustCompile(`(%rd\d+)(\+-?\d+)?\]`).ReplaceAllString(line, "${1}+65536]")
	}},
	{offByOne, regexp.MustCompile(`\tsetp\.(lt|le|gt|ge)\.[su](32|64) `), func(line string) string {
		return strings.NewReplacer(".lt.", ".le.", ".le.", ".lt.", ".gt.", ".ge.", ".ge.", ".gt.").Replace(line)
	}},
}

// TestMutations mutates what a script reaches, line by line, and demands that every mutant is found, by a finding or by other bits of
// the result, but for those of mutate_equal_test.go: they compute the same, each for a reason. Of all, 95 of 100 are found.
func TestMutations(t *testing.T) {
	r := newRunner(t)
	var mu sync.Mutex
	found, all := 0, 0
	t.Run("kernels", func(t *testing.T) {
		for _, c := range mutated() {
			t.Run(c.kernel, func(t *testing.T) {
				t.Parallel()
				n, of := r.mutate(t, c)
				t.Logf("%d of %d mutants found", n, of)
				mu.Lock()
				found, all = found+n, all+of
				mu.Unlock()
			})
		}
	})
	t.Logf("%d of %d mutants found", found, all)
	if all < 300 || found*100 < all*95 {
		t.Errorf("%d of %d mutants found, want 95 %% of at least 300", found, all)
	}
}

// mutatedKernel is a kernel whose lines are mutated, and the scripts that must show it.
type mutatedKernel struct {
	kernel  string
	scripts []string
}

// mutate returns how many mutants of a kernel are found, of how many.
func (r *runner) mutate(t *testing.T, c mutatedKernel) (found, all int) {
	r = &runner{program: r.program, folder: t.TempDir(), limit: r.limit}
	script := ""
	for n, s := range c.scripts {
		script += fmt.Sprintf("case %d\n%s", n, s)
	}
	head, kernel := r.alone(t, c.kernel)
	profile := t.TempDir()
	began := time.Now()
	want := r.profile(t, head+kernel, script, profile)
	r.limit = 15*time.Second + 20*time.Since(began)
	results := strings.Split(want, "\n")
	script = ""
	for n, s := range c.scripts {
		if !strings.Contains(results[n], " ok ") {
			t.Fatalf("without a mutation: case %s", results[n])
		}
		script += fmt.Sprintf("case %d\n%swant %s\n", n, s, results[n])
	}
	missed := unreached(t, profile)["capgnn_"+c.kernel]
	first := strings.Count(head, "\n") + 1
	lines := strings.Split(kernel, "\n")
	for n, line := range lines {
		if _, is := missed[first+n]; is {
			continue
		}
		for _, m := range mutations {
			if !m.pattern.MatchString(line) {
				continue
			}
			lines[n] = m.change(line)
			got := r.run(t, head+strings.Join(lines, "\n"), "forward", script)
			lines[n] = line
			text := strings.Join(strings.Fields(line), " ")
			why := equals[broken{c.kernel, m.name, text}]
			all++
			switch {
			case got != want:
				found++
				if why != "" {
					t.Errorf("%s, %s: found, though it is listed as one that computes the same", text, m.name)
				}
			case why == "":
				t.Errorf("%s, %s: not found", text, m.name)
			}
		}
	}
	return found, all
}

// alone returns PTX with one kernel: what stands before all kernels, and the kernel.
func (r *runner) alone(t *testing.T, kernel string) (head, part string) {
	t.Helper()
	text, part := r.family(t, kernel)
	head, _, _ = strings.Cut(text, ".visible .entry ")
	return head + ".visible .entry capgnn_" + kernel + "(", part[:strings.LastIndexByte(part, '}')+1] + "\n"
}
