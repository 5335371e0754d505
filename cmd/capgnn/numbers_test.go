package main

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// numberVerb is a format of numbers of its own.
var numberVerb = regexp.MustCompile(`%[+-]?[0-9]*\.[0-9*]+[efg]|%[dfg] ?%%`)

// Numbers are written by package number, so that all tables agree. Tables of experiments are also CSV files: their columns have one
// unit, which their headings name.
func TestOneNumberFormat(t *testing.T) {
	files, err := filepath.Glob("*.go")
	if err != nil {
		t.Fatal(err)
	}
	for _, path := range files {
		if strings.HasSuffix(path, "_test.go") || strings.HasPrefix(path, "bench_") || path == "halolinks.go" /* for config.yaml */ {
			continue
		}
		source, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		line := 0
		for text := range strings.Lines(string(source)) {
			if line++; !strings.HasPrefix(strings.TrimSpace(text), "//") && numberVerb.MatchString(text) {
				t.Errorf("%s:%d writes a number in a format of its own: %s", path, line, strings.TrimSpace(text))
			}
		}
	}
}
