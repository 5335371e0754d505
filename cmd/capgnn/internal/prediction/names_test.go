package prediction

import (
	"bytes"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"capgnn/cmd/capgnn/internal/runfolder"
	"capgnn/cmd/capgnn/internal/term"
	"capgnn/cmd/capgnn/internal/training"
	"capgnn/gnn"
	"capgnn/graph"
	"capgnn/graph/dataset"
)

// Classes are compared by name where both sides have names, else by number; weights of edges as a whole.
func TestNamesOfClassesAndWeights(t *testing.T) {
	finished := t.TempDir()
	if err := os.WriteFile(filepath.Join(finished, "result.json"), []byte(`{"metric":"accuracy"}`), 0o600); err != nil {
		t.Fatal(err)
	}
	run := []string{"north", "mid", "south"}
	for name, c := range map[string]struct {
		run, data []string
		weighs    bool // the run's edges have weights
		weights   []float32
		err       string
		colours   []int32
		note      string
	}{
		"alike":            {run, run, false, nil, "", []int32{0, 1, -1}, ""},
		"in another order": {run, []string{"mid", "north", "south"}, false, nil, "", []int32{1, 0, -1}, ""},
		"fewer":            {run, []string{"south", "north"}, false, nil, "", []int32{2, 0, -1}, ""},
		"others":           {run, []string{"south", "west", "east"}, false, nil, "", []int32{2, -1, -1}, "the run does not have 2 of the data set's classes"},
		"one other":        {run, []string{"south", "west"}, false, nil, "has 2 classes", nil, ""},
		"more":             {run, []string{"north", "mid", "south", "west"}, false, nil, "has 4 classes", nil, ""},
		"run without":      {nil, []string{"a", "b"}, false, nil, "has 2 classes", nil, ""},
		"unknown in run":   {nil, []string{"a", "b", "c"}, false, nil, "", []int32{0, 1, -1}, "class k is called as in the data set"},
		"weights, too":     {run, run, true, []float32{1}, "", []int32{0, 1, -1}, ""},
		"no weights":       {run, run, true, nil, "`capgnn train --ignore-weights`", nil, ""},
		"new weights":      {run, run, false, []float32{1}, "`capgnn data import --ignore-weights`", nil, ""},
	} {
		var notes bytes.Buffer
		p := &Prediction{Run: training.New(&term.Console{Err: &notes}, "", runfolder.Default()), Folder: runfolder.Dir(finished), What: PCA, Layer: -1, Other: true,
			names: runfolder.DataNames{Classes: c.run, Weighted: c.weighs}, model: gnn.Config{Model: &gnn.Model{In: 2, Out: 3}}}
		d := &dataset.Dataset{Graph: &graph.CSR{Indptr: []int64{0, 0}, Cols: 1, Weights: c.weights}, Features: dataset.Features{Cols: 2, Dense: []float32{1, 2}},
			Labels: []int32{0, 1, -1}, Classes: len(c.data), ClassNames: c.data}
		if err := p.UseResult(); err != nil {
			t.Fatal(err)
		}
		err := p.fits(d)
		if (err != nil) != (c.err != "") || err != nil && !strings.Contains(err.Error(), c.err) {
			t.Errorf("%s: %v, want %q", name, err, c.err)
		}
		if err != nil {
			continue
		}
		if got := p.classesByName(d); !slices.Equal(got, c.colours) {
			t.Errorf("%s: colours %v, want %v", name, got, c.colours)
		}
		if got := notes.String(); (got != "") != (c.note != "") || !strings.Contains(got, c.note) {
			t.Errorf("%s: notes %q, want %q", name, got, c.note)
		}
	}
}
