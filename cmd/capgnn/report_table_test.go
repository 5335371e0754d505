package main

import (
	"fmt"
	"strings"
	"testing"
	"unicode/utf8"

	"capgnn/report"
)

// A table of runs fits a terminal of 80 columns, but for names, which are whole and stand there once; the test score stands first, and every run has its own.
func TestPrintRuns(t *testing.T) {
	for n := 2; n <= 30; n += 7 {
		var runs []report.Run
		for i := range n {
			test := float64(i) / 100
			runs = append(runs, report.Run{Name: strings.Repeat("a-long-folder/", 6) + fmt.Sprint(i), Settings: []report.Setting{{Name: "dataset", Value: fmt.Sprintf("/data/of/many/people/%d", i/20)}},
				Result: &report.Result{Test: &test, Val: &test, Devices: []string{"cpu:0,threads=1", fmt.Sprintf("cpu:1,threads=%d", 1+i%2)}, Parts: 1 + i%2}})
		}
		var out strings.Builder
		printRuns(&out, runs)
		text := out.String()
		for i, run := range runs {
			if strings.Count(text, run.Name+"\n") != 1 || strings.Count(text, fmt.Sprintf("%.4f", float64(i)/100)) != 2 {
				t.Fatalf("run %d of %d:\n%s", i, n, text)
			}
		}
		numbers := strings.TrimPrefix(text[strings.LastIndex(text, runs[n-1].Name):], runs[n-1].Name+"\n")
		if lines := strings.Split(numbers, "\n"); !strings.HasPrefix(lines[1], "test ") {
			t.Errorf("the first line is %q", lines[1])
		}
		for line := range strings.Lines(numbers) {
			if !strings.Contains(line, "/") && !strings.Contains(line, "cpu:") && utf8.RuneCountInString(line) > 81 {
				t.Errorf("%d runs: %q is longer than a terminal is wide", n, line)
			}
		}
		sets := min(2, 1+(n-1)/20)
		if strings.Count(text, "/data/of/many/people/") != sets || strings.Count(text, "cpu:0,threads=1, cpu:1") != 2 {
			t.Errorf("%d runs: data sets or devices stand there more than once:\n%s", n, text)
		}
	}
}
