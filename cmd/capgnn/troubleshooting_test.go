package main

import (
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

var (
	quotingRow = regexp.MustCompile("(?m)^\\| (`[^|]*) \\|")
	quoted     = regexp.MustCompile("`([^`]+)`")
)

// Every line that docs/troubleshooting.md quotes, … apart, stands in the sources.
func TestTroubleshootingQuotesLines(t *testing.T) {
	doc, err := os.ReadFile("../../docs/troubleshooting.md")
	if err != nil {
		t.Fatal(err)
	}
	printed, quotes := goText(t, "../.."), 0
	for _, row := range quotingRow.FindAllStringSubmatch(string(doc), -1) {
		for _, quote := range quoted.FindAllStringSubmatch(row[1], -1) {
			for piece := range strings.SplitSeq(quote[1], "…") {
				if piece = strings.Trim(piece, " ,:"); len(piece) < 4 {
					continue
				}
				if quotes++; !strings.Contains(printed, piece) {
					t.Errorf("docs/troubleshooting.md quotes %q, which no source has", piece)
				}
			}
		}
	}
	if quotes < 50 {
		t.Errorf("only %d quotes were found", quotes)
	}
}

// goText returns all Go files below a folder but tests, without backquotes.
func goText(t *testing.T, root string) string {
	t.Helper()
	var b strings.Builder
	err := filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if d.IsDir() && (d.Name() == "testdata" || strings.HasPrefix(d.Name(), ".") && path != root) {
			return filepath.SkipDir
		}
		if filepath.Ext(path) != ".go" || strings.HasSuffix(path, "_test.go") {
			return nil
		}
		text, err := os.ReadFile(path)
		b.WriteString(strings.ReplaceAll(string(text), "`", ""))
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return b.String()
}
