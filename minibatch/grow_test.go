package minibatch

import (
	"bytes"
	"log/slog"
	"strings"
	"testing"

	"capgnn/gpu/host"
	"capgnn/graph"
	"capgnn/internal/long"
	"capgnn/minibatch/sample"
)

// A step that is larger than all that were sampled beforehand makes buffers larger, and changes no bit: the weights are those of a
// run whose buffers have had room from the beginning.
func TestGrowthChangesNoBit(t *testing.T) {
	for i, kind := range kinds(t) {
		for _, sparse := range []bool{false, true} {
			if sparse != (i%2 > 0) && !long.Wanted() {
				continue
			}
			p, m := task{sparse: sparse, vertices: 3000}.make(t, kind)
			p.Graph = withHubs(t, p.Graph, 700)
			run := func(ample bool) (string, string) {
				var log bytes.Buffer
				o := small(m, devices(t, 2, host.Spec{}), homes(p.Vertices(), 2))
				o.Sampling, o.Epochs = Sampling{BatchSize: 2 * fewRoots, Fanout: []int{sample.All, 2, 1}}, 2
				o.Log = slog.New(slog.NewTextHandler(&log, nil))
				tr, err := New(t.Context(), p, o)
				if err != nil {
					t.Fatal(err)
				}
				defer tr.Close()
				if ample {
					enlarge(t, tr)
				}
				log.Reset()
				r, err := tr.Run(t.Context())
				if err != nil {
					t.Fatal(err)
				}
				return r.WeightsSHA, log.String()
			}
			want, log := run(true)
			if strings.Contains(log, "grown") {
				t.Fatalf("%s, sparse %t: buffers that had room have grown: %s", kind, sparse, log)
			}
			got, log := run(false)
			staging, inputs, all := strings.Count(log, "what=staging"), strings.Count(log, "what=input"), strings.Count(log, "grown")
			if staging == 0 || inputs == 0 || all == staging+inputs {
				t.Errorf("%s, sparse %t: %d stages, %d inputs, %d slabs have grown: the test shows nothing", kind, sparse, staging, inputs, all-staging-inputs)
			}
			if got != want {
				t.Errorf("%s, sparse %t: growth changed the weights", kind, sparse)
			}
		}
	}
}

// withHubs adds all edges into one of so many vertices: some of them are roots, rarely two in one step.
func withHubs(t *testing.T, g *graph.CSR, each int) *graph.CSR {
	t.Helper()
	var edges []graph.Edge
	for v := range g.Rows() {
		for _, u := range g.Row(v) {
			edges = append(edges, graph.Edge{From: u, To: int32(v)})
		}
		for hub := 7; hub < g.Rows(); hub += each {
			edges = append(edges, graph.Edge{From: int32(v), To: int32(hub)})
		}
	}
	g, err := graph.FromEdges(g.Rows(), edges)
	if err != nil {
		t.Fatal(err)
	}
	return g
}

// enlarge makes all buffers large enough for any step.
func enlarge(t *testing.T, tr *Trainer) {
	t.Helper()
	for _, w := range tr.workers {
		e := tr.design.extents[w.Index]
		e.ids, e.features = tr.p.Vertices(), int(tr.p.FeatureEntries())
		for h := range e.hops {
			e.hops[h].rows, e.hops[h].cols = e.ids, e.ids
		}
		var l layout
		w.stage.lay(&l, &e, nil)
		if err := w.Pass.Grow(w.Device, l.layers); err != nil {
			t.Fatal(err)
		}
		d := sampledUnit{}
		d.layout.size = 100 * w.inputs[0].buf.Size()
		d.layout.staged = d.layout.size
		for i := range w.inputs {
			if err := w.widen(&w.inputs[i], &d); err != nil {
				t.Fatal(err)
			}
		}
		for _, s := range w.feed.slots {
			if err := w.stage.room(&s.units[0], &d.layout); err != nil {
				t.Fatal(err)
			}
		}
	}
}
