package pipeline

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"

	"capgnn/gnn"
	"capgnn/gpu"
	"capgnn/internal/learn"
	"capgnn/internal/long"
	"capgnn/internal/named"
)

// BF16 rows change results by their rounding and no more. One rounding has a relative error of up to 2⁻⁹, and there
// is one per layer and direction. An error may also move an activation over a ReLU's kink; what that does
// to a gradient is measured, with features that have random errors of up to 2⁻⁷. Checked are all gradients at three sets of
// weights, dropout on, and the loss curve.
func TestBF16Storage(t *testing.T) {
	t.Parallel()
	for i, kind := range []named.Kind{named.GCN, named.SAGE, named.GIN} {
		for j, k := range []task{{share: 0.3, directed: true}, {share: 1, sparse: true}, {share: 0.5, multi: true}} {
			if j != i && (j != (i+1+turn(t, 2))%3 || !long.Wanted()) {
				continue
			}
			k.vertices = manyVertices
			p, m := k.make(t, kind)
			one, three := make([]int32, p.Vertices()), scatterParts(p.Vertices(), 3)
			rounded := func(o *Options) { o.Storage = gpu.BF16 }
			base, at, s := noisy(t, p, m, 1, one, nil)
			for parts, part := range map[int][]int32{1: one, 3: three} {
				got, _ := traceOf(t, newTrainer(t, p, m, cpus(t, parts), part, rounded), at)
				checkRounded(t, fmt.Sprintf("%s %+v, %d parts", kind, k, parts), got, base, s)
			}
			prune := func(o *Options) { o.Dropped = dropReplicas(p.Graph, three, 3, 0.5) }
			base, at, s = noisy(t, p, m, 3, three, prune)
			got, _ := traceOf(t, newTrainer(t, p, m, cpus(t, 3), three, func(o *Options) { prune(o); rounded(o) }), at)
			base.grads = base.grads[:1] // later ones are small beside what pruned rows of few terms make of an error
			checkRounded(t, fmt.Sprintf("%s %+v, pruned", kind, k), got, base, s)
		}
	}
}

// noisy returns the trace of a run, its weights, and what random errors of its features change.
func noisy(t *testing.T, p *learn.Problem, m named.Model, parts int, part []int32, edit func(*Options)) (base trace, at [][]float32, s spread) {
	t.Helper()
	base, at = traceOf(t, newTrainer(t, p, m, cpus(t, parts), part, edit), nil)
	for seed := range uint64(3) {
		q := *p
		q.Features = withErrors(p.Features, 1.0/128, seed)
		a, _ := traceOf(t, newTrainer(t, &q, m, cpus(t, parts), part, edit), at)
		s.widen(a, base)
	}
	return base, at, s
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
func withErrors(f learn.Features, size float64, seed uint64) learn.Features {
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
	p, m := task{share: 0.3}.make(t, named.GAT)
	o := Options{
		Training: Training{Model: netOf(m), Optimizer: gnn.Optimizer{Kind: gnn.Adam, LR: 0.01}, Storage: gpu.BF16},
		Devices:  cpus(t, 1), Part: make([]int32, p.Vertices()),
	}
	if _, err := New(t.Context(), p, o); err == nil {
		t.Error("accepted")
	}
}
