package main

import (
	"encoding/json"
	"math"
	"os"
	"slices"
	"strings"
	"testing"

	"capgnn/cmd/capgnn/internal/term"
	"capgnn/report"
)

// components reads what `predict --what pca` wrote.
func (s *sandbox) components(file string) *report.Components {
	s.T.Helper()
	data, err := os.ReadFile(s.path(file))
	if err != nil {
		s.T.Fatal(err)
	}
	c := new(report.Components)
	if err := json.Unmarshal(data, c); err != nil {
		s.T.Fatal(err)
	}
	return c
}

// checkComponents holds coordinates x to the rows, width columns each: the sample's variance has that share along x, and x is an eigenvector of the
// products of centred rows, E·Eᵀ·x = |x|²·x, as the coordinates of rows along a principal direction are.
func checkComponents(t *testing.T, rows []float32, width int, x []float64, share float64) {
	t.Helper()
	n := len(x)
	e, total := make([]float64, n*width), 0.0
	for j := range width {
		mean := 0.0
		for i := range n {
			mean += float64(rows[i*width+j]) / float64(n)
		}
		for i := range n {
			e[i*width+j] = float64(rows[i*width+j]) - mean
			total += e[i*width+j] * e[i*width+j]
		}
	}
	across, square := make([]float64, width), 0.0
	for i := range n {
		square += x[i] * x[i]
		for j := range width {
			across[j] += e[i*width+j] * x[i]
		}
	}
	if math.Abs(square/total-share) > 1e-5 {
		t.Errorf("the share of the variance is %v, the file says %v", square/total, share)
	}
	for i := range n {
		sum := 0.0
		for j := range width {
			sum += e[i*width+j] * across[j]
		}
		if math.Abs(sum-square*x[i]) > 1e-5*square*math.Sqrt(square) {
			t.Fatalf("row %d: %v along the direction, want %v", i, sum/square, x[i])
		}
	}
}

// The file of components is of the hidden rows that `--what embeddings` writes, of logits where there is one layer, and the page of the run draws it.
func TestPredictPCA(t *testing.T) {
	s := newSandbox(t)
	newStore().write(s, "ok.npz")
	s.train(small("--run-dir", "a")...)
	rows := s.Floats(s.predict("--run", "a", "--what", "embeddings").Out, 60, 16)
	r := s.predict("--run", "a", "--what", "pca", "--devices", "cpu:0,threads=1,cpu:1,threads=1")
	if r.Out != "a/pca.json" || r.Vertices != 60 || r.Columns != 2 || r.Layer == nil || *r.Layer != 0 {
		t.Errorf("result %+v", r)
	}
	c := s.components("a/pca.json")
	if len(c.X) != 60 || c.Vertices != 60 || c.LeftOut != 0 || c.Class[29] != 0 || c.Class[30] != 1 || c.Epoch == nil || c.Variance[0] < c.Variance[1] {
		t.Errorf("%+v", c)
	}
	checkComponents(t, rows, 16, c.X, c.Variance[0])
	checkComponents(t, rows, 16, c.Y, c.Variance[1])
	s.must("report", "a")
	page, err := os.ReadFile(s.path("a/report.html"))
	if err != nil || !strings.Contains(string(page), `id="components"`) || !strings.Contains(string(page), "The rows of hidden layer 0 of 60 vertices along") {
		t.Errorf("the page draws no components: %v", err)
	}
	s.train("--dataset", "ok.npz", "--layers", "1", "--epochs", "3", "--run-dir", "one")
	if r := s.predict("--run", "one", "--what", "pca", "--out", "one.json"); r.Layer != nil || r.Out != "one.json" {
		t.Errorf("logits: %+v", r)
	}
	logits := s.Floats(s.predict("--run", "one").Out, 60, 2)
	c = s.components("one.json")
	checkComponents(t, logits, 2, c.X, c.Variance[0])
	checkComponents(t, logits, 2, c.Y, c.Variance[1])
	unlabelled := newStore()
	delete(unlabelled, "y")
	for _, mask := range []string{"train_mask", "val_mask", "test_mask"} {
		delete(unlabelled, mask)
	}
	unlabelled.write(s, "new.npz")
	if r := s.predict("--run", "a", "--what", "pca", "--dataset", "new.npz"); r.Out != "a/pca-new.json" || s.components(r.Out).Class != nil {
		t.Errorf("without labels: %+v", r)
	}
	s.fails(term.ExitUsage, []string{"end the name in .json"}, "predict", "--run", "a", "--what", "pca", "--out", "x.npy")
	s.fails(term.ExitUsage, []string{"drop --layer for the logits"}, "predict", "--run", "one", "--what", "pca", "--layer", "0")
	s.put("a/pca.json", []byte(`{"x":[1],"y":[]}`))
	s.fails(term.ExitUsage, []string{"pca.json", "predict --what pca"}, "report", "a")
}

// Of more vertices a sample is drawn, the same each time.
func TestPredictPCASample(t *testing.T) {
	s := newSandbox(t)
	s.must("data", "synth", "flickr-like", "--scale", "0.03", "--out", "graph", "--quiet")
	s.train("--dataset", "graph", "--hidden", "8", "--epochs", "1", "--run-dir", "a")
	n := s.predict("--run", "a", "--what", "pca").Vertices
	c := s.components("a/pca.json")
	if n != 2000 || c.Vertices <= 2000 || len(c.Class) != 2000 {
		t.Errorf("%d points of %d vertices", n, c.Vertices)
	}
	s.predict("--run", "a", "--what", "pca", "--out", "again.json", "--devices", "cpu:0,threads=1")
	if again := s.components("again.json"); !slices.Equal(again.Class, c.Class) {
		t.Error("another sample")
	}
	for v := 1; v < len(c.Class); v++ {
		if c.Class[v] != c.Class[0] {
			return
		}
	}
	t.Error("all points are of one class")
}
