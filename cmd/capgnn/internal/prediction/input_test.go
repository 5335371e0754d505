package prediction

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"capgnn/cmd/capgnn/internal/datasets"
	"capgnn/cmd/capgnn/internal/runfolder"
	"capgnn/cmd/capgnn/internal/term"
	"capgnn/cmd/capgnn/internal/training"
	"capgnn/gnn"
	"capgnn/graph"
	"capgnn/graph/dataset"
)

// The widths of a model are those of the weights; settings that do not fit them are refused before anything is allocated.
func TestModelOf(t *testing.T) {
	for _, kind := range runfolder.Models {
		cfg := runfolder.Default()
		cfg.Model, cfg.Layers, cfg.Hidden = kind, 2, 16
		want, err := cfg.Network(5, 3, false)
		if err != nil {
			t.Fatal(err)
		}
		tensors := gnn.NewWeights(want).StateDict()
		got, err := modelOf(&cfg, tensors)
		if err != nil || got.In != 5 || got.Out != 3 || got.Program.SHA256() != want.Program.SHA256() {
			t.Errorf("%s: %+v, %v", kind, got, err)
		}
		for name, change := range map[string]func(*runfolder.Config){
			"more layers": func(c *runfolder.Config) { c.Layers = 3 },
			"wide hidden": func(c *runfolder.Config) { c.Hidden = 1 << 20 },
			"other model": func(c *runfolder.Config) {
				c.Model = map[string]string{"gcn": "sage", "sage": "gin", "gin": "sage", "gat": "sage"}[c.Model]
			},
			"no layer yet": func(c *runfolder.Config) { c.Layers = 0 },
		} {
			if name == "more layers" && (slices.Contains([]string{"sgc", "appnp", "gcnii", "gprgnn"}, kind)) || name == "wide hidden" && kind == "sgc" {
				continue // the widths do not depend on that
			}
			other := cfg
			change(&other)
			if got, err := modelOf(&other, tensors); err == nil {
				t.Errorf("%s, %s: weights of another model are taken as %+v", kind, name, got)
			}
		}
	}
	cfg := runfolder.Default()
	vector := &gnn.Tensor{Shape: []int{4}, Data: make([]float32, 4)}
	if _, err := modelOf(&cfg, gnn.StateDict{"convs.0.lin.weight": vector, "convs.2.bias": vector}); err == nil || !strings.Contains(err.Error(), "not weights of a gcn with 3 layers") {
		t.Errorf("a vector as matrix: %v", err)
	}
}

// Data that do not fit the weights are refused with what does not fit.
func TestFits(t *testing.T) {
	finished := t.TempDir()
	if err := os.WriteFile(filepath.Join(finished, "result.json"), []byte(`{"metric":"accuracy"}`), 0o600); err != nil {
		t.Fatal(err)
	}
	good := func() *dataset.Dataset {
		return &dataset.Dataset{Graph: &graph.CSR{Indptr: []int64{0, 0}, Cols: 1}, Features: dataset.Features{Cols: 2, Dense: []float32{1, 2}}, Labels: []int32{0}, Classes: 3}
	}
	for name, c := range map[string]struct {
		change func(*Prediction, *dataset.Dataset)
		want   string
		multi  bool
	}{
		"fits":        {func(*Prediction, *dataset.Dataset) {}, "", false},
		"no features": {func(_ *Prediction, d *dataset.Dataset) { d.Features = dataset.Features{} }, "no features (x)", false},
		"features":    {func(_ *Prediction, d *dataset.Dataset) { d.Features.Cols = 1 }, "has 1 features, the model of", false},
		"one-hot": {func(p *Prediction, d *dataset.Dataset) {
			p.Config.Features, d.Features.Cols = dataset.FeaturesOneHot, 1
		}, "`capgnn train --features degree`", false},
		"classes":       {func(_ *Prediction, d *dataset.Dataset) { d.Classes = 4 }, "gives 3: class 3 of the data set is not in the run: predict without labels (they are not needed), or with those of the run's classes alone", false},
		"fewer classes": {func(_ *Prediction, d *dataset.Dataset) { d.Classes = 2 }, "class 2 of the run is not in the data set: ", false},
		"a class more by name": {func(p *Prediction, d *dataset.Dataset) {
			d.Classes, d.ClassNames, p.names.Classes = 4, []string{"a", "b", "new", "c"}, []string{"a", "b", "c"}
		}, `class "new" of the data set is not in the run: predict without labels`, false},
		"no labels": {func(_ *Prediction, d *dataset.Dataset) { d.Labels, d.Classes = nil, 0 }, "", false},
		"several":   {func(_ *Prediction, d *dataset.Dataset) { d.Labels, d.Targets = nil, []uint8{0, 1, 1} }, "one label per vertex, the other several", false},
		"unfinished": {func(p *Prediction, d *dataset.Dataset) {
			p.Folder, d.Labels, d.Classes = runfolder.Dir(t.TempDir()), nil, 0
		}, "use --what logits, or finish the run", false},
		"unfinished, logits": {func(p *Prediction, d *dataset.Dataset) {
			p.Folder, p.What, d.Labels, d.Classes = runfolder.Dir(t.TempDir()), Logits, nil, 0
		}, "", false},
		"unfinished, several": {func(p *Prediction, d *dataset.Dataset) {
			p.Folder, d.Labels, d.Targets = runfolder.Dir(t.TempDir()), nil, []uint8{0, 1, 1}
		}, "", true},
	} {
		p := &Prediction{Run: training.New(nil, "", runfolder.Default()), Folder: runfolder.Dir(finished), What: Labels, Layer: -1, model: gnn.Config{Model: &gnn.Model{In: 2, Out: 3}}}
		d := good()
		c.change(p, d)
		if err := p.UseResult(); err != nil {
			t.Fatal(err)
		}
		err := p.fits(d)
		if (err != nil) != (c.want != "") || err != nil && !strings.Contains(err.Error(), c.want) || err == nil && p.multi != c.multi {
			t.Errorf("%s: got %v, several %v, want %q, %v", name, err, p.multi, c.want, c.multi)
		}
	}
}

// The file lies in the run's folder, and says which data set it is of where that is not the run's.
func TestOutFile(t *testing.T) {
	p := &Prediction{Run: training.New(nil, "", runfolder.Config{}), Folder: "run", What: Labels}
	p.Data = &datasets.Input{Name: "a b/c"}
	if got := p.outFile(); got != filepath.Join("run", "labels.npy") {
		t.Errorf("own data: %s", got)
	}
	p.Other = true
	if got := p.outFile(); filepath.Dir(got) != "run" || got != filepath.Join("run", "labels-"+runfolder.FileName("a b/c")+".npy") {
		t.Errorf("other data: %s", got)
	}
	if p.Out = "x/y.csv"; p.outFile() != "x/y.csv" {
		t.Errorf("named: %s", p.outFile())
	}
}

// A run whose features were standardised, but that does not hold how, predicts its own data only.
func TestUseScaling(t *testing.T) {
	for name, c := range map[string]struct {
		standardize string
		other       bool
		want        string // what the data are standardised by; "": refused
	}{"own": {"train", false, "train"}, "other": {"train", true, ""}, "other, none": {"none", true, "none"}, "other, auto": {"auto", true, "none"}} {
		p := &Prediction{Run: training.New(nil, "", runfolder.Default()), Folder: runfolder.Dir(t.TempDir()), Other: c.other}
		p.Config.Standardize, p.Config.DatasetPath = c.standardize, t.TempDir()
		err := p.UseScaling()
		if c.want == "" {
			if term.ExitCode(err) != term.ExitUsage || !strings.Contains(err.Error(), "train it again") {
				t.Errorf("%s: got %v", name, err)
			}
		} else if err != nil || p.Config.Standardize != c.want {
			t.Errorf("%s: %v, %s, want %s", name, err, p.Config.Standardize, c.want)
		}
	}
}
