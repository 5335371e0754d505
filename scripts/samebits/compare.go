package main

import (
	"fmt"
	"io"
	"maps"
	"regexp"
	"slices"
	"strings"

	"capgnn/internal/regular"
)

// rule names facts that may differ, as `CASE: FACT`; * is any text.
type rule struct {
	pattern string
	real    bool // only where devices are real
	why     string

	compiled *regexp.Regexp
	used     bool // named a fact that differs
}

func (r *rule) matches(fact string) bool {
	if r.compiled == nil {
		r.compiled = regexp.MustCompile("^" + strings.ReplaceAll(regexp.QuoteMeta(r.pattern), `\*`, ".*") + "$")
	}
	return r.compiled.MatchString(fact)
}

// readRules reads a file of intended differences; "" is none. Its first line is the commit that it is about.
func readRules(file string) ([]rule, error) {
	if file == "" {
		return nil, nil
	}
	text, err := regular.ReadFile(file, 1<<30)
	if err != nil {
		return nil, err
	}
	var out []rule
	for i, line := range strings.Split(strings.TrimSpace(string(text)), "\n")[1:] {
		if line == "" || line[0] == '#' {
			continue
		}
		pattern, why, explained := strings.Cut(line, "  ")
		if !explained || strings.TrimSpace(why) == "" {
			return nil, fmt.Errorf("%s:%d: write a pattern, two blanks and why: %q", file, i+2, line)
		}
		out = append(out, rule{pattern: pattern, why: strings.TrimSpace(why)})
	}
	return out, nil
}

// comparison prints the facts that differ.
type comparison struct {
	out               io.Writer
	leftOut, intended []rule
	facts, differ     int
}

// shown is how many facts of a case are printed, and how much of a text.
const shown, shownText = 6, 160

// compare prints what differs in one case.
func (d *comparison) compare(c testCase, was, is facts) {
	names := maps.Clone(was)
	maps.Copy(names, is)
	found := 0
	for _, name := range slices.Backward(slices.Sorted(maps.Keys(names))) { // what was printed and the run before files of caches
		d.facts++
		full := c.name + ": " + name
		before, had := was[name]
		after, has := is[name]
		if had && has && (before == after || find(d.leftOut, full, c.simulated)) || find(d.intended, full, false) {
			continue
		}
		if had != has && strings.Contains(name, "/checkpoint/epoch-") { // a slow epoch has a checkpoint besides
			continue
		}
		if found++; found <= shown {
			a, b := firstDifference(before, after)
			if !had {
				a = "(nothing)"
			}
			if !has {
				b = "(nothing)"
			}
			fmt.Fprintf(d.out, "%s: %s → %s\n", full, a, b)
		}
	}
	if found > shown {
		fmt.Fprintf(d.out, "%s: and %d more\n", c.name, found-shown)
	}
	d.differ += found
}

// find marks every rule that names the fact as used, and reports whether there is one.
func find(rules []rule, fact string, simulated bool) bool {
	found := false
	for i := range rules {
		if r := &rules[i]; (!r.real || !simulated) && r.matches(fact) {
			r.used, found = true, true
		}
	}
	return found
}

// firstDifference returns the first lines in which two texts differ, shortened.
func firstDifference(a, b string) (string, string) {
	x, y := strings.Split(a, "\n"), strings.Split(b, "\n")
	i := 0
	for i < len(x)-1 && i < len(y)-1 && x[i] == y[i] {
		i++
	}
	p, q := x[i], y[i]
	start := 0 // of what is shown of both
	for start < len(p) && start < len(q) && p[start] == q[start] {
		start++
	}
	short := func(s string) string {
		s = s[min(len(s), max(0, start-shownText/2)):]
		return fmt.Sprintf("%q", s[:min(len(s), shownText)])
	}
	return short(p), short(q)
}

// end prints intended differences that are none (what time decides may be equal) and a closing line, and reports whether anything is wrong.
func (d *comparison) end(cases int) bool {
	unused := 0
	for _, r := range d.intended {
		if !r.used {
			unused++
			fmt.Fprintf(d.out, "%q names nothing that differs: remove it\n", r.pattern)
		}
	}
	fmt.Fprintf(d.out, "%d cases, %d facts: %d differ; %d rules without use\n", cases, d.facts, d.differ, unused)
	return d.differ+unused > 0
}
