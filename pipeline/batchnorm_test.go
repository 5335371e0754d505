package pipeline

import (
	"fmt"
	"math"
	"math/rand/v2"
	"strconv"
	"strings"
	"testing"

	"capgnn/gnn"
	"capgnn/gpu"
	"capgnn/graph"
	"capgnn/internal/interpreter"
	"capgnn/internal/learn"
	"capgnn/internal/named"
	"capgnn/jaca"
	"capgnn/model"
	"capgnn/pipeline/chunks"
)

// normed is GCN of two layers with a batch_norm of the features' product, and one behind the sum over neighbours, of
// more columns than a block of its factors has.
func normed(t *testing.T) (*learn.Problem, named.Model) { return normedOf(t, 5, 37) }

// normedOf is the same with so many columns of the two norms.
func normedOf(t *testing.T, first, second int) (*learn.Problem, named.Model) {
	t.Helper()
	p, _, _ := smallTask(t, named.GCN, true, true)
	text := `{"capgnn_model": 1, "features": 6, "outputs": 3, "graphs": {"g": {}}, "tensors": {"l.weight": [5, 6],
		"n.weight": [5], "n.bias": [5], "n.running_mean": [5], "n.running_var": [5], "c.weight": [37, 5], "c.bias": [37],
		"m.weight": [37], "m.bias": [37], "m.running_mean": [37], "m.running_var": [37], "o.weight": [3, 37]}, "nodes": [
		["x", "input"], ["t", "linear", ["x", "l.weight"]],
		["bn", "batch_norm", ["t", "n.weight", "n.bias", "n.running_mean", "n.running_var"]], ["r", "relu", ["bn"]],
		["u", "linear", ["r", "c.weight"]], ["e", "src", ["u"], {"graph": "g"}],
		["w", "const", [], {"graph": "g", "what": "gcn_norm"}], ["f", "mul", ["w", "e"]],
		["s", "sum_in", ["f"], {"graph": "g"}], ["z", "add", ["s", "c.bias"]],
		["bm", "batch_norm", ["z", "m.weight", "m.bias", "m.running_mean", "m.running_var"], {"momentum": 0.3}],
		["q", "tanh", ["bm"]], ["d", "dropout", ["q"], {"p": 0.2}], ["v", "linear", ["d", "o.weight"]],
		["e2", "src", ["v"], {"graph": "g"}], ["f2", "mul", ["w", "e2"]], ["y", "sum_in", ["f2"], {"graph": "g"}]],
		"logits": "y"}`
	text = strings.NewReplacer("5", strconv.Itoa(first), "37", strconv.Itoa(second)).Replace(text)
	program, err := model.Parse([]byte(text))
	if err != nil {
		t.Fatal(err)
	}
	custom, err := gnn.NewModel(program)
	if err != nil {
		t.Fatal(err)
	}
	m := custom.Config(true, 3)
	if p, err = p.For(m); err != nil {
		t.Fatal(err)
	}
	return p, programOf(m)
}

// Its gradients are those of its definition in float64, with dropout.
func TestBatchNormGradients(t *testing.T) {
	t.Parallel()
	p, m := normed(t)
	w, r := weightsOf(t, m, nil), rand.New(rand.NewPCG(3, 3))
	for i := range w.Tensors {
		for k := range w.Tensors[i].Data {
			w.Tensors[i].Data[k] += float32(0.1 * r.NormFloat64())
		}
	}
	ref := newRefModel(p, m, nil, nil)
	wantLoss, want := ref.gradient(newRefWeights(w), 0)
	for _, parts := range []int{1, 3} {
		got, loss := gradients(t, newTrainer(t, p, m, cpus(t, parts), scatterParts(p.Vertices(), parts), func(o *Options) { o.Init = w.StateDict() }))
		if !(math.Abs(loss-wantLoss) <= 1e-5*wantLoss) || !(differs(got.Flat, want) <= 1e-5*norm(want)) {
			t.Errorf("%d parts: loss %v, want %v; gradients differ by %.3g of %.3g", parts, loss, wantLoss, differs(got.Flat, want), norm(want))
		}
	}
}

// Running statistics are those of all vertices, unbiased, on any number of parts; no update rule touches them, and
// evaluation is the program's by definition.
func TestRunningStatistics(t *testing.T) {
	t.Parallel()
	for _, opt := range []gnn.Optimizer{{Kind: gnn.SGD, LR: 0.1, WeightDecay: 0.1}, {Kind: gnn.AdamW, LR: 0.01, WeightDecay: 0.1, AMSGrad: true}} {
		for _, parts := range []int{1, 3} {
			p, m := normed(t)
			tr := newTrainer(t, p, m, cpus(t, parts), scatterParts(p.Vertices(), parts), func(o *Options) { o.Optimizer, o.Epochs = opt, 1 })
			first := tr.Weights.Clone()
			w := run(t, tr).Weights
			l, n := first.Tensor("l.weight").Data, p.Vertices()
			for j := range 5 {
				var x []float64
				mean, squares := 0.0, 0.0
				for v := range n {
					x = append(x, 0)
					for k, f := range p.Features.Dense[v*6 : v*6+6] {
						x[v] += float64(f) * float64(l[j*6+k])
					}
					mean += x[v] / float64(n)
				}
				for _, x := range x {
					squares += (x - mean) * (x - mean)
				}
				got, want := w.Tensor("n.running_mean").Data[j], 0.1*mean
				got2, want2 := w.Tensor("n.running_var").Data[j], 0.9+0.1*squares/float64(n-1)
				if math.Abs(float64(got)-want) > 1e-6 || math.Abs(float64(got2)-want2) > 1e-6*want2 {
					t.Errorf("%s, %d parts, column %d: mean %v, variance %v, want %v, %v", opt.Kind, parts, j, got, got2, want, want2)
				}
			}
			ref := newRefModel(p, m, nil, nil)
			want := ref.evaluated(w)
			for _, w := range tr.workers {
				if err := w.emit(t.Context(), w.logits, func(ids []graph.NodeID, rows []float32) error {
					for i, v := range ids {
						for k := range 3 {
							if d := math.Abs(float64(rows[3*i+k]) - want[3*int(v)+k]); !(d <= 1e-5) {
								t.Errorf("%d parts: logit %d of vertex %d is off by %g", parts, k, v, d)
							}
						}
					}
					return nil
				}); err != nil {
					t.Fatal(err)
				}
			}
		}
	}
}

// evaluated returns the logits of a program with running statistics.
func (r *refModel) evaluated(w *gnn.Weights) []float64 {
	run := interpreter.Run{Program: r.m.Program, Graph: r.g, X: r.x, Params: map[string][]float64{}}
	for _, x := range w.Tensors {
		for _, v := range x.Data {
			run.Params[x.Name] = append(run.Params[x.Name], float64(v))
		}
	}
	return run.Forward()
}

// Ranks have the bits of one process, with caches and without, and so has a run that is resumed.
func TestBatchNormOverRanks(t *testing.T) {
	t.Parallel()
	for _, cached := range []bool{false, true} {
		c := farRun{}
		c.p, c.m = normed(t)
		dir := t.TempDir()
		at := func(dir string, resume bool) {
			save := saving(dir, resume)
			if c.at = save; cached {
				c.edit = farEdits["slots"]
			}
		}
		at(dir, false)
		want, err := c.train(t, groupings["1x4"], nil)
		if err != nil {
			t.Fatal(err)
		}
		for _, name := range []string{"3+1", "4x1"} {
			to := t.TempDir()
			at(to, false)
			got, err := c.train(t, groupings[name], connected(t, len(groupings[name])))
			if err != nil || got[0] != want[0] {
				t.Errorf("%s, cached %v: %v, alone %v, %v", name, cached, got, want, err)
				continue
			}
			compareContents(t, name, contentOf(t, to), contentOf(t, dir))
			at(behind(t, to), true)
			if got, err := c.train(t, groupings["1x4"], nil); err != nil || got[0] != want[0] {
				t.Errorf("resumed, cached %v: %v, want %v, %v", cached, got, want, err)
			}
		}
	}
}

// A part that does not meet the others is named.
func TestBatchNormLate(t *testing.T) {
	t.Parallel()
	p, m := normed(t)
	tr := newTrainer(t, p, m, cpus(t, 2), scatterParts(p.Vertices(), 2), func(o *Options) { o.WaitDeadline = 200e6 })
	err := tr.each(func(w *worker) error {
		if w.Index == 1 {
			return nil
		}
		return tr.trainPart(w, 0, 1)
	})
	if err == nil || !strings.Contains(err.Error(), "part 0 waited 200ms for part 1: sums over all vertices") {
		t.Errorf("got %v", err)
	}
}

// Statistics of isolated parts are those of all rows that parts hold in a step. Of chunks without edges between them,
// each of which two parts hold, they are those of all vertices; so training is that of one part. A part that has no
// turn in a phase meets the others.
func TestBatchNormIsolated(t *testing.T) {
	t.Parallel()
	p, m := normed(t)
	part := scatterParts(p.Vertices(), 3)
	g := &graph.CSR{Cols: p.Vertices(), Indptr: []int64{0}}
	for v := range p.Vertices() {
		for _, u := range p.Graph.Row(v) {
			if part[v] == part[u] {
				g.Indices = append(g.Indices, u)
			}
		}
		g.Indptr = append(g.Indptr, int64(len(g.Indices)))
	}
	p.Graph = g
	sgd := func(o *Options) { o.Optimizer, o.Epochs = gnn.Optimizer{Kind: gnn.SGD, LR: 0.1}, 4 }
	want := run(t, newTrainer(t, p, m, cpus(t, 1), make([]int32, p.Vertices()), sgd))
	how := &Isolated{AllLayers: true, Targets: chunks.Both}
	got := run(t, newTrainer(t, p, m, cpus(t, 3), part, func(o *Options) {
		sgd(o)
		o.Isolated = how
	}))
	for _, x := range want.Weights.Tensors {
		if strings.HasSuffix(x.Name, "running_var") { // unbiased, of twice the rows
			continue
		}
		if d, n := distance(got.Weights.Tensor(x.Name).Data, x.Data); !(d <= 1e-4*n+1e-6) {
			t.Errorf("%s differs by %g of %g", x.Name, d, n)
		}
	}
	turns := run(t, newTrainer(t, p, m, cpus(t, 2), part, func(o *Options) {
		sgd(o)
		o.Isolated = &Isolated{AllLayers: true, Chunks: 3}
	}))
	if math.IsNaN(turns.FinalLoss) || turns.FinalLoss > 2*want.FinalLoss {
		t.Errorf("in phases the loss is %v, of whole parts %v", turns.FinalLoss, want.FinalLoss)
	}
}

// Rows behind a norm by columns, and gradients of what it reads, are stored in BF16 where sums over neighbours read
// them: gradients are near those of FP32, on any number of devices, and so are losses of epochs with old rows.
func TestBatchNormBF16(t *testing.T) {
	t.Parallel()
	for _, widths := range [][2]int{{5, 37}, {37, 5}, {1, 2}, {2, 1}} {
		for _, staleness := range []int{0, 2} {
			for _, parts := range []int{1, 3} {
				loss, grads := map[gpu.DType]float64{}, map[gpu.DType]*gnn.Weights{}
				last := map[gpu.DType]float64{}
				for _, storage := range []gpu.DType{gpu.FP32, gpu.BF16} {
					p, m := normedOf(t, widths[0], widths[1])
					tr := newTrainer(t, p, m, cpus(t, parts), scatterParts(p.Vertices(), parts), func(o *Options) {
						o.Storage, o.Epochs = storage, 6
						if staleness > 0 {
							o.Cache = staleCase{policy: jaca.JACA, local: "auto", global: "auto", staleness: staleness}.cache(t)
						}
						o.OnEpoch = func(s EpochStats) error {
							last[storage] = s.Loss
							return nil
						}
					})
					grads[storage], loss[storage] = gradients(t, tr)
					run(t, tr)
				}
				name := fmt.Sprintf("%v, staleness %d, %d parts", widths, staleness, parts)
				d, norm := distance(grads[gpu.BF16].Flat, grads[gpu.FP32].Flat)
				if !(d > 0 && d <= 0.03*norm) || !(math.Abs(loss[gpu.BF16]-loss[gpu.FP32]) <= 0.01*loss[gpu.FP32]) ||
					!(math.Abs(last[gpu.BF16]-last[gpu.FP32]) <= 0.02*last[gpu.FP32]) {
					t.Errorf("%s: gradients differ by %g of %g, losses are %v, after 6 epochs %v", name, d, norm, loss, last)
				}
			}
		}
	}
}
