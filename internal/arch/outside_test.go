package arch

import (
	"bytes"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// outside are names of documents that lie outside of the repository, and of the folder beside it that may hold shared data.
var outside = regexp.MustCompile(`\b(?:DESIGN|STYLE|PAPER)[A-Za-z0-9-]*\.md\b|\bDESIGN [0-9]|\.\./shared\b`)

// namesShared are the files that may name the folder of shared data, and why.
var namesShared = map[string]string{
	".ci/run":         "sets CAPGNN_SHARED to it",
	"README.md":       "says where tests look for data",
	"CONTRIBUTING.md": "says where tests look for data",
}

// namesOutside returns what a file names that is not in the repository, with the number of the line, from 1 on; 0 = nothing.
func namesOutside(path string, text []byte) (name string, line int) {
	for l := range bytes.Lines(text) {
		line++
		for _, m := range outside.FindAll(l, -1) {
			if name = string(m); name != "../shared" || namesShared[path] == "" {
				return name, line
			}
		}
	}
	return "", 0
}

// TestNothingOutsideIsNamed: whoever has the repository can look up all that its files refer to.
func TestNothingOutsideIsNamed(t *testing.T) {
	const self, large = "internal/arch/outside_test.go", 1 << 20
	seen := 0
	err := filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		name, err := filepath.Rel(root, path)
		if err != nil {
			return err
		}
		name = filepath.ToSlash(name)
		if d.IsDir() && (name == ".git" || name == "runs") {
			return filepath.SkipDir
		}
		info, err := d.Info()
		if err != nil || !info.Mode().IsRegular() || info.Size() > large || name == self {
			return err
		}
		text, err := os.ReadFile(path)
		if err != nil || bytes.IndexByte(text, 0) >= 0 {
			return err
		}
		seen++
		if what, line := namesOutside(name, text); line > 0 {
			t.Errorf("%s:%d names %s, which is not in the repository: name a document below docs, or say it here", name, line, what)
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	if seen < 500 {
		t.Errorf("only %d files were read", seen)
	}
	for _, tc := range []struct {
		path, text string
		line       int
	}{
		{"gnn/x.go", "package gnn\n\n// Source: DESIGN.md 3.\n", 3},
		{"gnn/x.go", "// as DESIGN 10 says\n", 1},
		{"docs/x.md", "see ../shared/DESIGN-rooms.md", 1},
		{"docs/x.md", "[rules](STYLE.md)", 1},
		{"rapa/doc.go", "// PAPER.md, section 4\n", 1},
		{"rapa/x_test.go", `const dir = "../shared"`, 1},
		{"README.md", "data in ../shared, rules in STYLE.md", 1},
		{"README.md", "data in ../shared\n", 0},
		{"docs/x.md", "[the paper](paper.md), a REDESIGN.md, a design, ../sharedness", 0},
	} {
		if _, line := namesOutside(tc.path, []byte(tc.text)); line != tc.line {
			t.Errorf("%s: %q: line %d, want %d", tc.path, strings.TrimSpace(tc.text), line, tc.line)
		}
	}
}
