package interpreter_test

import (
	"fmt"
	"math"
	"math/rand/v2"
	"strings"
	"testing"

	"capgnn/internal/golden"
	"capgnn/internal/interpreter"
	"capgnn/model"
)

// file is a program around NODES, which end with a value y of vertices that has WIDTH columns.
const file = `{"capgnn_model": 1, "features": 3, "outputs": 2,
 "graphs": {"g": {}, "a": {"of": "g", "do": "full_loops", "weight": 0.5}, "b": {"of": "g", "do": "reverse"}, "c": {"of": "a", "do": "no_loops"},
  "d": {"of": "b", "do": "loops"}},
 "tensors": {"W": [4, 3], "b": [4], "c": [4], "M": [4, 4], "s": [1], "mean": [4], "var": [4], "last": [2, WIDTH]},
 "nodes": [["x", "input"], ["t", "linear", ["x", "W", "b"]], ["u", "tanh", ["t"]], ["p", "exp", ["t"]], ["h", "reshape", ["t"], {"shape": [2, 2]}],
  ["one", "const", [], {"what": "number", "value": 1.5}], ["st", "src", ["t"], {"graph": "a"}], ["du", "dst", ["u"], {"graph": "a"}],
  NODES, ["end", "reshape", ["y"], {"shape": [WIDTH]}], ["z", "tanh", ["end"]], ["ez", "src", ["z"], {"graph": "d"}], ["sz", "sum_in", ["ez"], {"graph": "d"}],
  ["logits", "linear", ["sz", "last"]]], "logits": "logits"}`

var nodes = []struct {
	width int
	text  string
}{
	{4, `["y", "linear", ["u", "M", "c"]]`},
	{4, `["k", "linear", ["M", "M"]], ["y", "linear", ["u", "k"]]`},
	{2, `["k", "reshape", ["M"], {"shape": [8, 2]}], ["q", "linear", ["h", "k"]], ["y", "fold", ["q"], {"how": "max"}]`},
	{4, `["y", "product", ["u", "M"], {"spec": "ni,ij->nj"}]`},
	{4, `["y", "product", ["u", "t"], {"spec": "ni,nj->nj"}]`},
	{1, `["y", "product", ["u", "t"], {"spec": "ni,ni->n"}]`},
	{4, `["k", "product", ["u", "t"], {"spec": "ni,nj->ij"}], ["y", "product", ["p", "k"], {"spec": "ni,ij->nj"}]`},
	{4, `["k", "product", ["M", "M"], {"spec": "ij,jk->ik"}], ["y", "linear", ["u", "k"]]`},
	{4, `["y", "add", ["u", "t", "b", "s", "one"], {"coef": [1, -2, 3, 0.5, 1]}]`},
	{4, `["k", "fold", ["u"], {"how": "sum"}], ["y", "mul", ["k", "b"]]`},
	{4, `["k", "reshape", ["u"], {"shape": [4, 1]}], ["q", "mul", ["k", "u"]], ["y", "fold", ["q"], {"how": "sum", "axis": 0}]`},
	{4, `["y", "mul", ["u", "u"]]`},
	{4, `["y", "div", ["u", "p"]]`},
	{4, `["k", "exp", ["b"]], ["q", "add", ["M", "c"]], ["r", "div", ["q", "k"]], ["y", "linear", ["u", "r"]]`},
	{4, `["y", "relu", ["t"]]`}, {4, `["y", "leaky_relu", ["t"], {"slope": 0.3}]`}, {4, `["y", "elu", ["t"], {"alpha": 0.7}]`},
	{4, `["y", "tanh", ["t"]]`}, {4, `["y", "gelu", ["t"]]`}, {4, `["y", "sigmoid", ["t"]]`}, {4, `["y", "silu", ["t"]]`},
	{4, `["y", "softplus", ["t"]]`}, {4, `["y", "exp", ["t"]]`}, {4, `["y", "log", ["p"]]`}, {4, `["y", "sqrt", ["p"]]`},
	{4, `["y", "square", ["t"]]`}, {4, `["y", "power", ["p"], {"exponent": 1.7}]`}, {4, `["y", "clamp", ["t"], {"low": -0.5, "high": 0.7}]`},
	{4, `["y", "relu", ["M"]], ["y2", "linear", ["t", "y"]]`},
	{4, `["y", "dropout", ["t"], {"p": 0.4}]`},
	{4, `["k", "dropout", ["st"], {"p": 0.4}], ["y", "sum_in", ["k"], {"graph": "a"}]`},
	{4, `["y", "layer_norm", ["t"], {"eps": 0.01}]`}, {4, `["y", "layer_norm", ["t", "b", "c"]]`},
	{4, `["y", "batch_norm", ["t"], {"eps": 0.01}]`}, {4, `["y", "batch_norm", ["t", "b", "c", "mean", "var"]]`},
	{8, `["y", "concat", ["u", "t"]]`}, {8, `["k", "tanh", ["h"]], ["y", "concat", ["h", "k"], {"axis": 0}]`},
	{2, `["y", "slice", ["u"], {"lo": 1, "hi": 3}]`}, {2, `["y", "slice", ["h"], {"lo": 1, "hi": 2, "axis": 0}]`},
	{2, `["y", "fold", ["h"], {"how": "sum"}]`}, {2, `["y", "fold", ["h"], {"how": "mean", "axis": 0}]`}, {2, `["y", "fold", ["h"], {"how": "max", "axis": 0}]`},
	{4, `["y", "fold", ["h"], {"how": "softmax", "axis": 0}]`}, {4, `["y", "fold", ["u"], {"how": "softmax"}]`},
	{4, `["k", "sum_all", ["p"]], ["q", "sigmoid", ["k"]], ["y", "mul", ["q", "t"]]`},
	{4, `["n", "const", [], {"what": "vertices"}], ["k", "sum_all", ["st2"]], ["q", "div", ["k", "n"]], ["y", "add", ["q", "t"]]`},
	{4, `["k", "add", ["st", "du"]], ["y", "sum_in", ["k"], {"graph": "a"}]`},
	{4, `["k", "mul", ["st", "du"]], ["y", "max_in", ["k"], {"graph": "a"}]`},
	{4, `["k", "add", ["st", "du"]], ["q", "softmax_in", ["k"], {"graph": "a"}], ["r", "mul", ["q", "st"]], ["y", "sum_in", ["r"], {"graph": "a"}]`},
	{4, `["k", "linear", ["st", "M"]], ["q", "layer_norm", ["k"]], ["y", "max_in", ["q"], {"graph": "a"}]`},
	{4, `["w", "const", [], {"what": "gcn_norm", "graph": "a"}], ["k", "mul", ["w", "st"]], ["y", "sum_in", ["k"], {"graph": "a"}]`},
	{4, `["w", "const", [], {"what": "sym", "graph": "c"}], ["e", "src", ["u"], {"graph": "c"}], ["k", "mul", ["w", "e"]], ["y", "sum_in", ["k"], {"graph": "c"}]`},
	{4, `["w", "const", [], {"what": "in_count", "graph": "g"}], ["v", "const", [], {"what": "out_degree", "graph": "b"}], ["k", "div", ["u", "w"]], ["y", "mul", ["k", "v"]]`},
	{4, `["k", "src", ["u"], {"graph": "b"}], ["q", "sum_in", ["k"], {"graph": "b"}], ["w", "src", ["q"], {"graph": "g"}], ["r", "max_in", ["w"], {"graph": "g"}], ["y", "add", ["r", "t"]]`},
}

// settings returns a run of one of the nodes on a directed graph with loops, edges that weigh differently and vertices
// without edges.
func settings(t *testing.T, width int, text string) (interpreter.Run, *rand.Rand) {
	t.Helper()
	text = strings.ReplaceAll(text, "st2", "u")
	if strings.Contains(text, `"y2"`) {
		text = strings.ReplaceAll(strings.ReplaceAll(text, `"y"`, `"k"`), `"y2"`, `"y"`)
	}
	p, err := model.Parse([]byte(strings.ReplaceAll(strings.Replace(file, "NODES", text, 1), "WIDTH", fmt.Sprint(width))))
	if err != nil {
		t.Fatalf("%s: %v", text, err)
	}
	rng := rand.New(rand.NewPCG(1, uint64(len(text))))
	const n = 12
	g := interpreter.Graph{Vertices: n}
	for range 30 {
		s, d := rng.IntN(n-2), rng.IntN(n-3)
		g.Src, g.Dst, g.Weight = append(g.Src, s), append(g.Dst, d), append(g.Weight, 0.5+rng.Float64())
	}
	g.Src, g.Dst, g.Weight = append(g.Src, 1, n-2), append(g.Dst, 1, n-2), append(g.Weight, 2, 3)
	r := interpreter.Run{Program: p, Graph: g, Params: map[string][]float64{}}
	for range n * 3 {
		r.X = append(r.X, rng.NormFloat64())
	}
	for _, x := range p.Params() {
		v := make([]float64, x.Columns())
		for i := range v {
			v[i] = rng.NormFloat64()
			if x.Name == "var" {
				v[i] = 1 + v[i]*v[i]
			}
		}
		r.Params[x.Name] = v
	}
	r.Keep = func(n *model.Node, row, col int) bool {
		return rand.New(rand.NewPCG(uint64(n.Counter), uint64(row*1000+col))).Float64() >= n.P
	}
	return r, rng
}

// scores returns the sum of weights·logits of targets, which is the loss of these tests, and its gradient.
func scores(logits, weights []float64) float64 {
	s := 0.0
	for i, w := range weights {
		if w != 0 {
			s += w * logits[i]
		}
	}
	return s
}

// Gradients of every operation are central differences; parts and needed rows change nothing.
func TestNodes(t *testing.T) {
	t.Parallel()
	for _, c := range nodes {
		r, rng := settings(t, c.width, c.text)
		for _, targets := range [][]int{nil, {0, 4, 11}} {
			weights := make([]float64, r.Graph.Vertices*2)
			for v := range r.Graph.Vertices {
				if targets == nil || v == targets[0] || v == targets[1] || v == targets[2] {
					weights[2*v], weights[2*v+1] = rng.NormFloat64(), rng.NormFloat64()
				}
			}
			r.Targets, r.Part = nil, nil
			r.Forward()
			all := r.Backward(weights)
			for parts := 1; parts <= 4; parts++ {
				r.Targets, r.Part, r.Sent = targets, nil, 0
				for v := range r.Graph.Vertices {
					r.Part = append(r.Part, v*5%parts)
				}
				r.Forward()
				got := r.Backward(weights)
				if parts > 1 && r.Sent == 0 {
					t.Errorf("%s: %d parts send nothing", c.text, parts)
				}
				for name, want := range all {
					if d := golden.Distance(got[name], want); !(d <= 1e-12*(1+norm(want))) {
						t.Errorf("%s: %d parts, targets %v: gradient of %s differs by %g", c.text, parts, targets, name, d)
					}
				}
				if len(got) != len(all) {
					t.Errorf("%s: %d gradients, want %d", c.text, len(got), len(all))
				}
			}
		}
		checkDifferences(t, c.text, &r, rng)
	}
}

func norm(x []float64) float64 { return golden.Distance(x, make([]float64, len(x))) }

// checkDifferences compares the gradient of every element of every tensor with a central difference.
func checkDifferences(t *testing.T, text string, r *interpreter.Run, rng *rand.Rand) {
	t.Helper()
	r.Targets, r.Part = nil, nil
	weights := make([]float64, r.Graph.Vertices*2)
	for i := range weights {
		weights[i] = rng.NormFloat64()
	}
	r.Forward()
	grads := r.Backward(weights)
	if len(grads["W"]) == 0 || norm(grads["W"]) == 0 {
		t.Errorf("%s: W has no gradient", text)
	}
	for name, g := range grads {
		v := r.Params[name]
		for i := range v {
			const step = 1e-5
			x := v[i]
			v[i] = x + step
			up := scores(r.Forward(), weights)
			v[i] = x - step
			down := scores(r.Forward(), weights)
			v[i] = x
			// The third derivative counts step², roundings count 1e-16·|scores|/step.
			if want := (up - down) / (2 * step); !(math.Abs(g[i]-want) <= 1e-6*(1+math.Abs(want))) {
				t.Errorf("%s: d/d%s[%d] is %g, differences say %g", text, name, i, g[i], want)
			}
		}
	}
}

// Running statistics are used in evaluation, and have no gradient.
func TestRunningStatistics(t *testing.T) {
	r, _ := settings(t, 4, `["y", "batch_norm", ["t", "b", "c", "mean", "var"]]`)
	trained := r.Forward()
	if g := r.Backward(make([]float64, len(trained))); g["mean"] != nil || g["var"] != nil {
		t.Errorf("running statistics have gradients %v, %v", g["mean"], g["var"])
	}
	r.Keep = nil
	if golden.Distance(r.Forward(), trained) < 1e-3 {
		t.Error("evaluation takes the statistics of training")
	}
}

// Stop lets nothing through.
func TestStop(t *testing.T) {
	r, _ := settings(t, 4, `["y", "stop", ["t"]]`)
	d := make([]float64, len(r.Forward()))
	d[0] = 1
	if g := r.Backward(d); norm(g["W"]) != 0 || norm(g["last"]) == 0 {
		t.Errorf("gradients %v behind stop, %v before it", g["W"], g["last"])
	}
}

// Rows that no target needs are not computed.
func TestNeededRows(t *testing.T) {
	r, _ := settings(t, 4, `["y", "sum_in", ["st"], {"graph": "a"}]`)
	r.Targets = []int{11}
	r.Forward()
	computed, all := r.Rows()
	if computed >= all/2 {
		t.Errorf("%d of %d rows are computed for a vertex without edges", computed, all)
	}
}
