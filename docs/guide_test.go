package docs

import (
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"capgnn/graph/dataset"
	"capgnn/graph/dataset/stores"
	"capgnn/graph/synth"
)

// TestGoGuide runs the program of guide/go.md on a data set in which words tell the communities apart.
func TestGoGuide(t *testing.T) {
	text, err := os.ReadFile("guide/go.md")
	if err != nil {
		t.Fatal(err)
	}
	_, rest, found := strings.Cut(string(text), "```go\n")
	program, _, closed := strings.Cut(rest, "```\n")
	if !found || !closed {
		t.Fatal("guide/go.md has no block of Go")
	}
	dir := t.TempDir()
	source, store := filepath.Join(dir, "main.go"), filepath.Join(dir, "store")
	if err := os.WriteFile(source, []byte(program), 0o644); err != nil {
		t.Fatal(err)
	}
	if err := stores.Write(store, words(t), nil); err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command("go", "run", source, store) // in this folder, so of this module
	var errs strings.Builder
	cmd.Stderr = &errs
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("%v\n%s", err, &errs)
	}
	want := regexp.MustCompile(`^test accuracy (0\.[6-9]\d\d|1\.000)\nlayer 0 maps \(64, 40\)\nclasses of the first vertices: \[\d \d \d \d \d\]\n$`)
	if !want.Match(out) {
		t.Errorf("the program of guide/go.md printed\n%s", out)
	}
}

// words is a graph of three communities with bags of words.
func words(t *testing.T) *dataset.Dataset {
	t.Helper()
	const vertices, classes, cols = 300, 3, 40
	g, class, err := synth.Blocks(vertices, classes, 6, 0.8, 1)
	if err != nil {
		t.Fatal(err)
	}
	indptr, indices, data, err := synth.Words(class, classes, cols, 8, 0.5, 1)
	if err != nil {
		t.Fatal(err)
	}
	return &dataset.Dataset{Name: "words", Graph: g, Labels: class, Classes: classes,
		Features: dataset.Features{Cols: cols, Indptr: indptr, Indices: indices, Data: data}}
}
