package pipeline

import (
	"context"
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"

	"capgnn/gnn"
	"capgnn/gpu"
	"capgnn/graph"
	"capgnn/internal/golden"
	"capgnn/internal/learn"
	"capgnn/internal/named"
	"capgnn/model"
)

// predicted returns the rows of Predict by vertex id, and checks that every vertex came once.
func predicted(t testing.TB, p *learn.Problem, o PredictOptions) []float32 {
	t.Helper()
	out, err := Predict(context.Background(), p, o)
	if err != nil {
		t.Fatal(err)
	}
	if want := p.Vertices() * o.width(); len(out) != want {
		t.Fatalf("%d elements are predicted, want %d", len(out), want)
	}
	seen := make([]int, p.Vertices())
	err = PredictRows(context.Background(), p, o, func(ids []graph.NodeID, chunk []float32) error {
		for i, v := range ids {
			if !slices.Equal(chunk[i*o.width():][:o.width()], out[int(v)*o.width():][:o.width()]) {
				t.Fatalf("vertex %d has another row in chunks than in the whole", v)
			}
			seen[v]++
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	for v, k := range seen {
		if k != 1 {
			t.Fatalf("vertex %d came %d times", v, k)
		}
	}
	return out
}

// unlabelled is p without anything that a prediction must not need.
func unlabelled(p *learn.Problem) *learn.Problem {
	return &learn.Problem{Graph: p.Graph, Features: p.Features, Classes: p.Classes}
}

func weightsOf(t testing.TB, m named.Model, init gnn.StateDict) *gnn.Weights {
	t.Helper()
	w := gnn.NewWeights(netOf(m))
	w.Init(m.Seed)
	if init != nil {
		if err := w.LoadStateDict(init); err != nil {
			t.Fatal(err)
		}
	}
	return w
}

// PyTorch's logits, on 1 to 3 devices.
func TestPredictGolden(t *testing.T) {
	cases, err := golden.Load()
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range cases {
		p, m, init := goldenProblem(t, &c)
		o := PredictOptions{Model: netOf(m), Weights: weightsOf(t, m, init)}
		for _, parts := range []int{1, 2, 3} {
			o.Devices, o.Part = cpus(t, parts), scatterParts(p.Vertices(), parts)
			near(t, c.Name, predicted(t, unlabelled(p), o), c.Logits.Data)
		}
	}
}

// What a trainer evaluates and what is predicted afterwards are the same bits, sparse features, rows of bf16 and an order of
// vertices included.
func TestPredictEqualsEvaluation(t *testing.T) {
	for _, kind := range kinds(t) {
		for _, sparse := range []bool{false, true} {
			storage := gpu.FP32
			if kind.StoresBF16() && sparse == (kind == named.SAGE) {
				storage = gpu.BF16
			}
			p, m := task{share: 0.3, sparse: sparse, multi: kind == named.GIN}.make(t, kind)
			devices, part, rank := cpus(t, 3), scatterParts(p.Vertices(), 3), []int32(nil)
			for v := range p.Vertices() {
				if sparse {
					rank = append(rank, int32(p.Vertices()-1-v))
				}
			}
			tr := newTrainer(t, p, m, devices, part, func(o *Options) {
				o.Epochs, o.Storage, o.everyRow, o.Rank = 4, storage, true, rank
			})
			r := run(t, tr)
			got := predicted(t, unlabelled(p), PredictOptions{Model: netOf(m), Weights: r.Weights, Devices: devices, Part: part,
				Storage: storage, Rank: rank})
			if !slices.Equal(got, logitsOf(t, tr)) {
				t.Errorf("%s, sparse %t, %v: predicted logits differ from evaluated ones", kind, sparse, storage)
			}
		}
	}
}

// The logits are the last layer of the hidden rows: Â·H·Wᵀ + b by plain loops in float64. The sums have at most
// 16 + 30 terms of size about 1, so float32 leaves errors of some 1e-6. Hidden rows that are stored as bf16 are predicted as they are summed.
func TestPredictHidden(t *testing.T) {
	for _, storage := range []gpu.DType{gpu.FP32, gpu.BF16} {
		t.Run(storage.String(), func(t *testing.T) { checkHidden(t, storage, false) })
		t.Run(storage.String()+", residual", func(t *testing.T) { checkHidden(t, storage, true) })
	}
}

// Hidden rows of SGC and APPNP are the logits of a model with fewer layers, those of GCNII its logits if the last Linear changes nothing: by plain loops in float64.
func TestPredictHiddenOfExamples(t *testing.T) {
	for _, kind := range []named.Kind{named.SGC, named.APPNP, named.GCNII} {
		p, m := task{share: 0.3}.make(t, kind)
		m.Out, m.Dropout = m.Hidden-3, 0
		if kind == named.GCNII {
			m.Out = m.Hidden
		}
		w := weightsOf(t, m, nil)
		o := PredictOptions{Model: netOf(m), Weights: w}
		plain := newRefWeights(w)
		switch kind {
		case named.SGC: // the bias comes behind the last propagation
			clear(plain.at("lin.bias"))
		case named.GCNII:
			clear(plain.at("lins.1.bias"))
			for i, identity := 0, plain.at("lins.1.weight"); i < len(identity); i++ {
				identity[i] = 0
				if i%(m.Hidden+1) == 0 {
					identity[i] = 1
				}
			}
		}
		for o.Layers = 1; o.Layers < m.Layers; o.Layers++ {
			fewer := m
			fewer.Layers = o.Layers
			h := newRefModel(p, fewer, nil, nil).run(plain, 0).Forward()
			for _, parts := range []int{1, 3} {
				o.Devices, o.Part = cpus(t, parts), scatterParts(p.Vertices(), parts)
				near(t, fmt.Sprintf("%s, layer %d, %d parts", kind, o.Layers-1, parts), predicted(t, p, o), h)
			}
		}
	}
}

func checkHidden(t *testing.T, storage gpu.DType, residual bool) {
	p, m := task{share: 0.3, residual: residual}.make(t, named.GCN)
	if storage == gpu.BF16 { // so that the last layer aggregates first: else products of hidden rows are stored so
		m.Out = 3 * m.Hidden
	}
	o := PredictOptions{Model: netOf(m), Weights: weightsOf(t, m, nil), Devices: cpus(t, 3), Part: scatterParts(p.Vertices(), 3), Storage: storage}
	logits := predicted(t, p, o)
	o.Layers = 2
	h := predicted(t, p, o)
	for _, x := range h {
		if x < 0 {
			t.Fatalf("hidden value %g: these rows are not behind a ReLU", x)
		}
	}
	s := gnn.ScalingOf(netOf(m), p.Graph.InDegree(), p.Graph.OutDegree())
	w, bias := o.Weights.Tensor("convs.2.lin.weight").Data, o.Weights.Tensor("convs.2.bias").Data
	for v := range p.Vertices() {
		sum := make([]float64, m.Hidden)
		for _, u := range p.Graph.Row(v) {
			for j := range sum {
				sum[j] += float64(s.Row[v]) * float64(s.Col[u]) * float64(h[int(u)*m.Hidden+j])
			}
		}
		for c := range m.Out {
			want := float64(bias[c])
			for j, x := range sum {
				want += x * float64(w[c*m.Hidden+j])
			}
			if got := float64(logits[v*m.Out+c]); math.Abs(got-want) > 1e-5 {
				t.Fatalf("vertex %d class %d: logit %g, from the hidden rows %g", v, c, got, want)
			}
		}
	}
	if o.Layers = 1; slices.Equal(h, predicted(t, p, o)) {
		t.Error("hidden layers 0 and 1 are the same")
	}
}

// More layers take no more activations: only the weights of the five further layers.
func TestPredictMemory(t *testing.T) {
	p, m := task{share: 0.3}.make(t, named.SAGE)
	peak := func(layers int) gpu.Bytes {
		m.Layers = layers
		d := cpus(t, 1)
		predicted(t, p, PredictOptions{Model: netOf(m), Weights: weightsOf(t, m, nil), Devices: d, Part: make([]int32, p.Vertices())})
		return d[0].Memory().HighWater
	}
	few, many := peak(3), peak(8)
	activations := gpu.Bytes(4 * p.Vertices() * m.Hidden)
	if many-few >= activations {
		t.Errorf("8 layers take %d bytes more than 3, one layer's rows are %d", many-few, activations)
	}
}

func TestPredictRefuses(t *testing.T) {
	p, m := task{share: 0.3}.make(t, named.GCN)
	good := PredictOptions{Model: netOf(m), Weights: weightsOf(t, m, nil), Devices: cpus(t, 2), Part: scatterParts(p.Vertices(), 2)}
	for name, change := range map[string]func(*PredictOptions){
		"features":       func(o *PredictOptions) { m := m; m.In++; o.Model = netOf(m) },
		"layers to run":  func(o *PredictOptions) { o.Layers = 3 },
		"layers to run ": func(o *PredictOptions) { o.Layers = -1 },
		"device":         func(o *PredictOptions) { o.Devices = nil },
		"part entries":   func(o *PredictOptions) { o.Part = o.Part[1:] },
		"weights":        func(o *PredictOptions) { o.Weights = nil },
		"another model":  func(o *PredictOptions) { m := m; m.Hidden *= 2; o.Model = netOf(m) },
	} {
		o := good
		change(&o)
		_, err := Predict(context.Background(), p, o)
		if err == nil || !strings.Contains(err.Error(), strings.TrimSpace(name)) {
			t.Errorf("%s: error %v", name, err)
		}
	}
	empty := &learn.Problem{Graph: &graph.CSR{Indptr: []int64{0}}, Features: learn.Features{Cols: m.In}, Classes: m.Out}
	none := good
	none.Part = nil
	if _, err := Predict(context.Background(), empty, none); err == nil || !strings.Contains(err.Error(), "no vertex") {
		t.Errorf("an empty graph: error %v", err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	stop := errors.New("stop")
	err := PredictRows(ctx, p, good, func([]graph.NodeID, []float32) error { return stop })
	if !errors.Is(err, stop) {
		t.Errorf("error %v, want that of emit", err)
	}
	cancel()
	if _, err := Predict(ctx, p, good); !errors.Is(err, context.Canceled) {
		t.Errorf("error %v, want that of ctx", err)
	}
	for _, d := range good.Devices {
		if used := d.Memory().Used; used != 0 {
			t.Errorf("%d bytes stay allocated", used)
		}
	}
}

// width returns the columns of the predicted rows of a model whose layers are its exchanges.
func (o *PredictOptions) width() int {
	if o.Layers == 0 {
		return o.Model.Out
	}
	_, out := o.Model.Width(o.Layers - 1)
	return out
}

// Embeddings of every layer of every model are rows of equal length.
func TestEmbeddingsOfModels(t *testing.T) {
	p, _, _ := smallTask(t, named.GCN, true, false)
	for _, b := range model.Builders {
		for _, jumping := range []bool{false, true} {
			if jumping && !b.Has("jk") {
				continue
			}
			m := netOf(named.Model{Kind: named.Kind(b.Name), Layers: 3, Hidden: 8, Heads: 2, In: p.Features.Cols, Out: p.Classes, Alpha: 0.1, Theta: 0.5, Jumping: jumping})
			w := gnn.NewWeights(m)
			w.Init(3)
			for layers := 1; layers <= m.HiddenLayers(); layers++ {
				rows, err := Predict(t.Context(), p, PredictOptions{Model: m, Weights: w, Layers: layers, Devices: cpus(t, 2), Part: scatterParts(p.Vertices(), 2)})
				if err != nil || len(rows)%p.Vertices() != 0 || slices.Max(rows) == 0 {
					t.Errorf("%s, %d layers, jumping %t: %d values, %v", b.Name, layers, jumping, len(rows), err)
				}
			}
		}
	}
}
