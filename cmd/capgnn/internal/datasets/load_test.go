package datasets

import (
	"bytes"
	"slices"
	"strings"
	"testing"

	"capgnn/cmd/capgnn/internal/runfolder"
	"capgnn/cmd/capgnn/internal/term"
	"capgnn/graph"
	"capgnn/graph/dataset"
)

func TestLoopsOf(t *testing.T) {
	for _, c := range []struct {
		choice, model string
		want          graph.Loops
	}{
		{"auto", "gcn", graph.LoopsAdded}, {"auto", "gat", graph.LoopsAdded}, {"auto", "sage", graph.LoopsRemoved}, {"auto", "gin", graph.LoopsRemoved},
		{"add", "sage", graph.LoopsAdded}, {"keep", "gcn", graph.LoopsKept}, {"remove", "gcn", graph.LoopsRemoved},
	} {
		if got := LoopsOf(&runfolder.Config{SelfLoops: c.choice, Model: c.model}); got != c.want {
			t.Errorf("--self-loops %s of %s: %v, want %v", c.choice, c.model, got, c.want)
		}
	}
}

// toy is a ring of four vertices with features and labels.
func toy() *dataset.Dataset {
	g, err := graph.FromEdges(4, []graph.Edge{{From: 0, To: 1}, {From: 1, To: 2}, {From: 2, To: 3}, {From: 3, To: 0}})
	if err != nil {
		panic(err)
	}
	return &dataset.Dataset{Graph: g, Features: dataset.Features{Cols: 1, Dense: []float32{1, 2, 3, 4}}, Labels: []int32{0, 1, -1, 0}, Classes: 2}
}

// What lacks something to train with is refused with what to do; a file that looks like it is named.
func TestNewProblem(t *testing.T) {
	mask := []bool{true, false, false, true}
	for name, c := range map[string]struct {
		split  string
		change func(d *dataset.Dataset)
		want   string // of the error; "" none
	}{
		"no mask":     {"", func(*dataset.Dataset) {}, ""},
		"mask":        {"", func(d *dataset.Dataset) { d.Train = mask }, ""},
		"number":      {"1", func(d *dataset.Dataset) { d.Train, d.Splits = mask, 2 }, ""},
		"no features": {"", func(d *dataset.Dataset) { d.Features = dataset.Features{} }, "--features degree, onehot or random:64"},
		"no labels":   {"", func(d *dataset.Dataset) { d.Labels, d.Classes = nil, 0 }, "no labels (y)"},
		"features unread": {"", func(d *dataset.Dataset) {
			d.Features, d.Unread = dataset.Features{}, []dataset.Unread{{Name: "feats.json", Looks: dataset.LooksFeatures}}
		}, "feats.json was not read, though its name looks like features"},
		"features twice": {"", func(d *dataset.Dataset) {
			d.Unread = []dataset.Unread{{Name: "feats.json", Looks: dataset.LooksFeatures}}
		}, ""},
		"split unread": {"", func(d *dataset.Dataset) { d.Unread = []dataset.Unread{{Name: "mask.npy", Looks: dataset.LooksSplit}} }, "or draw a split: --split 0.7,0.2,0.1"},
		"training set unread": {"", func(d *dataset.Dataset) {
			d.Test, d.Unread = []bool{false, true, false, false}, []dataset.Unread{{Name: "mask.npy", Looks: dataset.LooksSplit}}
		}, "mask.npy was not read, though its name looks like split"},
		"split unread, fractions given": {"0.5,0.25,0.25", func(d *dataset.Dataset) {
			d.Unread = []dataset.Unread{{Name: "mask.npy", Looks: dataset.LooksSplit}}
		}, ""},
	} {
		d, cfg := toy(), runfolder.Default()
		cfg.Set("split", c.split)
		c.change(d)
		opt := dataset.Options{}
		cfg.Split.Value.Read(&opt, cfg.Seed)
		if err := d.SettleSets(opt); err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		p, err := newProblem(d, &cfg)
		if c.want != "" {
			if term.ExitCode(err) != term.ExitUsage || !strings.Contains(err.Error(), c.want) {
				t.Errorf("%s: got %v, want %q", name, err, c.want)
			}
			continue
		}
		if err != nil || len(p.Train) != 4 || p.Train[2] || !d.Drawn && !slices.Equal(p.Train, mask) {
			t.Errorf("%s: %v, %+v", name, err, p)
		}
	}
}

// The generated data set is valid, the same for a seed, and another for another one.
func TestGenerate(t *testing.T) {
	a, err := Generate(1)
	if err != nil {
		t.Fatal(err)
	}
	b, err1 := Generate(1)
	c, err2 := Generate(2)
	if err1 != nil || err2 != nil {
		t.Fatal(err1, err2)
	}
	if err := a.Validate(); err != nil || a.Graph.Rows() != GeneratedVertices || a.Classes != GeneratedClasses {
		t.Errorf("%v, %d vertices, %d classes", err, a.Graph.Rows(), a.Classes)
	}
	if !a.Graph.Equal(b.Graph) || !slices.Equal(a.Labels, b.Labels) || !slices.Equal(a.Features.Indices, b.Features.Indices) {
		t.Error("one seed gives two data sets")
	}
	if a.Graph.Equal(c.Graph) || slices.Equal(a.Labels, c.Labels) {
		t.Error("two seeds give one graph or one list of labels")
	}
}

// A name that is nothing is refused with what is like it, or with where it comes from.
func TestFindNothing(t *testing.T) {
	t.Chdir(t.TempDir())
	var out bytes.Buffer
	k := &term.Console{Out: &out, Err: &out}
	for name, want := range map[string]string{"no-such-set": `data set "no-such-set" was not found`, "./absent.npz": "absent.npz"} {
		if path, err := Find(k, name); term.ExitCode(err) != term.ExitUsage || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %q, %v, want %q", name, path, err, want)
		}
	}
}

// Data without labels, and a single vertex.
func TestDescribeLittle(t *testing.T) {
	g, err := graph.FromEdges(1, nil)
	if err != nil {
		t.Fatal(err)
	}
	i := Describe(&dataset.Dataset{Name: "dot", Graph: g})
	if i.Isolated != 1 || i.Features != nil || i.Labels != nil || i.Homophily != nil || !i.Symmetric || i.InDegree.Max != 0 || !slices.Equal(i.InDegree.Log2, []int{1}) {
		t.Errorf("%+v", i)
	}
	var out bytes.Buffer
	if err := i.Print(&out); err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"vertices   1  (1 isolated)", "features   none", "classes    none", "training -", "none in the files: training draws them"} {
		if !strings.Contains(out.String(), want) {
			t.Errorf("%q is not in\n%s", want, out.String())
		}
	}
	d := toy()
	d.ClassNames = []string{"red", "blue"}
	if i := Describe(d); *i.Homophily != 0.5 || !slices.Equal(i.Labels.Sizes, []int{2, 1}) || i.Labels.Unlabelled != 1 {
		t.Errorf("%+v, homophily %v, want 0.5: of 0–1 and 3–0, 2 has no label", i.Labels, *i.Homophily)
	}
}
