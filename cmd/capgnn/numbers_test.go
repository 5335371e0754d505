package main

import (
	"io/fs"
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
	for _, path := range sources(t) {
		slash := filepath.ToSlash(path)
		if strings.HasPrefix(slash, "internal/experiments/") || slash == "internal/runfolder/recorded.go" /* for config.yaml */ {
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

// sources lists the files that the program's own code is in, here and in the folders below.
func sources(t *testing.T) []string {
	t.Helper()
	var files []string
	err := filepath.WalkDir(".", func(path string, d fs.DirEntry, err error) error {
		if err == nil && !d.IsDir() && strings.HasSuffix(path, ".go") && !strings.HasSuffix(path, "_test.go") {
			files = append(files, path)
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return files
}
