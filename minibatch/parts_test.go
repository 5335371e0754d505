package minibatch

import (
	"fmt"
	"math"
	"slices"
	"testing"

	"capgnn/gnn"
	"capgnn/gpu"
	"capgnn/gpu/host"
	"capgnn/graph"
	"capgnn/internal/learn"
	"capgnn/internal/named"
	"capgnn/minibatch/sample"
)

// big is a rate of SGD at which what a weight was is lost in what it becomes, so that the difference is the gradient.
const big = 1 << 12

// gradient returns that of a step from given weights, summed over parts.
func gradient(t *testing.T, p *learn.Problem, o Options, step int, from *gnn.Weights) *gnn.Weights {
	t.Helper()
	o.Init, o.Optimizer, o.Epochs = from.StateDict(), gnn.Optimizer{Kind: gnn.SGD, LR: big}, 1<<20
	tr, err := New(t.Context(), p, o)
	if err != nil {
		t.Fatal(err)
	}
	defer tr.Close()
	return stepped(t, tr, step, from)
}

// stepped has a trainer run one step, and returns its gradient.
func stepped(t *testing.T, tr *Trainer, step int, from *gnn.Weights) *gnn.Weights {
	t.Helper()
	tr.state.Epochs, tr.state.Batch = step/tr.roots.steps, step%tr.roots.steps
	if err := tr.Stretch(tr.state.Epochs, tr.state.Batch, tr.state.Batch+1); err != nil {
		t.Fatal(err)
	}
	w, err := tr.Crew.Weights(tr.Weights)
	if err != nil {
		t.Fatal(err)
	}
	for i := range w.Flat {
		w.Flat[i] = (from.Flat[i] - w.Flat[i]) / big
	}
	return w
}

var zero = gnn.NewWeights

// star is a graph in which every vertex reads a hub, and it all of them.
func star(n int) *graph.CSR {
	g := &graph.CSR{Cols: n, Indptr: []int64{0}}
	for v := range n {
		if v > 0 {
			g.Indices = append(g.Indices, 0)
		} else {
			for u := 1; u < n; u++ {
				g.Indices = append(g.Indices, int32(u))
			}
		}
		g.Indptr = append(g.Indptr, int64(len(g.Indices)))
	}
	return g
}

// unevenWork calls f with every run whose work does not divide evenly.
func unevenWork(t *testing.T, f func(t *testing.T, name string, p *learn.Problem, m named.Model, o Options)) {
	t.Helper()
	for _, c := range []struct {
		name   string
		parts  int
		batch  int
		fanout []int
		edit   func(p *learn.Problem, o *Options)
	}{
		{"more parts than roots", 5, 2, []int{3, 2, 2}, nil},
		{"a batch larger than the training set", 2, 1 << 20, []int{3, 2, sample.All}, nil},
		{"a part without vertices", 3, 20, []int{3, 2, 2}, func(p *learn.Problem, o *Options) { o.Part = make([]int32, p.Vertices()) }},
		{"a part without training vertices", 2, 20, []int{3, 2, 2}, func(p *learn.Problem, o *Options) {
			for v := range o.Part {
				o.Part[v] = 0
				if !p.Train[v] {
					o.Part[v] = 1
				}
			}
		}},
		{"unequal shares", 3, 20, []int{3, 2, 2}, func(_ *learn.Problem, o *Options) { o.Shares = []float64{0, 5, 0.1} }},
		{"one device", 3, 20, []int{3, 2, 2}, func(_ *learn.Problem, o *Options) { o.Devices = slices.Repeat(o.Devices[:1], 3) }},
		{"no edge", 2, 20, []int{3, 2, sample.All}, func(p *learn.Problem, _ *Options) {
			p.Graph = &graph.CSR{Cols: p.Vertices(), Indptr: make([]int64, p.Vertices()+1)}
		}},
		{"a hub", 2, 20, []int{3, 600, 700}, func(p *learn.Problem, _ *Options) { p.Graph = star(p.Vertices()) }},
		{"one root", 2, 20, []int{3, 2, 2}, func(p *learn.Problem, _ *Options) {
			clear(p.Train)
			v := slices.IndexFunc(p.Labels, func(y int32) bool { return y >= 0 })
			p.Train[v] = true
		}},
		{"one layer", 3, 20, []int{sample.All}, nil},
		{"two layers", 3, 20, []int{3, 2}, nil},
	} {
		for _, kind := range kinds(t) {
			k := task{}
			if c.name == "a hub" {
				k.vertices = 900
			}
			p, m := k.make(t, kind)
			m.Layers = len(c.fanout)
			o := small(m, devices(t, c.parts, host.Spec{}), homes(p.Vertices(), c.parts))
			o.Sampling.BatchSize, o.Sampling.Fanout, o.Epochs = c.batch, c.fanout, 2
			if c.edit != nil {
				c.edit(p, &o)
			}
			f(t, fmt.Sprintf("%s, %s", kind, c.name), p, m, o)
		}
	}
}

// What does not divide evenly ends, and has every root once an epoch.
func TestUnevenWork(t *testing.T) {
	unevenWork(t, func(t *testing.T, name string, p *learn.Problem, _ named.Model, o Options) {
		for _, local := range []bool{false, true} {
			if local && o.Shares != nil {
				continue
			}
			o.Sampling.Local = local
			r := trained(t, p, o)
			if math.IsNaN(r.FinalLoss) || r.Roots != int64(2*p.TrainingVertices()) {
				t.Errorf("%s, local %t: loss %v of %d roots", name, local, r.FinalLoss, r.Roots)
			}
		}
	})
}

// Every part count and share gives the gradient of one part, wherever roots are computed.
func TestGradientsOfUnevenWork(t *testing.T) {
	unevenWork(t, func(t *testing.T, name string, p *learn.Problem, m named.Model, o Options) {
		from := gnn.NewWeights(netOf(m))
		from.Init(m.Seed)
		one := o
		one.Devices, one.Part, one.Shares = o.Devices[:1], nil, nil
		want := gradient(t, p, one, 0, from)
		for _, place := range places {
			kindOfRoots{place: place}.set(&o.Sampling)
			closeTo(t, fmt.Sprintf("%s, %v", name, place), gradient(t, p, o, 0, from), want, zero(netOf(m)), 2e-5)
		}
	})
}

// Every root is one of an epoch once, in global and local order, wherever it is computed, whatever the batch; parts of an epoch have as many steps. Steps
// have the same roots in every place.
func TestEveryRootOnce(t *testing.T) {
	p, m := task{}.make(t, named.SAGE)
	for _, parts := range []int{1, 2, 5, 40} {
		for _, batch := range []int{1, 7, 64, 1000} {
			var of []int // by vertex: the step of the last epoch that has it as a root, with global roots
			for _, c := range append(scattered(), kindOfRoots{Batch, true}) {
				local := c.local
				o := small(m, make([]gpu.Device, parts), homes(p.Vertices(), parts))
				o.Sampling.BatchSize = batch
				c.set(&o.Sampling)
				r := newRoots(p, &o)
				before := of
				of = make([]int, p.Vertices())
				for _, epoch := range []int{0, 3} {
					seen := make([]int, p.Vertices())
					var ids []graph.NodeID
					for b := range r.steps {
						n := 0
						for part := range parts {
							ids = ids[:0]
							for unit := range r.units {
								ids = append(ids, r.of(epoch*r.steps+b, part, unit, nil)...)
							}
							for _, v := range ids {
								seen[v]++
								of[v] = b
								if local && parts > 1 && int(o.Part[v]) != part {
									t.Fatalf("vertex %d is a root of part %d, at home at %d", v, part, o.Part[v])
								}
							}
							n += len(ids)
						}
						if n != r.count(0, b) || n > batch+parts {
							t.Errorf("%d parts, batch %d, %+v: step %d has %d roots, count says %d", parts, batch, c, b, n, r.count(0, b))
						}
					}
					for v, k := range seen {
						if want := p.Trains(graph.NodeID(v)); want != (k == 1) || k > 1 {
							t.Fatalf("%d parts, batch %d, %+v: vertex %d is %d times a root", parts, batch, c, v, k)
						}
					}
				}
				if before != nil && !local && !slices.Equal(of, before) {
					t.Errorf("%d parts, batch %d: steps at %v have other roots", parts, batch, c.place)
				}
			}
		}
	}
}

// What parts did adds up to what the run did, and the plan knows their shares.
func TestWorkOfParts(t *testing.T) {
	p, m := task{}.make(t, named.SAGE)
	for _, place := range []Place{Batch, Home, Hop} {
		o := small(m, devices(t, 3, host.Spec{}), homes(p.Vertices(), 3))
		o.Sampling.Place, o.Epochs = place, 1
		plan, err := Plan(t.Context(), p, o)
		if err != nil {
			t.Fatal(err)
		}
		var e EpochStats
		o.OnEpoch = func(s EpochStats) error { e = s; return nil }
		trained(t, p, o)
		var sum Counts
		for part := range e.Work {
			w := &e.Work[part]
			sum.Add(w)
			want := Share{float64(w.Roots) / float64(e.Roots), float64(w.Rows.Read) / float64(e.Rows.Read)}
			if got := plan.Parts[part].Share; e.Steps > probes || got != want {
				t.Errorf("%v, part %d of %d steps: planned %+v, want %+v", place, part, e.Steps, got, want)
			}
		}
		if want := e.Counts; len(e.Work) != 3 || sum.Roots != want.Roots || sum.Edges != want.Edges || sum.Rows != want.Rows || sum.Requests != want.Requests || sum.Time != want.Time {
			t.Errorf("%v: parts did %+v, the run %+v", place, sum, want)
		}
	}
}
