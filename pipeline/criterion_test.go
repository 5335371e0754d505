package pipeline

import (
	"math"
	"math/rand/v2"
	"testing"

	"capgnn/gnn"
	"capgnn/gpu"
	"capgnn/internal/learn"
	"capgnn/internal/named"
)

// weighed is a loss that weighs classes, one of them with nothing, and smooths labels.
var weighed = learn.Labels{Weights: []float64{1, 0.25, 0, 3, 0.5, 1.5}, Smoothing: 0.2}

// The gradient of a weighed loss is its derivative, by finite differences along random directions (see TestFiniteDifferences), and parts add up to one part.
func TestWeighedFiniteDifferences(t *testing.T) {
	t.Parallel()
	for _, kind := range []named.Kind{named.GCN, named.GAT} {
		t.Run(string(kind), func(t *testing.T) {
			p, m := task{share: 0.3, sparse: kind.Attends(), vertices: manyVertices}.make(t, kind)
			weigh := func(o *Options) { o.Task = weighed }
			tr := newTrainer(t, p, m, cpus(t, 3), scatterParts(p.Vertices(), 3), weigh)
			one := newTrainer(t, p, m, cpus(t, 1), make([]int32, p.Vertices()), weigh)
			r := rand.New(rand.NewPCG(8, 9))
			w := tr.Weights.Clone()
			for i := range w.Tensors {
				for j := range w.Tensors[i].Data {
					w.Tensors[i].Data[j] += float32(0.05 * r.NormFloat64())
				}
			}
			g, loss := tr.lossAt(t, w)
			want, whole := one.lossAt(t, w)
			if math.Abs(loss-whole) > 1e-6*whole {
				t.Errorf("loss %v of three parts, %v of one", loss, whole)
			}
			for i, x := range want.Tensors {
				if d, norm := distance(g.Tensors[i].Data, x.Data); !(d <= 2e-5*norm+1e-8) {
					t.Errorf("gradient of %s differs by %.3g of %.3g", x.Name, d, norm)
				}
				tr.checkDirection(t, r, w, i, g.Tensors[i].Data)
			}
		})
	}
}

// Rows stored in bf16 do not change what a loss weighs: its gradient is rounded once, as that of a plain one.
func TestWeighedLossInBF16(t *testing.T) {
	p, m := task{share: 0.5}.make(t, named.GCN)
	loss := map[gpu.DType]float64{}
	grads := map[gpu.DType]*gnn.Weights{}
	for _, storage := range []gpu.DType{gpu.FP32, gpu.BF16} {
		tr := newTrainer(t, p, m, cpus(t, 2), scatterParts(p.Vertices(), 2), func(o *Options) { o.Task, o.Storage = weighed, storage })
		grads[storage], loss[storage] = gradients(t, tr)
	}
	if d, norm := distance(grads[gpu.BF16].Flat, grads[gpu.FP32].Flat); d == 0 || d > 0.03*norm || math.Abs(loss[gpu.BF16]-loss[gpu.FP32]) > 0.01*loss[gpu.FP32] {
		t.Errorf("gradients differ by %g of %g, losses are %v", d, norm, loss)
	}
}

// Weights that no training vertex has, or that isolated parts in phases cannot take the mean over, are refused; smoothing goes with them.
func TestWeighedLossesRefused(t *testing.T) {
	p, m := task{share: 0.5}.make(t, named.GCN)
	for v, y := range p.Labels {
		if y == 2 {
			p.Labels[v] = -1
		}
	}
	o := Options{
		Training: Training{Model: netOf(m), Optimizer: gnn.Optimizer{Kind: gnn.SGD, LR: 0.1}, Epochs: 1},
		Devices:  cpus(t, 1), Part: make([]int32, p.Vertices()),
	}
	o.Task = learn.Labels{Weights: []float64{0, 0, 1, 0, 0, 0}}
	if _, err := New(t.Context(), p, o); err == nil {
		t.Error("weights of nothing are taken")
	}
	o.Task, o.Part, o.Isolated = weighed, scatterParts(p.Vertices(), 4), &Isolated{Chunks: 4}
	if _, err := New(t.Context(), p, o); err == nil {
		t.Error("weights in phases are taken")
	}
	o.Task = learn.Labels{Smoothing: 0.1}
	tr, err := New(t.Context(), p, o)
	if err != nil {
		t.Fatal(err)
	}
	defer tr.Close()
	if r := run(t, tr); !(r.FinalLoss > 0 && r.FinalLoss < 10) {
		t.Errorf("loss %v", r.FinalLoss)
	}
}
