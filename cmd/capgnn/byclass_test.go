package main

import (
	"math"
	"os"
	"reflect"
	"strings"
	"testing"

	"capgnn/cmd/capgnn/internal/progtest"
	"capgnn/internal/npy"
)

// However a run trains, its result says what the data set looks like, and has the scores of the test set by class that belong to its test score, and the page shows them. Ranks have those of one process, and
// resumed runs those of one that was left alone.
func TestScoresByClass(t *testing.T) {
	t.Parallel()
	s := newSandbox(t)
	newStore().write(s, "plain.npz")
	st, y := newStore(), make([]int64, 60)
	for v := range y {
		if y[v] = int64(v / 30); v%5 == 2 { // is hard to learn
			y[v] = 1 - y[v]
		}
	}
	masks := [3][]bool{}
	for k, name := range []string{"train_mask", "val_mask", "test_mask"} {
		for v := range y {
			masks[k] = append(masks[k], v%3 == k)
		}
		st[name] = npy.Entry{Data: masks[k]}
	}
	st["y"] = npy.Entry{Data: y}
	st.write(s, "ok.npz")
	page := func(run string) string {
		data, err := os.ReadFile(s.path(run + "/report.html"))
		if err != nil {
			t.Fatal(err)
		}
		return string(data)
	}
	args := func(dir string, more ...string) []string {
		return append([]string{"--dataset", "ok.npz", "--hidden", "8", "--epochs", "9", "--eval-every", "2", "--run-dir", dir}, more...)
	}
	for name, more := range map[string][]string{
		"parts": {"--devices", progtest.CPUs(2)}, "stale": {"--devices", progtest.CPUs(2), "--halo-dtype", "int8", "--staleness", "8"}, "phases": {"--devices", progtest.CPUs(1), "--isolated=chunks=4,phases=1"},
		"sampled": {"--devices", progtest.CPUs(2), "--batch-size", "8", "--fanout", "3,3,3"}, "macro": {"--devices", progtest.CPUs(1), "--metric", "macro-f1"},
	} {
		args := args(name, append(more, "--checkpoint-every", "1")...)
		r := s.train(args...)
		right, support, f1, classes := 0.0, 0, 0.0, 0.0
		for _, c := range r.ByClass {
			if support += c.Support; c.Recall != nil {
				right += *c.Recall * float64(c.Support)
			}
			if c.F1 != nil {
				f1, classes = f1+*c.F1, classes+1
			}
		}
		score := right / float64(support)
		if name == "macro" {
			score = f1 / classes
		}
		vertices := 0
		for _, n := range r.Data.Degrees {
			vertices += n
		}
		labelled := 0
		for _, sizes := range r.Data.Classes {
			for _, n := range sizes {
				labelled += n
			}
		}
		if vertices == 0 || vertices != labelled {
			t.Errorf("%s: degrees of %d vertices, classes of %d", name, vertices, labelled)
		}
		for c, n := range r.Data.Classes["test"] {
			if n != r.ByClass[c].Support {
				t.Errorf("%s: class %d has %d test vertices, %d were predicted", name, c, n, r.ByClass[c].Support)
			}
		}
		diagonal := 0
		if r.Confusion == nil || len(r.Confusion.Counts) != len(r.ByClass) {
			t.Fatalf("%s: %+v of %d classes", name, r.Confusion, len(r.ByClass))
		}
		for i, row := range r.Confusion.Counts {
			diagonal += row[i]
		}
		if support == 0 || math.Abs(score-*r.Test) > 1e-12 || math.Abs(float64(diagonal)-right) > 1e-9 {
			t.Errorf("%s: %v of %d vertices are right, on the diagonal %d, mean F1 %v; the test score is %v", name, right, support, diagonal, f1/classes, *r.Test)
		}
		if page := page(name); !strings.Contains(page, `id="by-class"`) || !strings.Contains(page, `id="confusion"`) {
			t.Errorf("%s: not on the page", name)
		}
		s.must("predict", "--run", name, "--what", "labels", "--out", name+".npy", "--devices", progtest.CPUs(1), "--quiet") // by the best weights
		said, err := s.array(name + ".npy").Int64()
		if err != nil {
			t.Fatal(err)
		}
		counts := [][]int{{0, 0}, {0, 0}}
		for v, in := range masks[2] {
			if in {
				counts[y[v]][said[v]]++
			}
		}
		if !reflect.DeepEqual(r.Confusion.Counts, counts) {
			t.Errorf("%s: the confusion matrix is %v, of what predict says %v", name, r.Confusion.Counts, counts)
		}
		if err := os.Remove(s.path(name + "/result.json")); err != nil {
			t.Fatal(err)
		}
		newestCheckpointGone(t, s.path(name))
		if again := s.train("--resume", name); again.SHA256 != r.SHA256 || !reflect.DeepEqual(again.ByClass, r.ByClass) || !reflect.DeepEqual(again.Confusion, r.Confusion) || !reflect.DeepEqual(again.Data, r.Data) {
			t.Errorf("%s, resumed: %+v, want %+v", name, again.ByClass, r.ByClass)
		}
	}
	want := s.train(args("alone", "--devices", progtest.CPUs(2))...)
	for rank, e := range (progtest.RankRun{Sandbox: s.Sandbox, Args: append(args("ranks", "--devices", progtest.CPUs(1)), "--json", "--quiet")}).Over(2) {
		if e.Code != 0 {
			t.Fatalf("exit code %d: %s", e.Code, e.Err)
		}
		if rank > 0 { // says nothing
			continue
		}
		if got := readResultLine(t, e.Out); len(got.ByClass) == 0 || !reflect.DeepEqual(got.ByClass, want.ByClass) || !reflect.DeepEqual(got.Confusion, want.Confusion) || !reflect.DeepEqual(got.Data, want.Data) {
			t.Errorf("ranks: %+v, want %+v", got.ByClass, want.ByClass)
		}
	}
	if r := s.train("--dataset", "plain.npz", "--hidden", "8", "--epochs", "3", "--run-dir", "none", "--devices", progtest.CPUs(1), "--split", "0.5,0.5,0"); r.Test != nil || r.ByClass != nil || strings.Contains(page("none"), `id="by-class"`) {
		t.Errorf("without test vertices: %+v", r.ByClass)
	}
}
