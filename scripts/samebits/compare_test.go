package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// A difference is found wherever it is, unless a rule names it; a rule that names none is an error.
func TestCompare(t *testing.T) {
	base := facts{"exit code": "0", "run/result.json bytes.d2h": "8", "run/result.json time_s.mm": "0.5"}
	with := func(name, value string) facts {
		out := facts{}
		for k, v := range base {
			out[k] = v
		}
		if out[name] = value; value == "" {
			delete(out, name)
		}
		return out
	}
	times := rule{pattern: "*time_s.*", real: true}
	for name, tc := range map[string]struct {
		simulated bool
		is        facts
		intended  string
		want      string // "" = nothing is wrong
	}{
		"equal but for a time": {is: with("run/result.json time_s.mm", "0.6")},
		"a simulated time":     {simulated: true, is: with("run/result.json time_s.mm", "0.6"), want: `run: run/result.json time_s.mm: "0.5" → "0.6"`},
		"no time at all":       {is: with("run/result.json time_s.mm", ""), want: "(nothing)"},
		"a new field":          {is: with("run/result.json bytes.disk", "1"), want: "(nothing)"},
		"a counter":            {is: with("run/result.json bytes.d2h", "9"), want: `bytes.d2h: "8" → "9"`},
		"an intended counter":  {is: with("run/result.json bytes.d2h", "9"), intended: "run: *bytes.d2h  rows are counted twice"},
		"intended, but equal":  {is: base, intended: "run: *bytes.d2h  rows are counted twice", want: "names nothing that differs"},
	} {
		t.Run(name, func(t *testing.T) {
			file := filepath.Join(t.TempDir(), "base")
			if err := os.WriteFile(file, []byte("0123abc\n# free\n\n"+tc.intended+"\n"), 0o644); err != nil {
				t.Fatal(err)
			}
			rules, err := readRules(file)
			if err != nil {
				t.Fatal(err)
			}
			var out strings.Builder
			d := comparison{out: &out, leftOut: []rule{times}, intended: rules}
			d.compare(testCase{name: "other"}, base, with("run/result.json time_s.mm", "0.7")) // that uses the rule of times
			d.compare(testCase{name: "run", simulated: tc.simulated}, base, tc.is)
			if wrong := d.end(2); wrong != (tc.want != "") || !strings.Contains(out.String(), tc.want) {
				t.Errorf("wrong is %t, want %q in\n%s", wrong, tc.want, out.String())
			}
		})
	}
}

// A rule must say why.
func TestRuleWithoutReason(t *testing.T) {
	file := filepath.Join(t.TempDir(), "base")
	if err := os.WriteFile(file, []byte("0123abc\nrun: *\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	if _, err := readRules(file); err == nil || !strings.Contains(err.Error(), ":2: ") {
		t.Errorf("error %v does not name line 2", err)
	}
}
