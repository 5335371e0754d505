package pipeline

import (
	"fmt"
	"path/filepath"
	"strings"
	"testing"

	"capgnn/gnn"
	"capgnn/graph"
	"capgnn/internal/named"
	"capgnn/model"
	"capgnn/pipeline/halo"
)

// Modules that were traced in PyTorch train as their programs say, of dense and of sparse features.
func TestTracedModels(t *testing.T) {
	t.Parallel()
	files, err := filepath.Glob("../testdata/models/*.json")
	if err != nil || len(files) == 0 {
		t.Fatalf("no models: %v", err)
	}
	for _, file := range files {
		program, err := model.Read(file)
		if err != nil {
			t.Fatal(err)
		}
		custom, err := gnn.NewModel(program)
		if err != nil {
			t.Errorf("%s: %v", file, err)
			continue
		}
		for _, sparse := range []bool{false, true} {
			for _, parts := range []int{1, 2, 3} {
				if err := Prove(t.Context(), custom.Config(false, 3), sparse, cpus(t, parts)); err != nil {
					t.Errorf("%s, %d parts, sparse %t: %v", file, parts, sparse, err)
				}
			}
		}
	}
}

// Two sums over neighbours, of other directions and weights.
const directions = `{"capgnn_model": 1, "features": 6, "outputs": 3, "graphs": {"g": {}, "r": {"of": "g", "do": "reverse"}},
	"tensors": {"a": [4, 6], "b": [4, 6], "c": [3, 8]}, "nodes": [["x", "input"], ["w", "const", [], {"graph": "g", "what": "sym"}],
	["n", "const", [], {"graph": "r", "what": "in_count"}], ["k", "linear", ["x", "a"]], ["l", "linear", ["x", "b"]],
	["e", "src", ["k"], {"graph": "g"}], ["m", "mul", ["w", "e"]], ["s", "sum_in", ["m"], {"graph": "g"}],
	["f", "src", ["l"], {"graph": "r"}], ["t", "sum_in", ["f"], {"graph": "r"}], ["u", "div", ["t", "n"]],
	["h", "concat", ["s", "u"]], ["z", "tanh", ["h"]], ["g1", "src", ["z"], {"graph": "g"}], ["v", "sum_in", ["g1"], {"graph": "g"}],
	["o", "linear", ["v", "c"]]], "logits": "o"}`

// Rows of several sums may be stale and encoded; isolated parts and edge weights that no sum reads are refused.
func TestSeveralSums(t *testing.T) {
	t.Parallel()
	p, _, _ := smallTask(t, named.GCN, true, false)
	text := strings.Replace(directions, `"features": 6, "outputs": 3`, fmt.Sprintf(`"features": %d, "outputs": %d`, p.Features.Cols, p.Classes), 1)
	text = strings.NewReplacer("[4, 6]", fmt.Sprintf("[4, %d]", p.Features.Cols), "[3, 8]", fmt.Sprintf("[%d, 8]", p.Classes)).Replace(text)
	program, err := model.Parse([]byte(text))
	if err != nil {
		t.Fatal(err)
	}
	custom, err := gnn.NewModel(program)
	if err != nil {
		t.Fatal(err)
	}
	m := custom.Config(p.Targets != nil, 3)
	part := scatterParts(p.Vertices(), 3)
	exact, _ := gradients(t, newTrainer(t, p, programOf(m), cpus(t, 3), part, nil))
	for name, set := range map[string]func(o *Options){
		"int8":  func(o *Options) { o.Cache.HaloType = halo.Int8 },
		"stale": func(o *Options) { o.Cache.Staleness, o.Cache.Policy = 2, "jaca" },
	} {
		got, _ := gradients(t, newTrainer(t, p, programOf(m), cpus(t, 3), part, set)) // of the first epoch, whose rows are of no earlier one
		if d := differs(got.Flat, newRefWeights(exact).flat); !(d <= 0.02*norm(newRefWeights(exact).flat)) {
			t.Errorf("%s: gradients differ by %g of %g", name, d, norm(newRefWeights(exact).flat))
		}
	}
	q := *p
	g := *p.Graph
	g.Weights = make([]float32, len(g.Indices))
	q.Graph = &g
	plain, err := model.Parse([]byte(strings.Replace(text, `"what": "sym"`, `"what": "number", "value": 1`, 1)))
	if err == nil {
		_, err = gnn.NewModel(plain)
	}
	if err == nil {
		t.Error("a number weighs edges")
	}
	none := strings.NewReplacer(`["m", "mul", ["w", "e"]], ["s", "sum_in", ["m"]`, `["s", "sum_in", ["e"]`).Replace(text)
	if plain, err = model.Parse([]byte(none)); err != nil {
		t.Fatal(err)
	}
	if custom, err = gnn.NewModel(plain); err != nil {
		t.Fatal(err)
	}
	if _, err := q.For(custom.Config(false, 3)); err == nil || !strings.Contains(err.Error(), "does not take edge weights") {
		t.Errorf("weights that no sum reads: %v", err)
	}
	made, err := p.For(m)
	if err != nil {
		t.Fatal(err)
	}
	if len(made.Values) != 3 || made.Loops != graph.LoopsKept || !made.Graph.Symmetric() {
		t.Errorf("%d kinds of values, loops %v, symmetric: %t", len(made.Values), made.Loops, made.Graph.Symmetric())
	}
}
