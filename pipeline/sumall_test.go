package pipeline

import (
	"maps"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"capgnn/gnn"
	"capgnn/gpu"
	"capgnn/internal/learn"
	"capgnn/internal/named"
	"capgnn/model"
)

// overAll are models with sums over all vertices: nodes between the convolution's rows z of 5 columns and rows y of 5,
// and their tensors.
var overAll = map[string][2]string{
	"GraphNorm": {`"a": [5], "g": [5], "b": [5],`, `["n", "const", [], {"what": "vertices"}], ["s", "sum_all", ["z"]], ["m", "div", ["s", "n"]],
		["ma", "mul", ["m", "a"]], ["c", "add", ["z", "ma"], {"coef": [1, -1]}], ["q", "square", ["c"]], ["sq", "sum_all", ["q"]],
		["v", "div", ["sq", "n"]], ["e", "const", [], {"what": "number", "value": 0.00001}], ["ve", "add", ["v", "e"]], ["sd", "sqrt", ["ve"]],
		["cg", "mul", ["c", "g"]], ["r", "div", ["cg", "sd"]], ["y", "add", ["r", "b"]]`},
	"virtual node": {`"w": [5, 5], "wb": [5],`, `["n", "const", [], {"what": "vertices"}], ["s", "sum_all", ["z"]], ["m", "div", ["s", "n"]],
		["l", "linear", ["m", "w", "wb"]], ["t", "tanh", ["l"]], ["y", "add", ["z", "t"], {"coef": [1, 0.5]}]`},
	"linear attention": {`"k": [4, 5], "q": [4, 5], "v": [5, 5],`, `["kx", "linear", ["z", "k"]], ["ks", "sigmoid", ["kx"]], ["qx", "linear", ["z", "q"]], ["qs", "sigmoid", ["qx"]],
		["vx", "linear", ["z", "v"]], ["kv", "product", ["ks", "vx"], {"spec": "nm,nd->md"}], ["n", "const", [], {"what": "vertices"}], ["kn", "div", ["kv", "n"]],
		["o", "product", ["qs", "kn"], {"spec": "nm,md->nd"}], ["y", "add", ["o", "z"]]`},
	"sums before and behind": {`"w": [5, 5],`, `["n", "const", [], {"what": "vertices"}], ["s0", "sum_all", ["x"]], ["m0", "div", ["s0", "n"]], ["h", "tanh", ["z"]], ["s", "sum_all", ["h"]],
		["m", "div", ["s", "n"]], ["hm", "mul", ["h", "m"]], ["l", "linear", ["hm", "w"]], ["p", "product", ["l", "h"], {"spec": "na,nb->ab"}],
		["pn", "div", ["p", "n"]], ["o", "product", ["h", "pn"], {"spec": "nc,cb->nb"}], ["y", "add", ["o", "hm"]]`},
}

// summing is GCN of two layers with one of them between.
func summing(t *testing.T, name string) (*learn.Problem, named.Model) {
	t.Helper()
	p, _, _ := smallTask(t, named.GCN, true, true)
	parts, ok := overAll[name]
	if !ok {
		parts = messaging[name]
	}
	text := `{"capgnn_model": 1, "features": 6, "outputs": 3, "graphs": {"gr": {}}, "tensors": {"c.weight": [5, 6], ` + parts[0] + `"o.weight": [3, 5]}, "nodes": [
		["x", "input"], ["u", "linear", ["x", "c.weight"]], ["es", "src", ["u"], {"graph": "gr"}],
		["ew", "const", [], {"graph": "gr", "what": "gcn_norm"}], ["f", "mul", ["ew", "es"]], ["z", "sum_in", ["f"], {"graph": "gr"}],
		` + parts[1] + `, ["re", "relu", ["y"]], ["d", "dropout", ["re"], {"p": 0.2}], ["ov", "linear", ["d", "o.weight"]],
		["e2", "src", ["ov"], {"graph": "gr"}], ["f2", "mul", ["ew", "e2"]], ["logits", "sum_in", ["f2"], {"graph": "gr"}]], "logits": "logits"}`
	program, err := model.Parse([]byte(text))
	if err != nil {
		t.Fatalf("%s: %v", name, err)
	}
	custom, err := gnn.NewModel(program)
	if err != nil {
		t.Fatalf("%s: %v", name, err)
	}
	m := custom.Config(true, 3)
	if p, err = p.For(m); err != nil {
		t.Fatal(err)
	}
	return p, programOf(m)
}

// Gradients of sums over all vertices, and logits of an evaluation, are those of their definition in float64 on any
// number of parts.
func TestSumsOverAll(t *testing.T) {
	t.Parallel()
	asDefined(t, slices.Sorted(maps.Keys(overAll)))
}

func asDefined(t *testing.T, names []string) {
	t.Helper()
	for _, name := range names {
		p, m := summing(t, name)
		w, r := weightsOf(t, m, nil), rand.New(rand.NewPCG(3, 3))
		for i := range w.Tensors {
			for k := range w.Tensors[i].Data {
				w.Tensors[i].Data[k] += float32(0.1 * r.NormFloat64())
			}
		}
		ref := newRefModel(p, m, nil, nil)
		wantLoss, want := ref.gradient(newRefWeights(w), 0)
		logits := ref.evaluated(w)
		for _, parts := range []int{1, 2, 3, 5} {
			tr := newTrainer(t, p, m, cpus(t, parts), scatterParts(p.Vertices(), parts), func(o *Options) { o.Init = w.StateDict() })
			got, loss := gradients(t, tr)
			if !(math.Abs(loss-wantLoss) <= 1e-5*wantLoss) || !(differs(got.Flat, want) <= 1e-5*norm(want)) {
				t.Errorf("%s, %d parts: loss %v, want %v; gradients differ by %.3g of %.3g", name, parts, loss, wantLoss, differs(got.Flat, want), norm(want))
			}
			if _, err := tr.evaluate(); err != nil {
				t.Fatal(err)
			}
			rows, err := Predict(t.Context(), p, PredictOptions{Model: netOf(m), Weights: w, Devices: cpus(t, parts), Part: scatterParts(p.Vertices(), parts)})
			if err != nil {
				t.Fatal(err)
			}
			for _, x := range [][]float32{logitsOf(t, tr), rows} {
				if d, n := differs(x, logits), norm(logits); !(d <= 1e-5*n) {
					t.Errorf("%s, %d parts: logits differ by %g of %g", name, parts, d, n)
				}
			}
		}
	}
}

// Ranks have the bits of one process, and so has a run that is resumed.
func TestSumsOverRanks(t *testing.T) {
	t.Parallel()
	overRanks(t, slices.Sorted(maps.Keys(overAll)))
}

func overRanks(t *testing.T, names []string) {
	t.Helper()
	for _, name := range names {
		c := farRun{}
		c.p, c.m = summing(t, name)
		dir := t.TempDir()
		c.at = saving(dir, false)
		want, err := c.train(t, groupings["1x4"], nil)
		if err != nil {
			t.Fatal(err)
		}
		to := t.TempDir()
		c.at = saving(to, false)
		got, err := c.train(t, groupings["3+1"], connected(t, len(groupings["3+1"])))
		if err != nil || got[0] != want[0] {
			t.Errorf("%s: %v, alone %v, %v", name, got, want, err)
			continue
		}
		compareContents(t, name, contentOf(t, to), contentOf(t, dir))
		c.at = saving(behind(t, to), true)
		if got, err := c.train(t, groupings["1x4"], nil); err != nil || got[0] != want[0] {
			t.Errorf("%s, resumed: %v, want %v, %v", name, got, want, err)
		}
	}
}

// Rows in BF16 and old rows leave gradients near those of FP32; what has some of the rows is refused.
func TestSumsOverAllOtherwise(t *testing.T) {
	t.Parallel()
	for name := range overAll {
		p, m := summing(t, name)
		got := map[gpu.DType]*gnn.Weights{}
		for _, storage := range []gpu.DType{gpu.FP32, gpu.BF16} {
			if storage == gpu.BF16 && !netOf(m).StoresBF16() {
				continue
			}
			got[storage], _ = gradients(t, newTrainer(t, p, m, cpus(t, 3), scatterParts(p.Vertices(), 3), func(o *Options) { o.Storage = storage }))
		}
		if b := got[gpu.BF16]; b != nil {
			if d, n := distance(b.Flat, got[gpu.FP32].Flat); !(d > 0 && d <= 0.05*n) {
				t.Errorf("%s: gradients in bf16 differ by %g of %g", name, d, n)
			}
		}
		o := Options{Training: Training{Model: netOf(m), Optimizer: gnn.Optimizer{Kind: gnn.SGD, LR: 0.1}, Epochs: 1}, Devices: cpus(t, 2), Part: scatterParts(p.Vertices(), 2), Isolated: &Isolated{AllLayers: true}}
		_, isolated := New(t.Context(), p, o)
		_, chunks := Predict(t.Context(), p, PredictOptions{Model: netOf(m), Weights: weightsOf(t, m, nil), Devices: cpus(t, 1), Part: make([]int32, p.Vertices()), Chunks: true})
		for what, err := range map[string]error{"isolated": isolated, "chunks": chunks} {
			if err == nil || !strings.Contains(err.Error(), "sums over all vertices") {
				t.Errorf("%s, %s: %v", name, what, err)
			}
		}
	}
}
