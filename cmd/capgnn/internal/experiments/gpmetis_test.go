package experiments

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"capgnn/graph/synth"
)

// What is written for gpmetis is its format, and its answer is held to the graph.
func TestMETISFiles(t *testing.T) {
	g, err := synth.Random(5, 8, false, 3)
	if err != nil {
		t.Fatal(err)
	}
	u := g.Symmetrise().WithoutLoops()
	dir := t.TempDir()
	file := filepath.Join(dir, "graph")
	if err := writeMETIS(file, u); err != nil {
		t.Fatal(err)
	}
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	lines := strings.Split(string(text), "\n")
	if len(lines) != u.Rows()+2 || len(strings.Fields(strings.Join(lines[1:], " "))) != int(u.Edges()) || strings.Contains(string(text[len(lines[0]):]), " 0") {
		t.Errorf("%d edges written as\n%s", u.Edges(), text)
	}
	for answer, want := range map[string]string{"0\n1\n0\n1\n1\n": "", "0\n1\n0\n1\n": "parts of 4 vertices", "0\n1\n2\n1\n1\n": "line 3", "0\n1\nx\n": "line 3", "0\n-1\n": "line 2"} {
		at := filepath.Join(dir, "answer")
		if err := os.WriteFile(at, []byte(answer), 0o600); err != nil {
			t.Fatal(err)
		}
		part, err := readMETIS(at, 5, 2)
		if want == "" && (err != nil || !slices.Equal(part, []int32{0, 1, 0, 1, 1})) || want != "" && (err == nil || !strings.Contains(err.Error(), want)) {
			t.Errorf("%q: %v, %v, want %q", answer, part, err, want)
		}
	}
}

// gpmetis cuts a graph into as many parts as were asked for, with a cut far below a random one's.
func TestMETIS(t *testing.T) {
	if !hasMETIS() {
		t.Skip("gpmetis is not installed")
	}
	g, _, err := synth.Blocks(2000, 8, 8, 0.95, 1)
	if err != nil {
		t.Fatal(err)
	}
	u := g.Symmetrise().WithoutLoops()
	part, seconds, err := runMETIS(t.Context(), u, 4, 1)
	if err != nil || seconds < 0 {
		t.Fatal(seconds, err)
	}
	if cut := edgeCut(u, part); cut == 0 || cut > u.Edges()/6 || len(slices.Compact(slices.Sorted(slices.Values(part)))) != 4 {
		t.Errorf("%d of %d edges cut", cut, u.Edges()/2)
	}
}
