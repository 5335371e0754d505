package gnn

import (
	"fmt"
	"reflect"
	"slices"
	"strings"
	"testing"

	"capgnn/internal/named"
	"capgnn/model"
)

// modelCases are models in their options.
func modelCases() (out []named.Model) {
	for _, kind := range named.Kinds {
		for _, layers := range []int{1, 2, 3} {
			for i := range 8 {
				c := named.Model{Kind: kind, Layers: layers, Hidden: 6, In: 5, Out: 3, Heads: 2, Alpha: 0.1, Theta: 0.5, Dropout: 0.5 * float64(i%2), Seed: 3}
				if kind.Norms() {
					c.NoNorm, c.Jumping, c.DropFeatures = i%4 > 1, i > 3, i%3 == 0
					c.Residual = i%2 == 0 && netOf(c).HiddenLayers() > 1
				}
				out = append(out, c)
			}
		}
	}
	return out
}

// What is asked of a model has the answer of its definition.
func TestModelAnswersAsItsKind(t *testing.T) {
	for _, c := range modelCases() {
		m, k := netOf(c), c.Kind
		if m.Attends() != k.Attends() || m.Symmetric() != k.Symmetric() || m.CanPrecompute() != k.Precomputes() || m.KeepsOrigin() != k.KeepsOrigin() ||
			m.DropsFeatures() != (c.Dropout > 0 && (c.DropFeatures || k.KeepsOrigin())) || m.ReadsWeights() == k.Attends() {
			t.Errorf("%s %+v: what it is asked has other answers than its definition", k, c)
		}
		if k.StoresBF16() && !m.StoresBF16() {
			t.Errorf("%s %+v: it stores no BF16", k, c)
		}
	}
}

// edited returns the text of a program of two layers after replacements.
func edited(t *testing.T, kind named.Kind, pairs ...string) string {
	t.Helper()
	b, err := model.Named(string(kind))
	if err != nil {
		t.Fatal(err)
	}
	p, err := b.Build(model.Arguments{In: 5, Out: 3, Layers: 2, Hidden: 4, Heads: 2, Loops: b.Loops, Dropout: 0.5})
	if err != nil {
		t.Fatal(err)
	}
	text := string(p.JSON())
	for i := 0; i < len(pairs); i += 2 {
		if !strings.Contains(text, pairs[i]) {
			t.Fatalf("no %s in\n%s", pairs[i], text)
		}
		text = strings.ReplaceAll(text, pairs[i], pairs[i+1])
	}
	return text
}

// What is no model that can be trained is refused in one line, which names the node.
func TestProgramRefuses(t *testing.T) {
	for _, c := range []struct {
		text, want string
	}{
		{edited(t, named.GCN, `["sum_in0", "sum_in"`, `["sum_in0", "max_in"`), `node "sum_in0": max_in is known of src, of rows with one axis: read that`},
		{edited(t, named.SAGE, `["mul1", "mul", ["const0", "src1"]]`, `["mul1", "dropout", ["src1"], {"p": 0.1, "counter": 7}]`), `node "sum_in1": sum_in is known of products of src, dst, one`},
		{edited(t, named.GCN, `"logits": "add1"`, `"logits": "add1", "line": {"sum_in0": "net.py:7"}`, `["sum_in0", "sum_in"`, `["sum_in0", "max_in"`), `net.py:7`},
	} {
		p, err := model.Parse([]byte(c.text))
		if err != nil {
			t.Fatalf("%v\n%s", err, c.text)
		}
		if _, err := NewModel(p); err == nil || !strings.Contains(err.Error(), c.want) || strings.Contains(err.Error(), "\n") {
			t.Errorf("got %v, want %s", err, c.want)
		}
	}
}

// Of a long program what cannot be made is said, of a longer one that it is too long.
func TestProgramLengths(t *testing.T) {
	for _, n := range []int{maxNodes - 50, maxNodes} {
		chain, last := "", "add1"
		for i := range n {
			chain += fmt.Sprintf(",\n  [\"c%d\", \"tanh\", [%q]]", i, last)
			last = fmt.Sprintf("c%d", i)
		}
		text := edited(t, named.GCN, `"logits": "add1"`, `"logits": "`+last+`"`, `["sum_in1", "convs.1.bias"]]]`, `["sum_in1", "convs.1.bias"]]`+chain+`]`, `["sum_in0", "sum_in"`, `["sum_in0", "max_in"`)
		p, err := model.Parse([]byte(text))
		if err != nil {
			t.Fatal(err)
		}
		want := "max_in is known of src"
		if n == maxNodes {
			want = "at most 10000"
		}
		if _, err := NewModel(p); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%d more functions: %v, want %s", n, err, want)
		}
	}
}

// Attention is taken as a whole or not at all: what devices would leave out of it is refused.
func TestProgramAttention(t *testing.T) {
	const gat = `{"capgnn_model": 1, "features": 6, "outputs": 3, "graphs": {"g": {}}, "tensors": {"W": [6, 6], "wb": [6], "as": [2, 3], "ad": [2, 3], "b": [3]}, "nodes": [
		["x", "input"], ["l", "linear", ["x", "W"]], ["t", "reshape", ["l"], {"shape": [2, 3]}],
		["m1", "mul", ["t", "as"]], ["s1", "fold", ["m1"], {"how": "sum", "axis": 1}], ["m2", "mul", ["t", "ad"]], ["s2", "fold", ["m2"], {"how": "sum", "axis": 1}],
		["e1", "src", ["s1"], {"graph": "g"}], ["e2", "dst", ["s2"], {"graph": "g"}], ["e", "add", ["e1", "e2"]], ["z", "leaky_relu", ["e"], {"slope": 0.2}], ["f", "src", ["t"], {"graph": "g"}],
		["al", "softmax_in", ["z"], {"graph": "g"}], ["ar", "reshape", ["al"], {"shape": [2, 1]}], ["m", "mul", ["ar", "f"]], ["s", "sum_in", ["m"], {"graph": "g"}], ["y", "fold", ["s"], {"how": "mean", "axis": 0}], ["o", "add", ["y", "b"]]], "logits": "o"}`
	for _, c := range []struct{ from, to, node string }{
		{"", "", ""},
		{`["l", "linear", ["x", "W"]]`, `["l", "linear", ["x", "W", "wb"]]`, "l"},
		{`["e", "add", ["e1", "e2"]]`, `["e", "add", ["e1", "e2"], {"coef": [1.5, 0.5]}]`, "e"},
		{`"slope": 0.2`, `"slope": 1.2`, "z"},
		{`"how": "mean", "axis": 0`, `"how": "max", "axis": 0`, "s"},
		{`["m1", "mul", ["t", "as"]]`, `["wt", "tanh", ["as"]], ["m1", "mul", ["t", "wt"]]`, "wt"},
		{`["l", "linear", ["x", "W"]]`, `["w2", "tanh", ["W"]], ["l", "linear", ["x", "w2"]]`, "w2"},
	} {
		p, err := model.Parse([]byte(strings.Replace(gat, c.from, c.to, 1)))
		if err != nil {
			t.Fatal(c.to, err)
		}
		if _, err := NewModel(p); (err == nil) != (c.to == "") || err != nil && !strings.HasPrefix(err.Error(), `node "`+c.node+`": `) {
			t.Errorf("%s: %v", c.to, err)
		}
	}
	text := edited(t, named.GATv2, `["reshape0", "reshape", ["linear0"]`, `["reshape0", "reshape", ["plain"]`,
		`["linear0", "linear"`, `["plain", "linear", ["x", "convs.0.lin_l.weight"]], ["linear0", "linear"`)
	p, err := model.Parse([]byte(text))
	if err != nil {
		t.Fatal(err)
	}
	if _, err := NewModel(p); err == nil {
		t.Error("GATv2 whose first product has no bias is taken")
	}
}

// A number in place of weights of edges is not taken for one of them.
func TestProgramNumbersAreNoWeights(t *testing.T) {
	for _, what := range []string{`"what": "vertices"`, `"what": "number", "value": 3`} {
		p, err := model.Parse([]byte(`{"capgnn_model": 1, "features": 6, "outputs": 3, "graphs": {"g": {}}, "tensors": {"W": [3, 6]}, "nodes": [
			["x", "input"], ["n", "const", [], {` + what + `}], ["l", "linear", ["x", "W"]], ["e", "src", ["l"], {"graph": "g"}],
			["m", "mul", ["n", "e"]], ["o", "sum_in", ["m"], {"graph": "g"}]], "logits": "o"}`))
		if err != nil {
			t.Fatal(err)
		}
		c, err := NewModel(p)
		if err != nil {
			t.Fatal(err)
		}
		if m := c.Config(false, 1); m.ReadsWeights() || m.Sums() != nil || m.Messages() {
			t.Errorf("%s weighs edges", what)
		}
	}
}

// Tensors of a program that have names of their own are drawn by what they are for.
func TestProgramInitialWeights(t *testing.T) {
	text := edited(t, named.SAGE, "convs.0.lin_l", "conv1.left", "convs.0.lin_r", "conv1.right", "norms.0", "between", "convs.1.lin_l", "conv2.left", "convs.1.lin_r", "conv2.right")
	p, err := model.Parse([]byte(text))
	if err != nil {
		t.Fatal(err)
	}
	custom, err := NewModel(p)
	if err != nil {
		t.Fatal(err)
	}
	w := NewWeights(custom.Config(false, 3))
	w.Init(3)
	for _, x := range w.Tensors {
		least, most := slices.Min(x.Data), slices.Max(x.Data)
		bound := float32(0.45) // 1/√5
		if strings.HasPrefix(x.Name, "conv2") {
			bound = 0.51 // 1/√4
		}
		switch {
		case x.Name == "between.weight" && (least != 1 || most != 1), x.Name == "between.bias" && (least != 0 || most != 0),
			strings.HasPrefix(x.Name, "conv") && (least < -bound || most > bound || least == most):
			t.Errorf("%s is from %g to %g", x.Name, least, most)
		}
	}
	if reflect.DeepEqual(w.Tensor("conv1.left.weight").Data, w.Tensor("conv1.right.weight").Data) {
		t.Error("two tensors are drawn alike")
	}
}
