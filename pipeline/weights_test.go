package pipeline

import (
	"fmt"
	"math"
	"math/rand/v2"
	"strings"
	"testing"

	"capgnn/gnn"
	"capgnn/graph"
	"capgnn/internal/learn"
	"capgnn/internal/long"
	"capgnn/internal/named"
	"capgnn/jaca"
	"capgnn/pipeline/chunks"
	"capgnn/pipeline/halo"
)

// weighted are the models that take edge weights.
var weighted = []named.Kind{named.GCN, named.SAGE, named.GIN, named.SGC, named.APPNP, named.GCNII}

// weigh gives the edges of a problem weights from 1/64 to 2.5, others in each direction, and but for GCN every fifth
// of them a negative one.
func weigh(p *learn.Problem, kind named.Kind) {
	r := rand.New(rand.NewPCG(31, 5))
	g := *p.Graph
	g.Weights = make([]float32, len(g.Indices))
	for e := range g.Weights {
		g.Weights[e] = float32(1+r.IntN(160)) / 64
		if !kind.Symmetric() && r.IntN(5) == 0 {
			g.Weights[e] *= -1
		}
	}
	p.Graph = &g
}

// Gradients with edge weights are those of a reference in float64, in three parts, also
// where replicas are dropped.
func TestWeightedGradients(t *testing.T) {
	t.Parallel()
	for i, kind := range weighted {
		for _, directed := range []bool{false, true} {
			if i > 0 && directed != (i == 1) && !long.Wanted() {
				continue
			}
			p, m, init := smallTask(t, kind, directed, kind.Symmetric() || directed)
			weigh(p, kind)
			const parts = 3
			part := scatterParts(p.Vertices(), parts)
			for n, dropped := range [][][]graph.NodeID{nil, dropReplicas(p.Graph, part, parts, 0.5)} {
				if directed != (n == 1) && !long.Wanted() {
					continue
				}
				r, w := newRefModel(p, m, part, dropped), newRefWeights(weightsOf(t, m, init))
				_, want := r.gradient(w, 0)
				all := norm(want)
				got, _ := gradients(t, newTrainer(t, p, m, cpus(t, parts), part, func(o *Options) { o.Init, o.Dropped = init, dropped }))
				for _, x := range got.Tensors {
					ref := want[x.Off:][:len(x.Data)]
					if d := differs(x.Data, ref); !(d <= 2e-5*max(norm(ref), 1e-3*all)) {
						t.Errorf("%s, directed %t, dropped %t: gradient of %s differs by %.3g of %.3g", kind, directed, dropped != nil, x.Name, d, norm(ref))
					}
				}
			}
		}
	}
}

// With edge weights, too, parts give the gradients that one part gives (docs/determinism.md), through caches, and its
// loss with rows of any age where rows do not change.
func TestWeightedPartsAgree(t *testing.T) {
	t.Parallel()
	for _, kind := range weighted {
		p, m := task{directed: kind == named.GIN, share: 0.5}.make(t, kind)
		weigh(p, kind)
		m.Dropout = 0
		still := func(o *Options) { o.Optimizer, o.Epochs, o.Rank = gnn.Optimizer{Kind: gnn.SGD, LR: 1e-30}, 5, nil }
		want, loss := gradients(t, newTrainer(t, p, m, cpus(t, 1), make([]int32, p.Vertices()), still))
		for name, c := range map[string]halo.Options{
			"exact": {}, "kept": {Policy: jaca.JACA}, "stale": {Policy: jaca.JACA, Staleness: 2, Pipeline: true},
		} {
			size, err := jaca.ParseSize("30%")
			if err != nil {
				t.Fatal(err)
			}
			tr := newTrainer(t, p, m, cpus(t, 3), scatterParts(p.Vertices(), 3), func(o *Options) {
				still(o)
				if o.Cache = c; c.Policy != "" {
					o.Cache.Local, o.Cache.Global = size, size
				}
			})
			for e := range 4 {
				s := nextEpoch(t, tr)
				if !(math.Abs(s.Loss-loss) <= 1e-5) {
					t.Errorf("%s, %s: loss of epoch %d is %v, want %v", kind, name, e, s.Loss, loss)
				}
			}
			if c.Staleness > 0 {
				continue
			}
			got, _ := gradients(t, tr)
			for k, x := range want.Tensors {
				if d, n := distance(got.Tensors[k].Data, x.Data); !(d <= 2e-5*n) {
					t.Errorf("%s, %s: gradient of %s differs by %.3g of %.3g", kind, name, x.Name, d, n)
				}
			}
		}
	}
}

// Isolated parts, too, compute the gradient of their definition with edge weights, whatever a correction makes of
// these.
func TestWeightedIsolated(t *testing.T) {
	t.Parallel()
	for i, c := range []struct {
		kind           named.Kind
		how            Isolated
		layers, chunks int
		directed       bool
	}{
		{named.GCN, Isolated{}, 2, 3, true},
		{named.GCN, Isolated{Correction: chunks.LongRun, Targets: chunks.Both}, 2, 5, false},
		{named.SAGE, Isolated{Correction: chunks.Inclusion, Targets: chunks.Both}, 2, 3, false},
		{named.GIN, Isolated{Correction: chunks.LongRun, AllLayers: true}, 2, 3, true},
		{named.APPNP, Isolated{Correction: chunks.Inclusion, AllLayers: true}, 2, 3, true},
	} {
		t.Run(fmt.Sprintf("%d/%s/%s", i, c.kind, c.how.Correction), func(t *testing.T) {
			p, m, init := deepTask(t, c.kind, c.layers, c.directed, c.kind.Symmetric())
			weigh(p, c.kind)
			compareDefinition(t, p, m, init, c.how, c.chunks, 1)
		})
	}
}

// A layer 0 that transforms sparse rows of other parts itself gives the gradients of one that reads ÂX.
func TestWeightedReplicas(t *testing.T) {
	t.Parallel()
	const words = 1000
	for i, kind := range weighted[:4] { // the others have no ÂX
		p, m := task{directed: kind == named.SAGE, share: 0.5}.make(t, kind)
		weigh(p, kind)
		m.In, p.Features = words, learn.Features{Cols: words, Indptr: []int64{0}}
		for v := range p.Vertices() {
			p.Features.Indices, p.Features.Data = append(p.Features.Indices, int32(v*7%words), int32((v*7+300)%words)), append(p.Features.Data, 1, -0.5)
			if x := p.Features.Indices[2*v:]; x[0] > x[1] {
				x[0], x[1] = x[1], x[0]
			}
			p.Features.Indptr = append(p.Features.Indptr, int64(2*v+2))
		}
		dense := densified(p)
		want, _ := gradients(t, newTrainer(t, dense, m, cpus(t, 1), make([]int32, p.Vertices()), nil))
		isolate := func(p *learn.Problem) *Trainer {
			return newTrainer(t, p, m, cpus(t, 3), scatterParts(p.Vertices(), 3), func(o *Options) {
				o.Isolated, o.Epochs = &Isolated{Correction: []chunks.Correction{"", chunks.LongRun, chunks.Node, ""}[i]}, 2
			})
		}
		apart, from := isolate(p), isolate(dense)
		if apart.plan.Input != gnn.Replicated || from.plan.Input != gnn.Precomputed {
			t.Fatalf("%s: layers 0 of isolated parts are %v and %v", kind, apart.plan.Input, from.plan.Input)
		}
		got, _ := gradients(t, apart)
		isolated, _ := gradients(t, from)
		for k, x := range isolated.Tensors {
			if d, n := distance(got.Tensors[k].Data, x.Data); !(d <= 2e-5*n) {
				t.Errorf("%s, isolated: gradient of %s differs by %.3g of %.3g", kind, x.Name, d, n)
			}
		}
		tr := newTrainer(t, p, m, cpus(t, 3), scatterParts(p.Vertices(), 3), nil)
		if tr.plan.Input != gnn.Replicated {
			t.Fatalf("%s: layer 0 is %v, not replicated", kind, tr.plan.Input)
		}
		got, _ = gradients(t, tr)
		for k, x := range want.Tensors {
			if d, n := distance(got.Tensors[k].Data, x.Data); !(d <= 2e-5*n) {
				t.Errorf("%s: gradient of %s differs by %.3g of %.3g", kind, x.Name, d, n)
			}
		}
	}
}

// densified returns a problem with its features as dense rows.
func densified(p *learn.Problem) *learn.Problem {
	q, cols := *p, p.Features.Cols
	if p.Features.Sparse() {
		q.Features = learn.Features{Cols: cols, Dense: make([]float32, p.Vertices()*cols)}
		for v := range p.Vertices() {
			p.FillFeatures(q.Features.Dense[v*cols:][:cols], graph.NodeID(v))
		}
	}
	return &q
}

// What edge weights do not go with is said, and weights that are all 1 change no bit.
func TestWeightsRefused(t *testing.T) {
	refused := func(kind named.Kind, edit func(p *learn.Problem, o *Options), want string) {
		t.Helper()
		p, m := task{share: 0.5}.make(t, kind)
		weigh(p, kind)
		o := Options{
			Training: Training{Model: netOf(m), Optimizer: gnn.Optimizer{Kind: gnn.Adam, LR: 0.01}, Epochs: 1},
			Devices:  cpus(t, 2), Part: scatterParts(p.Vertices(), 2),
		}
		edit(p, &o)
		if _, err := New(t.Context(), p, o); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want %q", kind, err, want)
		}
	}
	refused(named.GAT, func(*learn.Problem, *Options) {}, "the model does not take edge weights")
	refused(named.GCN, func(p *learn.Problem, _ *Options) {
		for e := range p.Graph.Row(7) {
			p.Graph.Weights[int(p.Graph.Indptr[7])+e] = -1
		}
	}, "the model divides by the root of the sum of the weights into a vertex, which is ")
	for _, kind := range weighted {
		p, m := task{share: 0.5}.make(t, kind)
		part := scatterParts(p.Vertices(), 2)
		want, _ := gradients(t, newTrainer(t, p, m, cpus(t, 2), part, nil))
		g := *p.Graph
		g.Weights = ones(len(g.Indices))
		p.Graph = &g
		got, _ := gradients(t, newTrainer(t, p, m, cpus(t, 2), part, nil))
		if fmt.Sprint(got.Flat) != fmt.Sprint(want.Flat) {
			t.Errorf("%s: other bits with weights of 1", kind)
		}
	}
}
