package main

import (
	"bytes"
	"encoding/json"
	"errors"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"capgnn/cmd/capgnn/internal/datasets"
	"capgnn/cmd/capgnn/internal/term"
	"capgnn/graph/dataset"
	"capgnn/graph/dataset/formats"
	"capgnn/graph/synth"
	"capgnn/internal/npy"
)

// resultOf reads the JSON object on the last line of standard output.
func resultOf[T any](t *testing.T, stdout string) T {
	t.Helper()
	var out T
	all := strings.Split(strings.TrimSuffix(stdout, "\n"), "\n")
	if err := json.Unmarshal([]byte(all[len(all)-1]), &out); err != nil {
		t.Fatalf("last line of output: %v in %q", err, stdout)
	}
	return out
}

func TestDataInfo(t *testing.T) {
	s := newSandbox(t)
	newStore().write(s, "ok.npz")
	i := resultOf[datasets.Info](t, s.must("data", "info", "ok.npz", "--json", "--quiet"))
	if i.Name != "ok" || i.Vertices != 60 || i.Edges != 120 || !i.Symmetric || i.Loops != 0 || i.Isolated != 0 || i.Format != "npz" {
		t.Errorf("%+v", i)
	}
	two := datasets.Degrees{Min: 2, Median: 2, Mean: 2, P90: 2, P99: 2, Max: 2, Log2: []int{0, 0, 60}}
	if !slices.Equal(i.InDegree.Log2, two.Log2) || i.InDegree.Mean != 2 || i.InDegree.Max != 2 || i.OutDegree.Min != 2 {
		t.Errorf("degrees %+v, want %+v", i.InDegree, two)
	}
	// two values per vertex, in columns v mod 6 and v/30, which are one column for five vertices of each half
	if f := i.Features; f == nil || f.Columns != 6 || f.Sparse || f.Nonzeros != 120-10 || math.Abs(f.Density-110.0/360) > 1e-12 {
		t.Errorf("features %+v", i.Features)
	}
	if l := i.Labels; l == nil || l.Classes != 2 || l.Multi || !slices.Equal(l.Sizes, []int{30, 30}) || l.Unlabelled != 0 {
		t.Errorf("labels %+v", i.Labels)
	}
	if i.Splits.Train != nil || i.Homophily == nil || *i.Homophily != 1 {
		t.Errorf("splits %+v, homophily %v", i.Splits, i.Homophily)
	}
	table := s.must("data", "--quiet", "info", "ok.npz")
	for _, want := range []string{"120 directed", "2–3", "30 30", "edge homophily"} {
		if !strings.Contains(table, want) {
			t.Errorf("the table lacks %q:\n%s", want, table)
		}
	}
	if again := s.must("data", "--json", "info", "ok.npz"); resultOf[datasets.Info](t, again).Edges != 120 {
		t.Errorf("--json before the second word: %s", again)
	}
}

func TestDataImport(t *testing.T) {
	s := newSandbox(t)
	st := newStore()
	st["train_mask"] = npy.Entry{Data: slices.Repeat([]bool{true, false}, 30)}
	st.write(s, "ok.npz")
	w := resultOf[written](t, s.must("data", "import", "ok.npz", "--out", "data/capgnn/mine", "--json", "--quiet"))
	if w.Vertices != 60 || w.Edges != 120 || w.Features != 6 || w.Classes != 2 || w.Bytes != datasets.SizeOfTree(s.path("data/capgnn/mine")) || w.Bytes == 0 {
		t.Errorf("%+v", w)
	}
	before := resultOf[datasets.Info](t, s.must("data", "info", "ok.npz", "--json", "--quiet"))
	after := resultOf[datasets.Info](t, s.must("data", "info", "--json", "mine", "--quiet")) // found by name
	if after.Name != "mine" || after.Format != "store" || *after.Splits.Train != 30 {
		t.Errorf("%+v", after)
	}
	before.Name, before.Path, before.Format, before.Files = after.Name, after.Path, after.Format, after.Files
	a, err1 := json.Marshal(before)
	b, err2 := json.Marshal(after)
	if err := errors.Join(err1, err2); err != nil || !bytes.Equal(a, b) {
		t.Errorf("%v\n%s\n%s", err, a, b)
	}
	s.fails(term.ExitUsage, []string{"--out", "mine", "not empty"}, "data", "import", "ok.npz", "--out", "data/capgnn/mine", "--quiet")
	_, stderr, code := s.run("data", "import", "ok.npz", "--standardize", "train", "--out", "other")
	if code != 0 || !strings.Contains(stderr, "standardised") || !strings.Contains(stderr, "not their mean and deviation") || !strings.Contains(stderr, "read ") {
		t.Errorf("exit code %d, %q", code, stderr)
	}
	list := resultOf[dataList](t, s.must("data", "list", "--json"))
	if len(list.Found) != 1 || list.Found[0] != (datasets.Found{Name: "mine", Path: s.path("data/capgnn/mine"), Format: "store", Bytes: w.Bytes}) || len(list.Known) == 0 {
		t.Errorf("list %+v", list.Found)
	}
	if err := os.Mkdir(s.path("data/capgnn/several"), 0o755); err != nil {
		t.Fatal(err)
	}
	st.write(s, "data/capgnn/several/one.npz")
	st.write(s, "data/capgnn/several/two.npz")
	list = resultOf[dataList](t, s.must("data", "list", "--json"))
	if len(list.Found) != 3 || list.Found[1].Name != "one" || list.Found[2].Path != s.path("data/capgnn/several/two.npz") {
		t.Errorf("a folder of several: %+v", list.Found)
	}
	if got := resultOf[datasets.Info](t, s.must("data", "info", "two", "--json")); got.Vertices != before.Vertices {
		t.Errorf("by name: %+v", got)
	}
	if table := s.must("data", "list", "--quiet"); !strings.Contains(table, "mine") || !strings.Contains(table, "ogbn_products") || !strings.Contains(table, "reddit-like") {
		t.Errorf("list: %s", table)
	}
	if r := s.train("--dataset", "mine", "--epochs", "3", "--hidden", "8"); r.Epochs != 3 {
		t.Errorf("training on the imported store: %+v", r)
	}
}

// What only some formats have: numbered splits and ids with gaps.
func TestDataReadingFlags(t *testing.T) {
	s := newSandbox(t)
	if err := os.WriteFile(s.path("gaps.txt"), []byte("# ids with gaps\n1 5\n5 9\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	masks := func(row int) []bool { // 2 splits of 4 vertices
		m := make([]bool, 8)
		m[row], m[4+(row+1)%4] = true, true
		return m
	}
	err := npy.WriteArchiveFile(s.path("splits.npz"), []npy.Entry{
		{Key: "node_features", Shape: []int{4, 1}, Data: []float32{1, 2, 3, 4}}, {Key: "node_labels", Data: []int64{0, 1, 0, 1}},
		{Key: "edges", Shape: []int{2, 2}, Data: []int64{0, 1, 2, 3}},
		{Key: "train_masks", Shape: []int{2, 4}, Data: masks(0)}, {Key: "val_masks", Shape: []int{2, 4}, Data: masks(1)}, {Key: "test_masks", Shape: []int{2, 4}, Data: masks(2)},
	}, npy.Archiving{})
	if err != nil {
		t.Fatal(err)
	}
	for compact, want := range map[string]int{"--compact=false": 10, "--compact": 3} {
		if i := resultOf[datasets.Info](t, s.must("data", "info", "gaps.txt", "--json", "--quiet", compact)); i.Vertices != want || i.Features != nil || i.Labels != nil || i.Homophily != nil {
			t.Errorf("%s: %+v, want %d vertices", compact, i, want)
		}
	}
	if i := resultOf[datasets.Info](t, s.must("data", "info", "splits.npz", "--json", "--quiet")); i.Splits.Stored != 2 || *i.Splits.Train != 1 || *i.Homophily != 0 {
		t.Errorf("%+v", i)
	}
	s.must("data", "import", "splits.npz", "--split", "1", "--out", "one", "--quiet")
	d, err := formats.Load(s.path("one"), dataset.Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer d.Close()
	if !slices.Equal(d.Train, []bool{false, true, false, false}) || !slices.Equal(d.Test, []bool{false, false, false, true}) {
		t.Errorf("split 1 has training %v and test %v", d.Train, d.Test)
	}
	for _, split := range []string{"2", "-1", "x"} {
		s.fails(term.ExitUsage, []string{"split"}, "data", "info", "splits.npz", "--quiet", "--split="+split)
	}
	s.fails(term.ExitUsage, []string{"--compact"}, "data", "info", "one", "--quiet", "--compact")
}

// Equal seeds give equal files; every preset makes a store that is read back with the sizes it promised.
func TestDataSynth(t *testing.T) {
	t.Parallel()
	s := newSandbox(t)
	synthesise := func(out, preset string, more ...string) written {
		return resultOf[written](t, s.must(append([]string{"data", "synth", preset, "--out", out, "--json", "--quiet"}, more...)...))
	}
	for _, p := range synth.Presets() {
		scale := "0.0005"
		if p.Name == "reddit-like" {
			scale = "0.05"
		}
		w := synthesise(p.Name, p.Name, "--scale", scale)
		i := resultOf[datasets.Info](t, s.must("data", "info", p.Name, "--json", "--quiet"))
		if i.Name != p.Name || i.Edges != w.Edges || i.Vertices != w.Vertices || p.Cols > 0 && (!i.Symmetric || i.Loops != 0) {
			t.Errorf("%s: %+v, written %+v", p.Name, i, w)
		}
		if p.Cols == 0 {
			if i.Features != nil || i.Labels != nil {
				t.Errorf("%s has features or labels", p.Name)
			}
			continue
		}
		if i.Features.Columns != p.Cols || i.Features.Sparse != (p.Words > 0) || i.Labels.Multi != (p.Labels > 0) {
			t.Errorf("%s: features %+v, labels %+v", p.Name, i.Features, i.Labels)
		}
		if share := float64(*i.Splits.Train) / float64(i.Vertices); math.Abs(share-p.Split[0]) > 1/float64(i.Vertices) { // rounding
			t.Errorf("%s: %.3f of the vertices train, want %g", p.Name, share, p.Split[0])
		}
	}
	synthesise("a", "yelp-like", "--scale", "0.0005", "--seed", "4")
	for _, name := range []string{"indices.npy", "x.npy", "y.npy", "train_mask.npy"} {
		first, err1 := os.ReadFile(s.path(filepath.Join("yelp-like", name)))
		other, err2 := os.ReadFile(s.path(filepath.Join("a", name)))
		if err := errors.Join(err1, err2); err != nil || bytes.Equal(first, other) {
			t.Errorf("%s: seeds 1 and 4 give equal files, or %v", name, err)
		}
	}
	// seed 1 once more, on one thread
	cmd := s.command("data", "synth", "--quiet", "--scale", "0.0005", "--out", "b", "yelp-like")
	cmd.Env = append(cmd.Env, "GOMAXPROCS=1")
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	for _, name := range []string{"indptr.npy", "indices.npy", "x.npy", "y.npy", "train_mask.npy", "meta.json"} {
		first, err1 := os.ReadFile(s.path(filepath.Join("yelp-like", name)))
		again, err2 := os.ReadFile(s.path(filepath.Join("b", name)))
		if err := errors.Join(err1, err2); err != nil || !bytes.Equal(first, again) {
			t.Errorf("%s: one thread gives other files (%v)", name, err)
		}
	}
}

func TestDataWrongUsage(t *testing.T) {
	s := newSandbox(t)
	newStore().write(s, "ok.npz")
	for name, content := range map[string]string{"junk.npz": "PK\x03\x04 no zip", "file": "x"} {
		if err := os.WriteFile(s.path(name), []byte(content), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	for _, tc := range []struct {
		want string
		args []string
	}{
		{"nonsense", []string{"data", "nonsense"}},
		{"DATASET", []string{"data", "info"}},
		{"got 2", []string{"data", "info", "ok.npz", "more"}},
		{"nowhere", []string{"data", "info", "nowhere"}},
		{"junk.npz", []string{"data", "info", "junk.npz"}},
		{"edges", []string{"data", "info", "ok.npz", "--edges", "both"}},
		{"edges", []string{"data", "info", "ok.npz", "--edges"}},
		{"-bad", []string{"data", "info", "ok.npz", "--bad"}},
		{"data info --help", []string{"data", "info", "--bad", "ok.npz"}},
		{"json", []string{"data", "info", "ok.npz", "--json=maybe"}},
		{"no features", []string{"data", "info", "rmat", "--standardize", "train"}},
		{"unexpected argument", []string{"data", "list", "all"}},
		{"--nodes", []string{"data", "tables", "--out", "new"}},
		{"--missing", []string{"data", "tables", "--nodes", "file", "--links", "file", "--missing", "inf", "--out", "new"}},
		{"--out", []string{"data", "tables", "--nodes", "file", "--links", "file"}},
		{"file: has no line", []string{"data", "tables", "--nodes", "file", "--links", "file", "--out", "new"}},
		{"unexpected argument", []string{"data", "tables", "file"}},
		{"--out", []string{"data", "import", "ok.npz"}},
		{"--out", []string{"data", "import", "ok.npz", "--out", "file", "--quiet"}},
		{"SRC", []string{"data", "import", "--out", "new"}},
		{"reddit-like", []string{"data", "synth", "reddit", "--out", "new"}},
		{"--out", []string{"data", "synth", "flickr-like"}},
		{"--scale", []string{"data", "synth", "flickr-like", "--out", "new", "--scale", "0"}},
		{"--scale", []string{"data", "synth", "flickr-like", "--out", "new", "--scale", "NaN"}},
		{"scale", []string{"data", "synth", "flickr-like", "--out", "new", "--scale", "big"}},
		{"scale 2 of papers-like is not in (0, 1.", []string{"data", "synth", "papers-like", "--out", "new", "--scale", "2"}},
		{"scale 17 of flickr-like is not in (0, 16]", []string{"data", "synth", "flickr-like", "--out", "new", "--scale", "17"}},
		{"seed", []string{"data", "synth", "flickr-like", "--out", "new", "--seed", "-1"}},
	} {
		t.Run(strings.Join(tc.args, " "), func(t *testing.T) {
			inner := sandboxIn(t, s.Dir)
			if slices.Contains(tc.args, "rmat") {
				inner.must("data", "synth", "rmat", "--scale", "0.0001", "--out", "rmat", "--quiet")
			}
			inner.fails(term.ExitUsage, []string{tc.want}, tc.args...)
		})
	}
	if term.Exists(s.path("new")) {
		t.Error("wrong usage left a folder")
	}
}
