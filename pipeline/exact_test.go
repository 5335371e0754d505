package pipeline

import (
	"context"
	"fmt"
	"maps"
	"math"
	"math/rand/v2"
	"slices"
	"sync"
	"testing"

	"capgnn/gnn"
	"capgnn/gpu"
	"capgnn/graph/synth"
	"capgnn/internal/learn"
	"capgnn/internal/named"
)

// task is a small random problem for exactness tests.
type task struct {
	directed, multi, sparse bool
	share                   float64 // of vertices that train
	vertices                int     // 0 = taskVertices
	residual                bool    // of models that can have them
}

const (
	taskVertices = 400  // in three parts, rows of every kind and class come to every part
	manyVertices = 1500 // where rounding errors are averaged, or an epoch is long enough to overlap
	taskFeatures = 20
	taskClasses  = 6
)

// netOf returns a model of settings that are right.
func netOf(m named.Model) gnn.Config {
	c := named.Config(m, gnn.NewModel)
	made.Store(c.Model, m)
	return c
}

// made has the settings of models of netOf.
var made sync.Map

// madeOf returns the settings of a model of netOf.
func madeOf(c gnn.Config) named.Model {
	m, _ := made.Load(c.Model)
	return m.(named.Model)
}

// change replaces the model of options by that of other settings.
func change(o *Options, edit func(m *named.Model)) {
	m := madeOf(o.Model)
	edit(&m)
	o.Model = netOf(m)
}

// programOf returns a model as tests pass it on.
func programOf(m gnn.Config) named.Model {
	return named.Model{Program: m.Program, Layers: m.Layers, In: m.In, Out: m.Out, Multi: m.Multi, Seed: m.Seed}
}

// make builds the task for a model: random graph, smooth random features, labels that depend on both.
func (k task) make(t testing.TB, kind named.Kind) (*learn.Problem, named.Model) {
	t.Helper()
	if k.vertices == 0 {
		k.vertices = taskVertices
	}
	g, err := synth.Random(k.vertices, 5*k.vertices, k.directed, 11)
	if err != nil {
		t.Fatal(err)
	}
	g = g.WithoutLoops()
	if kind.AddsLoops() {
		g = g.WithLoops()
	}
	r := rand.New(rand.NewPCG(3, 4))
	n := g.Rows()
	p := &learn.Problem{Graph: g, Classes: taskClasses, Train: make([]bool, n), Val: make([]bool, n), Test: make([]bool, n)}
	p.Features = learn.Features{Cols: taskFeatures, Dense: make([]float32, n*taskFeatures)}
	for i := range p.Features.Dense {
		if !k.sparse || r.IntN(5) == 0 {
			p.Features.Dense[i] = float32(r.NormFloat64())
		}
	}
	if k.sparse {
		p.Features = sparsified(p.Features)
	}
	for v := range n {
		p.Train[v] = r.Float64() < k.share
		p.Val[v], p.Test[v] = !p.Train[v] && v%2 == 0, !p.Train[v] && v%2 == 1
		if k.multi {
			for range taskClasses {
				p.Targets = append(p.Targets, uint8(r.IntN(2)))
			}
			continue
		}
		p.Labels = append(p.Labels, int32(r.IntN(taskClasses+1))-1)
	}
	return p, named.Model{Kind: kind, Layers: 3, Hidden: 16, In: taskFeatures, Out: taskClasses, Heads: 4, Alpha: 0.3, Theta: 0.7, Dropout: 0.5,
		Multi: k.multi, Residual: k.residual && kind.Norms(), AttentionDropout: attentionDropout(kind), Seed: 5}
}

// attentionDropout is that of a model in tests.
func attentionDropout(kind named.Kind) float64 {
	if kind.Attends() {
		return 0.4
	}
	return 0
}

func sparsified(f learn.Features) learn.Features {
	s := learn.Features{Cols: f.Cols, Indptr: []int64{0}}
	for v := range len(f.Dense) / f.Cols {
		for j, x := range f.Dense[v*f.Cols:][:f.Cols] {
			if x != 0 {
				s.Indices, s.Data = append(s.Indices, int32(j)), append(s.Data, x)
			}
		}
		s.Indptr = append(s.Indptr, int64(len(s.Indices)))
	}
	return s
}

func newTrainer(t testing.TB, p *learn.Problem, m named.Model, devices []gpu.Device, part []int32, edit func(*Options)) *Trainer {
	t.Helper()
	o := Options{
		Training: Training{Model: netOf(m), Optimizer: gnn.Optimizer{Kind: gnn.Adam, LR: 0.01}, Epochs: 20},
		Devices:  devices, Part: part,
	}
	if edit != nil {
		edit(&o)
	}
	tr, err := New(context.Background(), p, o)
	if err != nil {
		t.Fatal(err)
	}
	closeAfter(t, tr)
	return tr
}

// trace is what two runs are compared by: gradients at given weights, and the free-running loss.
type trace struct {
	grads []*gnn.Weights // at the weights of epochs 0, 5 and 20
	loss  []float64      // of epochs 0 to 19
}

var traceEpochs = []int{0, 5, 20}

// traceOf runs tr; at gives the weights at which gradients are taken (nil: its own, which are returned).
func traceOf(t *testing.T, tr *Trainer, at [][]float32) (trace, [][]float32) {
	t.Helper()
	var out trace
	own := at == nil
	for e := 0; e <= 20; e++ {
		if own {
			for _, want := range traceEpochs {
				if e == want {
					w, err := tr.Crew.Weights(tr.Weights)
					if err != nil {
						t.Fatal(err)
					}
					at = append(at, w.Flat)
				}
			}
		}
		if e == 20 {
			break
		}
		out.loss = append(out.loss, nextEpoch(t, tr).Loss)
	}
	for i, e := range traceEpochs {
		for _, w := range tr.workers {
			setWeights(t, w, 0, at[i])
		}
		tr.State.Epochs = e
		g, _ := gradients(t, tr)
		out.grads = append(out.grads, g)
	}
	return out, at
}

func distance(a, b []float32) (diff, norm float64) {
	for i := range a {
		d := float64(a[i]) - float64(b[i])
		diff += d * d
		norm += float64(b[i]) * float64(b[i])
	}
	return math.Sqrt(diff), math.Sqrt(norm)
}

// spread is the largest difference that renumberings of one part make to a trace.
type spread struct {
	grad []map[string]float64 // per snapshot and tensor
	loss float64
}

func (s *spread) widen(a, base trace) {
	for i := range base.grads {
		if len(s.grad) <= i {
			s.grad = append(s.grad, map[string]float64{})
		}
		for k, x := range base.grads[i].Tensors {
			d, _ := distance(a.grads[i].Tensors[k].Data, x.Data)
			s.grad[i][x.Name] = max(s.grad[i][x.Name], d)
		}
	}
	s.loss = max(s.loss, lossDistance(a, base))
}

func lossDistance(a, b trace) float64 {
	d := 0.0
	for i := range a.loss {
		d = max(d, math.Abs(a.loss[i]-b.loss[i]))
	}
	return d
}

// renumberings returns the spread of five.
func renumberings(t *testing.T, p *learn.Problem, m named.Model, one []gpu.Device, base trace, at [][]float32) *spread {
	s := new(spread)
	for i := range 5 {
		rank := make([]int32, p.Vertices())
		for v, r := range rand.New(rand.NewPCG(uint64(i), 9)).Perm(len(rank)) {
			rank[v] = int32(r)
		}
		a, _ := traceOf(t, newTrainer(t, p, m, one, make([]int32, p.Vertices()), func(o *Options) { o.Rank = rank }), at)
		s.widen(a, base)
	}
	t.Logf("five renumberings: loss curve differs by up to %.3g", s.loss)
	return s
}

// checkTrace applies docs/determinism.md: gradients within 2e-5 relative or twice the spread, the loss curve within 1e-4 or twice the
// spread, which is asked for only where it decides.
func checkTrace(t *testing.T, name string, got, base trace, of func() *spread) {
	t.Helper()
	for i := range base.grads {
		for k, x := range base.grads[i].Tensors {
			d, norm := distance(got.grads[i].Tensors[k].Data, x.Data)
			if d <= 2e-5*norm {
				continue
			}
			if tol := max(2e-5*norm, 2*of().grad[i][x.Name]); !(d <= tol) {
				t.Errorf("%s: epoch %d: gradient of %s differs by %.3g, tolerance %.3g (norm %.3g)", name, traceEpochs[i], x.Name, d, tol, norm)
			}
		}
	}
	d := lossDistance(got, base)
	if d <= 1e-4 {
		return
	}
	if tol := max(1e-4, 2*of().loss); !(d <= tol) {
		t.Errorf("%s: loss curve differs by %.3g, tolerance %.3g", name, d, tol)
	}
}

// Any number of parts gives what one part gives, dropout on (docs/determinism.md).
func TestPartsAgree(t *testing.T) {
	t.Parallel()
	tasks := map[string]task{
		"undirected":        {share: 0.5},
		"directed":          {directed: true, share: 0.5},
		"directed-5%":       {directed: true, share: 0.05},
		"sparse-multilabel": {sparse: true, multi: true, share: 0.3},
		"sparse-directed":   {sparse: true, directed: true, share: 0.3},
		"residual-directed": {directed: true, share: 0.1, residual: true},
	}
	variants := []int{2, 3, 4, 8} // parts
	names := slices.Sorted(maps.Keys(tasks))
	var values [][]any
	for _, kind := range kinds(t) {
		for _, name := range names {
			for _, v := range variants {
				values = append(values, []any{kind, name, v})
			}
		}
	}
	taken := takes(t, 2, values)
	for i, kind := range kinds(t) {
		for j, name := range names {
			taken := taken[(i*len(names)+j)*len(variants):][:len(variants)]
			if !slices.Contains(taken, true) {
				continue
			}
			t.Run(fmt.Sprintf("%s/%s", kind, name), func(t *testing.T) {
				p, m := tasks[name].make(t, kind)
				one := cpus(t, 1)
				base, at := traceOf(t, newTrainer(t, p, m, one, make([]int32, p.Vertices()), nil), nil)
				renumbered := sync.OnceValue(func() *spread { return renumberings(t, p, m, one, base, at) })
				for n, parts := range variants {
					if !taken[n] {
						continue
					}
					tr := newTrainer(t, p, m, cpus(t, parts), scatterParts(p.Vertices(), parts), nil)
					a, _ := traceOf(t, tr, at)
					checkTrace(t, fmt.Sprintf("%d parts", parts), a, base, renumbered)
				}
			})
		}
	}
}
