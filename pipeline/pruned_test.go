package pipeline

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"capgnn/gnn"
	"capgnn/gpu"
	"capgnn/graph"
	"capgnn/graph/synth"
	"capgnn/internal/learn"
	"capgnn/internal/long"
	"capgnn/internal/named"
	"capgnn/model"
)

// dropReplicas returns a share of the halo replicas of every part.
func dropReplicas(g *graph.CSR, part []int32, parts int, share float64) [][]graph.NodeID {
	reads := make([]map[graph.NodeID]bool, parts)
	for i := range reads {
		reads[i] = map[graph.NodeID]bool{}
	}
	for v := range g.Rows() {
		for _, u := range g.Row(v) {
			if part[u] != part[v] {
				reads[part[v]][u] = true
			}
		}
	}
	r := rand.New(rand.NewPCG(8, 15))
	dropped := make([][]graph.NodeID, parts)
	for i := range dropped {
		for u := range graph.NodeID(g.Rows()) {
			if reads[i][u] && r.Float64() < share {
				dropped[i] = append(dropped[i], u)
			}
		}
	}
	return dropped
}

// smallTask is a problem that a reference in float64 computes: 5 % of 100 vertices train, and no weight of the model
// starts at a round value.
func smallTask(
	t *testing.T, kind named.Kind, directed, loops bool, edit ...func(*named.Model),
) (*learn.Problem, named.Model, gnn.StateDict) {
	t.Helper()
	const n, features, classes = 100, 6, 3
	g, err := synth.Random(n, 3*n, directed, 4)
	if err != nil {
		t.Fatal(err)
	}
	if g = g.WithoutLoops(); loops {
		g = g.WithLoops()
	}
	r := rand.New(rand.NewPCG(21, 22))
	p := &learn.Problem{Graph: g, Classes: classes, Train: make([]bool, n), Features: learn.Features{Cols: features}}
	for v := range n {
		p.Train[v] = v%20 == 7
		for range features {
			p.Features.Dense = append(p.Features.Dense, float32(r.NormFloat64()))
		}
		if directed {
			for range classes {
				p.Targets = append(p.Targets, uint8(r.IntN(2)))
			}
			continue
		}
		p.Labels = append(p.Labels, int32(r.IntN(classes)))
	}
	m := named.Model{Kind: kind, Layers: 3, Hidden: 8, In: features, Out: classes, Heads: 2, Alpha: 0.3, Theta: 0.7,
		Dropout: 0.25, AttentionDropout: attentionDropout(kind), Multi: directed, Seed: 3}
	for _, f := range edit {
		f(&m)
	}
	w := gnn.NewWeights(netOf(m))
	w.Init(m.Seed)
	for _, x := range w.Tensors {
		for i := range x.Data {
			x.Data[i] += float32(0.1 * r.NormFloat64())
		}
	}
	return p, m, w.StateDict()
}

// prunedCases are the models on directed and undirected graphs, with and without self-loops; half of those that can
// have LayerNorm do without, and half of those that can have residuals have them, half have jumping knowledge, and
// half drop features.
func prunedCases(t *testing.T, f func(t *testing.T, kind named.Kind, directed, loops bool, edit func(*named.Model))) {
	var values [][]any
	for i, kind := range named.Kinds {
		for _, directed := range []bool{false, true} {
			for _, loops := range []bool{false, true} {
				for _, turn := range []bool{true, false} {
					values = append(values, []any{kind, directed, loops, kind.Norms() && (directed == loops) == turn,
						kind.Norms() && directed == (turn == (i%2 == 0)), kind.Norms() && directed == turn})
				}
			}
		}
	}
	taken := takes(t, 4, values)
	for i, v := range values {
		if !taken[i] {
			continue
		}
		kind, directed, loops, noNorm, residual, jumping := v[0].(named.Kind), v[1].(bool), v[2].(bool), v[3].(bool),
			v[4].(bool), v[5].(bool)
		t.Run(fmt.Sprintf("%s/directed=%t/loops=%t/norm=%t/residual=%t/jumping=%t", kind, directed, loops, !noNorm,
			residual, jumping), func(t *testing.T) {
			f(t, kind, directed, loops, func(m *named.Model) {
				m.Activation = model.Activations[(i+i/4)%len(model.Activations)]
				m.DropFeatures = kind.Norms() && (i+i/8)%2 == 0
				if m.NoNorm, m.Residual, m.Jumping = noNorm, residual, jumping; residual && !noNorm {
					m.Layers = 4 // two of them add
				}
			})
		})
	}
}

// Three parts that do without replicas compute the gradient of the loss on A_eff, every tensor in float64, dropout on,
// within docs/determinism.md. Gradients that cancel to nothing are compared with the whole. Those of att_dst are sums
// of the terms of att_src, which cancel but for the kink of leaky ReLU: as often as not to nothing where a vertex has
// one neighbour left. They are allowed sixteen roundings of these terms besides.
func TestPrunedGradients(t *testing.T) {
	t.Parallel()
	if testing.Short() {
		t.Skip("compares with sums in float64, which say nothing of races")
	}
	prunedCases(t, func(t *testing.T, kind named.Kind, directed, loops bool, edit func(*named.Model)) {
		p, m, init := smallTask(t, kind, directed, loops, edit)
		const parts = 3
		part := scatterParts(p.Vertices(), parts)
		for _, share := range []float64{0.5, 1} {
			if share == 1 && directed != loops && !long.Wanted() {
				continue
			}
			dropped := dropReplicas(p.Graph, part, parts, share)
			r := newRefModel(p, m, part, dropped)
			w := newRefWeights(weightsOf(t, m, init))
			wantLoss, want := r.gradient(w, 0)
			all := norm(want)
			got, loss := gradients(t, newTrainer(t, p, m, cpus(t, parts), part, func(o *Options) {
				o.Init, o.Dropped = init, dropped
			}))
			if !(math.Abs(loss-wantLoss) <= 1e-5) {
				t.Errorf("%g dropped: loss %v, want %v", share, loss, wantLoss)
			}
			for _, x := range got.Tensors {
				ref := want[x.Off:][:len(x.Data)]
				rounding := 0.0
				if name, yes := strings.CutSuffix(x.Name, "att_dst"); yes {
					src := got.Tensors[slices.IndexFunc(got.Tensors,
						func(y gnn.Tensor) bool { return y.Name == name+"att_src" })]
					rounding = 16 * 0x1p-24 * norm(want[src.Off:][:len(src.Data)])
				}
				if d := differs(x.Data, ref); !(d <= 2e-5*max(norm(ref), 1e-3*all)+rounding) {
					t.Errorf("%g dropped: gradient of %s differs by %.3g of %.3g", share, x.Name, d, norm(ref))
				}
			}
		}
	})
}

func norm(x []float64) float64 {
	s := 0.0
	for _, v := range x {
		s += v * v
	}
	return math.Sqrt(s)
}

func differs(got []float32, want []float64) float64 {
	s := 0.0
	for i, v := range want {
		s += (float64(got[i]) - v) * (float64(got[i]) - v)
	}
	return math.Sqrt(s)
}

// A pruned run goes the way of a reference that trains on A_eff in float64: losses and weights of four steps of
// gradient descent, new dropout masks in each.
func TestPrunedTraining(t *testing.T) {
	t.Parallel()
	if testing.Short() {
		t.Skip("compares with sums in float64, which say nothing of races")
	}
	const lr, parts = 0.2, 3
	epochs := 2
	if long.Wanted() {
		epochs = 3
	}
	for i, kind := range kinds(t) {
		for _, directed := range []bool{false, true} {
			if directed != (i%2 == 0) {
				continue
			}
			p, m, init := smallTask(t, kind, directed, kind.AddsLoops())
			part := scatterParts(p.Vertices(), parts)
			dropped := dropReplicas(p.Graph, part, parts, 0.4)
			var losses []float64
			got := run(t, newTrainer(t, p, m, cpus(t, parts), part, func(o *Options) {
				o.Optimizer, o.Epochs, o.Init, o.Dropped = gnn.Optimizer{Kind: gnn.SGD, LR: lr}, epochs, init, dropped
				o.OnEpoch = func(e EpochStats) error { losses = append(losses, e.Loss); return nil }
			}))
			r, w := newRefModel(p, m, part, dropped), newRefWeights(weightsOf(t, m, init))
			for e := range epochs {
				want, grad := r.gradient(w, e)
				if !(math.Abs(losses[e]-want) <= 1e-5) {
					t.Errorf("%s, directed %t: loss of epoch %d is %v, want %v", kind, directed, e, losses[e], want)
				}
				for i, g := range grad {
					w.flat[i] -= lr * g
				}
			}
			if d := differs(got.Weights.Flat, w.flat); !(d <= 2e-5*norm(w.flat)) {
				t.Errorf("%s, directed %t: weights differ by %.3g of %.3g", kind, directed, d, norm(w.flat))
			}
		}
	}
}

// With nothing dropped a run is the lossless one, bit for bit; what a part does not read anyway may be dropped too.
func TestNothingDropped(t *testing.T) {
	for _, kind := range kinds(t) {
		p, m := task{share: 0.3, directed: true}.make(t, kind)
		const parts = 3
		part := scatterParts(p.Vertices(), parts)
		var sha []string
		var bytes []gpu.Bytes
		strangers := make([][]graph.NodeID, parts)
		for i, none := range dropReplicas(p.Graph, part, parts, 1) {
			for u := range graph.NodeID(p.Vertices()) {
				if _, read := slices.BinarySearch(none, u); !read && int(part[u]) != i {
					strangers[i] = append(strangers[i], u)
				}
			}
		}
		for _, dropped := range [][][]graph.NodeID{nil, {}, {{}, {}, {}}, strangers} {
			devices := cpus(t, parts)
			r := run(t, newTrainer(t, p, m, devices, part,
				func(o *Options) { o.Epochs, o.EvalEvery, o.Dropped = 3, 1, dropped }))
			sha, bytes = append(sha, r.WeightsSHA), append(bytes, r.Usage.Peer)
			if r.HaloRows == 0 {
				t.Error("no halo rows")
			}
			checkPairs(t, r, p.Graph, part)
		}
		for i := range sha {
			if sha[i] != sha[0] || bytes[i] != bytes[0] {
				t.Errorf("%s: run %d has other weights or bytes than the lossless one", kind, i)
			}
		}
	}
}

// checkPairs compares the halo rows by pair of parts with their sum, and with what the edges of the graph let a part
// read at most.
func checkPairs(t *testing.T, r *Result, g *graph.CSR, part []int32) {
	t.Helper()
	type read struct {
		by int32
		of graph.NodeID
	}
	seen, most := map[read]bool{}, make([][]int64, len(r.HaloPairs))
	for i := range most {
		most[i] = make([]int64, len(r.HaloPairs))
	}
	for v := range g.Rows() {
		for _, u := range g.Indices[g.Indptr[v]:g.Indptr[v+1]] {
			if k := (read{part[v], u}); part[u] != part[v] && !seen[k] {
				seen[k] = true
				most[part[v]][part[u]]++
			}
		}
	}
	sum := int64(0)
	for i, row := range r.HaloPairs {
		for j, rows := range row {
			sum += rows
			if rows > most[i][j] {
				t.Errorf("part %d reads %d rows of part %d, whose edges allow %d", i, rows, j, most[i][j])
			}
		}
	}
	if sum != r.HaloRows || len(r.HaloPairs) == 0 {
		t.Errorf("pairs %v add up to %d, want %d", r.HaloPairs, sum, r.HaloRows)
	}
}

// Evaluation is on the whole graph: a pruned run's logits are those that are predicted with its weights, and how often
// it evaluates changes no weight.
func TestPrunedEvaluation(t *testing.T) {
	const parts = 3
	for _, kind := range kinds(t) {
		p, m := task{share: 0.05}.make(t, kind)
		part := scatterParts(p.Vertices(), parts)
		var sha []string
		for _, every := range []int{0, 1, 3} {
			tr := newTrainer(t, p, m, cpus(t, parts), part, func(o *Options) {
				o.Epochs, o.EvalEvery, o.Dropped = 7, every, dropReplicas(p.Graph, part, parts, 0.5)
			})
			r := run(t, tr)
			sha = append(sha, r.WeightsSHA)
			want := predicted(t, unlabelled(p),
				PredictOptions{Model: netOf(m), Weights: r.Weights, Devices: cpus(t, 2), Part: scatterParts(p.Vertices(), 2)})
			if d, norm := distance(logitsOf(t, tr), want); !(d <= 1e-5*norm) {
				t.Errorf("%s: evaluated logits differ from predicted ones by %.3g of %.3g", kind, d, norm)
			}
		}
		if sha[0] != sha[1] || sha[0] != sha[2] {
			t.Errorf("%s: weights depend on how often evaluation runs", kind)
		}
	}
}
