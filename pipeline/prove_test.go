package pipeline

import (
	"context"
	"strings"
	"testing"

	"capgnn/gnn"
	"capgnn/internal/interpreter/programs"
	"capgnn/model"
)

// What is derived from drawn programs is proved, with dense and with sparse features, in one part and in two. A model
// whose derivation is not that of its program is refused.
func TestProve(t *testing.T) {
	ctx, taken := context.Background(), 0
	for seed := range uint64(30) {
		program, err := model.Parse([]byte(programs.Draw(seed, 6, 3)))
		if err != nil {
			t.Fatal(err)
		}
		custom, err := gnn.NewModel(program)
		if err != nil {
			continue
		}
		taken++
		if err := Prove(ctx, custom.Config(seed%2 == 0, 3), seed%3 == 0, cpus(t, 1+int(seed%2))); err != nil {
			t.Errorf("seed %d: %v", seed, err)
		}
	}
	if taken < 10 {
		t.Errorf("only %d programs are trained", taken)
	}

	for i, name := range []string{"gat", "gatv2"} { // weights of attention are dropped, of three heads and of five
		b, err := model.Named(name)
		if err != nil {
			t.Fatal(err)
		}
		program, err := b.Build(model.Arguments{In: 6, Out: 3, Layers: 2, Hidden: 15, Heads: 3 + 2*i, Loops: b.Loops, Dropout: 0.3, AttentionDropout: 0.4})
		if err != nil {
			t.Fatal(err)
		}
		custom, err := gnn.NewModel(program)
		if err != nil {
			t.Fatal(err)
		}
		for parts := 1; parts <= 3; parts++ {
			if err := Prove(ctx, custom.Config(false, 3), parts == 2, cpus(t, parts)); err != nil {
				t.Errorf("%s, %d parts: %v", name, parts, err)
			}
		}
	}

	bare, err := model.Parse([]byte(`{"capgnn_model": 1, "features": 6, "outputs": 3, "graphs": {"g": {}},
		"tensors": {"W": [6, 6], "as": [2, 3], "ad": [2, 3], "r": [3, 6], "b": [3]}, "nodes": [
		["x", "input"], ["l", "linear", ["x", "W"]], ["t", "reshape", ["l"], {"shape": [2, 3]}],
		["m1", "mul", ["t", "as"]], ["s1", "fold", ["m1"], {"how": "sum", "axis": 1}],
		["m2", "mul", ["t", "ad"]], ["s2", "fold", ["m2"], {"how": "sum", "axis": 1}],
		["e1", "src", ["s1"], {"graph": "g"}], ["e2", "dst", ["s2"], {"graph": "g"}], ["e", "add", ["e1", "e2"]],
		["z", "leaky_relu", ["e"], {"slope": 0.2}], ["f", "src", ["t"], {"graph": "g"}],
		["al", "softmax_in", ["z"], {"graph": "g"}], ["ar", "reshape", ["al"], {"shape": [2, 1]}],
		["m", "mul", ["ar", "f"]], ["s", "sum_in", ["m"], {"graph": "g"}],
		["y", "fold", ["s"], {"how": "mean", "axis": 0}], ["k", "linear", ["x", "r", "b"]],
		["o", "add", ["y", "k"]]], "logits": "o"}`))
	if err != nil {
		t.Fatal(err)
	}
	unbiased, err := gnn.NewModel(bare) // attention without a bias, beside a linear
	if err != nil {
		t.Fatal(err)
	}
	for parts := 1; parts <= 3; parts++ {
		if err := Prove(ctx, unbiased.Config(false, 3), false, cpus(t, parts)); err != nil {
			t.Errorf("attention without a bias, %d parts: %v", parts, err)
		}
	}

	read := func(slope string) *model.Program {
		p, err := model.Parse([]byte(`{"capgnn_model": 1, "features": 6, "outputs": 3, "graphs": {"g": {}},
			"tensors": {"a": [4, 6], "b": [3, 4]}, "nodes": [
			["x", "input"], ["s", "src", ["x"], {"graph": "g"}], ["m", "sum_in", ["s"], {"graph": "g"}],
			["l", "linear", ["m", "a"]], ["r", "leaky_relu", ["l"], {"slope": ` + slope + `}],
			["e", "src", ["r"], {"graph": "g"}], ["n", "sum_in", ["e"], {"graph": "g"}],
			["o", "linear", ["n", "b"]]], "logits": "o"}`))
		if err != nil {
			t.Fatal(err)
		}
		return p
	}
	custom, err := gnn.NewModel(read("0.01"))
	if err != nil {
		t.Fatal(err)
	}
	if err := Prove(ctx, custom.Config(false, 3), false, cpus(t, 1)); err != nil {
		t.Error(err)
	}
	err = prove(ctx, custom.Config(false, 3), read("0.9"), false, cpus(t, 1))
	if err == nil || !strings.Contains(err.Error(), differently) {
		t.Errorf("a wrong derivation: %v", err)
	}
}
