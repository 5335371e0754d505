package model_test

import (
	"bytes"
	"fmt"
	"slices"
	"strings"
	"testing"

	"capgnn/model"
)

// arguments returns settings of a model that have every value of every option.
func arguments(b model.Builder) (out []model.Arguments) {
	base := model.Arguments{In: 5, Out: 3, Layers: 3, Hidden: 4, Heads: 2, Alpha: 0.1, Theta: 0.5, Dropout: 0.5}
	base.Loops = b.Loops
	out = append(out, base)
	one := base
	one.Layers, one.Dropout, one.Activation = 1, 0, model.Tanh
	out = append(out, one)
	if b.Has("jk") {
		all := base
		all.Norm, all.JK, all.Residual, all.DropFeatures, all.Activation = model.NormNone, model.JKCat, true, true, model.ELU
		out = append(out, all)
	}
	return out
}

// A program that was written is read as it was, and its identity does not depend on lines of the user's code.
func TestJSONIsReadAsItWasWritten(t *testing.T) {
	for _, b := range model.Builders {
		for _, a := range arguments(b) {
			p, err := b.Build(a)
			if err != nil {
				t.Fatal(b.Name, err)
			}
			id := p.SHA256()
			p.Nodes[p.Logits].Line = `net.py:12 "x"`
			q, err := model.Parse(p.JSON())
			if err != nil {
				t.Fatalf("%s: %v\n%s", b.Name, err, p.JSON())
			}
			if !bytes.Equal(p.JSON(), q.JSON()) || q.SHA256() != id || q.Nodes[q.Logits].Line != p.Nodes[p.Logits].Line {
				t.Errorf("%s is read as\n%s", b.Name, q.JSON())
			}
			for i := range p.Nodes {
				if n, m := p.Nodes[i], q.Nodes[i]; fmt.Sprintf("%+v", n) != fmt.Sprintf("%+v", m) {
					t.Errorf("%s: node %+v is read as %+v", b.Name, n, m)
				}
			}
		}
	}
}

// The models differ, so their identities do.
func TestIdentitiesDiffer(t *testing.T) {
	seen := map[string]string{}
	for _, b := range model.Builders {
		for i, a := range arguments(b) {
			p, err := b.Build(a)
			if err != nil {
				t.Fatal(err)
			}
			if k, there := seen[p.SHA256()]; there {
				t.Errorf("%s %d has the identity of %s", b.Name, i, k)
			}
			seen[p.SHA256()] = fmt.Sprint(b.Name, i)
		}
	}
}

// example is a GCN of two layers, as a file has it; NODES and such are replaced by tests.
const example = `{"capgnn_model": 1, "features": 6, "outputs": 2,
 "graphs": {"g": {}, "a": {"of": "g", "do": "full_loops"}},
 "tensors": {"w0": [4, 6], "b0": [4], "n.weight": [4], "n.bias": [4], "w1": [2, 4], "big": [65536, 1],
  "wide": [65536]},
 "nodes": [
  ["x", "input"],
  ["w", "const", [], {"what": "gcn_norm", "graph": "a"}],
  ["t0", "linear", ["x", "w0"]],
  ["e0", "src", ["t0"], {"graph": "a"}],
  ["m0", "mul", ["w", "e0"]],
  ["s0", "sum_in", ["m0"], {"graph": "a"}],
  ["z0", "add", ["s0", "b0"]],
  ["n0", "layer_norm", ["z0", "n.weight", "n.bias"], {"eps": 1e-3}],
  ["r0", "relu", ["n0"]],
  ["h0", "dropout", ["r0"], {"p": 0.5}],
  ["t1", "linear", ["h0", "w1"]],
  ["e1", "src", ["t1"], {"graph": "a"}],
  ["out", "sum_in", ["e1"], {"graph": "a"}]],
 "logits": "out", "line": {"t0": "model.py:12"}}
`

func TestReachDepthFixed(t *testing.T) {
	p, err := model.Parse([]byte(example))
	if err != nil {
		t.Fatal(err)
	}
	reach, depth, fixed := p.Reach(), p.Depth(), p.Fixed()
	var got []string
	for i, n := range p.Nodes {
		got = append(got, fmt.Sprintf("%s %d %d %v", n.Name, reach[i], depth[i], fixed[i]))
	}
	want := []string{"w0 2 0 false", "b0 1 0 false", "n.weight 1 0 false", "n.bias 1 0 false", "w1 1 0 false", "big -1 0 false", "wide -1 0 false",
		"x 2 0 true", "w 1 0 true", "t0 2 0 false", "e0 1 0 false", "m0 1 1 false", "s0 1 1 false", "z0 1 1 false",
		"n0 1 1 false", "r0 1 1 false", "h0 1 1 false", "t1 1 1 false", "e1 0 1 false", "out 0 2 false"}
	if !slices.Equal(got, want) {
		t.Errorf("got  %q\nwant %q", got, want)
	}
	norm := `["n0", "layer_norm", ["z0", "n.weight", "n.bias"], {"eps": 1e-3}]`
	text := strings.Replace(example, norm, `["n0", "batch_norm", ["z0"]]`, 1)
	if p, err = model.Parse([]byte(text)); err != nil {
		t.Fatal(err)
	}
	reach = p.Reach()
	for name, want := range map[string]int{"z0": model.All, "x": model.All, "n0": 1, "n.bias": -1} {
		for i, n := range p.Nodes {
			if n.Name == name && reach[i] != want {
				t.Errorf("with batch_norm reach of %s is %d, want %d", name, reach[i], want)
			}
		}
	}
}

// Every defect is one line that names the node.
func TestRefused(t *testing.T) {
	for _, c := range []struct{ from, to, want string }{
		{`"a": {"of": "g", "do": "full_loops"}`, `"c": {}`, `node "w": graph "a" is not declared`},
		{`"of": "g"`, `"of": "h"`, `graph "a": graph "h" is not declared before it`},
		{`"do": "full_loops"`, `"do": "loop"`, `graph "a": "loop" is not one of full_loops, loops, no_loops, reverse`},
		{`"g": {}`, `"g": {"weight": 2}`, `graph "g": no loops are added that could weigh 2`},
		{`"g": {}`, `"g": {}, "g": {}`, `graphs: key "g" is there twice`},
		{`"of": "g"`, `"off": "g"`, `graph "a": key "off" is not one of of, do, weight`},
		{`["t0", "linear", ["x", "w0"]]`, `["t0", "linear", ["x", "w9"]]`,
			`node "t0": reads "w9", which is no tensor and no earlier node`},
		{`["t0", "linear", ["x", "w0"]]`, `["t0", "linear", ["x", "w1"]]`,
			`node "t0": linear: x is V[6], the weight [2 4]`},
		{`["t0", "linear", ["x", "w0"]]`, `["t0", "linear", ["x"]]`, `node "t0": linear reads 2 to 3 values, not 1`},
		{`["t0", "linear", ["x", "w0"]]`, `["x", "linear", ["x", "w0"]]`, `node "x": the name is there twice`},
		{`["t0", "linear", ["x", "w0"]]`, `["t0", "liner", ["x", "w0"]]`, `node "t0": "liner" is no operation`},
		{`["t0", "linear", ["x", "w0"]]`, `["t0", "linear", ["x", "w0"], {"bias": 1}]`,
			`node "t0": linear has no "bias"`},
		{`["t0", "linear", ["x", "w0"]]`, `["t0"]`, `node "t0": has no name and operation`},
		{`["x", "input"]`, `"x"`, `node: "x" is no list`},
		{`["x", "input"]`, `[7, "input"]`, `name of a node: 7 is no text`},
		{`["x", "input"]`, `["\u0000\ud800", "input"]`, "node: name \"\\x00\uFFFD\" is not UTF-8"},
		{`"mul", ["w", "e0"]`, `"mul", ["w", "t0"]`,
			`node "m0": mul reads rows of E:a and of V: use src, dst or a sum over in-edges between`},
		{`"sum_in", ["m0"]`, `"sum_in", ["t0"]`, `node "s0": sum_in of V[4]: only of rows of edges of graph "a"`},
		{`"sum_in", ["m0"], {"graph": "a"}`, `"sum_in", ["m0"]`, `node "s0": sum_in needs "graph"`},
		{`["s0", "b0"]`, `["s0", "w1", "x"]`, `node "z0": shapes [2 4] and [6] do not broadcast`},
		{`{"p": 0.5}`, `{"p": 1}`, `node "h0": p 1 is not in [0, 1)`},
		{`{"p": 0.5}`, `{"p": null}`, `node "h0": p: null is no number`},
		{`{"p": 0.5}`, "{\"p\": {\n}}", `node "h0": p: { } is no number`},
		{`{"p": 0.5}`, `{"p": 0.5, "p": 0.5}`, `node "h0": key "p" is there twice`},
		{`{"p": 0.5}`, `{"p": 1e999}`, `node "h0": p: 1e999 is no number`},
		{`{"eps": 1e-3}`, `{"eps": 0}`, `node "n0": eps 0 is not in (0, 1)`},
		{`"w0": [4, 6]`, `"w0": [1073741825]`,
			`tensor "w0": shape [1073741825]: 1073741825 is not in [1, 1073741824]`},
		{`"w0": [4, 6]`, `"w0": [1048576, 1048576, 1048577]`, `tensor "w0": all tensors have more than 1152921504606846976 elements`},
		{`["x", "input"]`, `["x", "input"], ["y", "add", ["big", "wide"]]`, `node "y": shape [65536 65536] has more than 1073741824 elements`},
		{`"w0": [4, 6]`, `"w0": [1,1,1,1,1,1,1,1,1]`, `tensor "w0": shape has 9 axes, more than 8`},
		{`"w0": [4, 6]`, `"w0": [4, 6.5]`, `tensor "w0": [4, 6.5] is no list of whole numbers`},
		{`"logits": "out"`, `"logits": "t0"`, `logits: node "t0" is V[4], not V[2]`},
		{`"logits": "out"`, `"logits": "no"`, `logits: node "no" is not there`},
		{`"capgnn_model": 1`, `"capgnn_model": 2`, `format 2 is not 1, the one that this version reads`},
		{`"features": 6`, `"features": 0`, `width 0 is not in [1, 1073741824]`},
		{`, "line": {"t0": "model.py:12"}}`, `, "line": {"t9": "model.py:12"}}`, `line: node "t9" is not there`},
		{`, "line": {"t0": "model.py:12"}}`, `, "note": 1}`,
			`key "note" is not expected: the keys are capgnn_model, features, `},
		{`"logits": "out", "line": {"t0": "model.py:12"}}`, ` "x": 1}`, `key "x" is not expected`},
		{`"model.py:12"}}`, `"model.py:12"}} 7`, `something comes behind the program`},
		{`"model.py:12"}}`, `"model.py:12"}`, `line 19 is no JSON: the file ends too early`},
		{`["r0", "relu", ["n0"]]`, `["r0" "relu", ["n0"]]`, `line 14 is no JSON: `},
	} {
		text := strings.Replace(example, c.from, c.to, 1)
		_, err := model.Parse([]byte(text))
		if err == nil || !strings.Contains(err.Error(), c.want) || strings.Contains(err.Error(), "\n") {
			t.Errorf("%s\n got %v\nwant %s", c.to, err, c.want)
		}
	}
}

// Shapes of all operations that the example has not.
func TestShapes(t *testing.T) {
	for _, c := range []struct{ node, want string }{
		{`["y", "product", ["t0", "w1"], {"spec": "ni,oi->no"}]`, "V[2]"},
		{`["y", "product", ["t0", "x"], {"spec": "na,nb->ab"}]`, "G[4 6]"},
		{`["y", "product", ["t0", "n.bias"], {"spec": "na,a->n"}]`, "V[]"},
		{`["y", "product", ["t0", "n.bias"], {"spec": "na,a->b"}]`,
			`spec "na,a->b": output "b" names axes that no input has, or one twice`},
		{`["y", "product", ["t0", "n.bias"], {"spec": "na,a->"}]`,
			`spec "na,a->": a sum over all vertices needs rows of both inputs`},
		{`["y", "product", ["t0", "n.bias"], {"spec": "na,b"}]`, `spec "na,b": is not of the form "nij,njk->nik"`},
		{`["y", "product", ["t0", "n.bias"], {"spec": "na,nb->n"}]`,
			`spec "na,nb->n": "nb" does not name the axes of G[4], where n is the row`},
		{`["y", "product", ["t0", "w0"], {"spec": "na,ba->nb"}]`, `axis a has 4 and 6 elements`},
		{`["y", "product", ["e0", "e0"], {"spec": "na,na->a"}]`,
			`spec "na,na->a": rows of edges are summed by sum_in`},
		{`["y", "reshape", ["t0"], {"shape": [2, 2]}]`, "V[2 2]"},
		{`["y", "reshape", ["t0"], {"shape": [3, 2]}]`, "shape [3 2] has not as many elements as V[4]"},
		{`["y", "fold", ["t0"], {"how": "mean"}]`, "V[]"},
		{`["y", "fold", ["w0"], {"how": "softmax", "axis": 0}]`, "G[4 6]"},
		{`["y", "fold", ["t0"], {"how": "mean", "axis": 1}]`, "axis 1 is not below 1"},
		{`["y", "fold", ["t0"], {"how": "mean", "axis": -1}]`, "axis -1 is below 0"},
		{`["y", "fold", ["t0"], {"how": "median"}]`, `fold "median" is not one of sum, mean, max, softmax`},
		{`["y", "concat", ["t0", "x"]]`, "V[10]"},
		{`["y", "concat", ["t0", "b0"]]`, "concat of V[4] and G[4]"},
		{`["y", "slice", ["t0"], {"lo": 1, "hi": 3}]`, "V[2]"},
		{`["y", "slice", ["t0"], {"lo": 1, "hi": 5}]`, "columns 1 to 5 of V[4]"},
		{`["y", "sum_all", ["t0"]]`, "G[4]"},
		{`["y", "sum_all", ["e0"]]`, "sum_all of E:a[4]: only of rows of vertices"},
		{`["y", "softmax_in", ["e0"], {"graph": "a"}]`, "E:a[4]"},
		{`["y", "max_in", ["e0"], {"graph": "a"}]`, "V[4]"},
		{`["y", "dst", ["e0"], {"graph": "a"}]`, "dst of E:a[4]: only of rows of vertices"},
		{`["y", "batch_norm", ["t0", "n.weight", "n.bias", "b0", "b0"]]`, "V[4]"},
		{`["y", "batch_norm", ["t0", "n.weight"]]`, "batch_norm reads 1, 3 or 5 values, not 2"},
		{`["y", "layer_norm", ["t0", "n.weight", "w1"]]`, `layer_norm: "w1" is G[2 4], not G[4]`},
		{`["y", "const", [], {"what": "vertices"}]`, "G[]"},
		{`["y", "const", [], {"what": "in_degree", "graph": "a"}]`, "V[]"},
		{`["y", "const", [], {"what": "vertices", "graph": "a"}]`, "constant vertices has no graph"},
		{`["y", "const", [], {"what": "pi"}]`, `constant "pi" is not one of`},
		{`["y", "add", ["t0", "b0"], {"coef": [1, -2.5]}]`, "V[4]"},
		{`["y", "add", ["t0", "b0"], {"coef": [1]}]`, "1 coefficients of 2 values"},
		{`["y", "clamp", ["t0"], {"low": 0, "high": -1}]`, "low 0 is not at most high -1"},
		{`["y", "clamp", ["t0"], {"low": 0}]`, "V[4]"},
		{`["y", "power", ["t0"]]`, `power needs "exponent"`},
		{`["y", "dropout", ["b0"], {"p": 0.5}]`, "dropout of a value without rows"},
		{`["y", "dropout", ["t0"], {"p": 0.5, "counter": 7}], ["y2", "dropout", ["t0"], {"p": 0.5, "counter": 7}]`,
			`node "y2": counter 7 is that of node "y", too`},
	} {
		text := strings.Replace(example, `["s0", "sum_in"`, c.node+`, ["s0", "sum_in"`, 1)
		p, err := model.Parse([]byte(text))
		if err != nil {
			if !strings.Contains(err.Error(), c.want) || !strings.Contains(err.Error(), `node "y`) {
				t.Errorf("%s: %v, want %s", c.node, err, c.want)
			}
			continue
		}
		n := p.Node("y")
		if got := string(n.Space) + fmt.Sprint(n.Shape); got != c.want {
			t.Errorf("%s: %s, want %s", c.node, got, c.want)
		}
		if q, err := model.Parse(p.JSON()); err != nil || !bytes.Equal(q.JSON(), p.JSON()) {
			t.Errorf("%s is not read as it was written: %v", c.node, err)
		}
	}
}
