package pipeline

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"

	"capgnn/gnn"
	"capgnn/gpu"
)

// BF16 rows change results by their rounding and no more. One rounding has a relative error of up to 2⁻⁹, and there
// is one per layer and direction. An error may also move an activation over a ReLU's kink; what that does
// to a gradient is measured, with features that have random errors of up to 2⁻⁷. Checked are all gradients at three sets of
// weights, dropout on, and the loss curve.
func TestBF16Storage(t *testing.T) {
	for _, kind := range []gnn.Kind{gnn.GCN, gnn.SAGE, gnn.GIN} {
		for _, k := range []task{{share: 0.3, directed: true}, {share: 1, sparse: true}, {share: 0.5, multi: true}} {
			p, m := k.make(t, kind)
			one := make([]int32, p.Vertices())
			base, at := traceOf(t, newTrainer(t, p, m, cpus(t, 1), one, nil), nil)
			var s spread
			for seed := range uint64(3) {
				noisy := *p
				noisy.Features = withErrors(p.Features, 1.0/128, seed)
				a, _ := traceOf(t, newTrainer(t, &noisy, m, cpus(t, 1), one, nil), at)
				s.widen(a, base)
			}
			for _, parts := range []int{1, 3} {
				part := one
				if parts > 1 {
					part = scatterParts(p.Vertices(), parts)
				}
				name := fmt.Sprintf("%s %+v, %d parts", kind, k, parts)
				got, _ := traceOf(t, newTrainer(t, p, m, cpus(t, parts), part, func(o *Options) { o.Storage = gpu.BF16 }), at)
				checkRounded(t, name, got, base, s)
			}
		}
	}
}

func checkRounded(t *testing.T, name string, got, base trace, s spread) {
	t.Helper()
	const rounding = 2 * 3 * 1.0 / 512 // the models have three layers
	changed := false
	for i := range base.grads {
		for k, x := range base.grads[i].Tensors {
			d, norm := distance(got.grads[i].Tensors[k].Data, x.Data)
			changed = changed || d > 0
			if tol := max(rounding*norm, 2*s.grad[i][x.Name]); !(d <= tol) {
				t.Errorf("%s: epoch %d: gradient of %s differs by %.3g, tolerance %.3g (norm %.3g)", name, traceEpochs[i], x.Name, d, tol, norm)
			}
		}
	}
	if d := lossDistance(got, base); !(d <= max(rounding*base.loss[0], 2*s.loss)) {
		t.Errorf("%s: loss curve differs by %.3g, tolerance %.3g", name, d, max(rounding*base.loss[0], 2*s.loss))
	}
	if !changed {
		t.Errorf("%s: nothing was rounded", name)
	}
}

// withErrors returns features with random relative errors of up to size.
func withErrors(f Features, size float64, seed uint64) Features {
	r := rand.New(rand.NewPCG(seed, 77))
	change := func(x []float32) []float32 {
		x = slices.Clone(x)
		for i := range x {
			x[i] *= float32(1 + size*(2*r.Float64()-1))
		}
		return x
	}
	f.Dense, f.Data = change(f.Dense), change(f.Data)
	return f
}

// GAT keeps FP32 and says so.
func TestBF16StorageGAT(t *testing.T) {
	p, m := task{share: 0.3}.make(t, gnn.GAT)
	o := Options{Model: m, Optimizer: gnn.Optimizer{Kind: gnn.Adam, LR: 0.01}, Devices: cpus(t, 1),
		Part: make([]int32, p.Vertices()), Storage: gpu.BF16}
	if _, err := New(t.Context(), p, o); err == nil {
		t.Error("accepted")
	}
}
