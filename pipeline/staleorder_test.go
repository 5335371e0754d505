package pipeline

import (
	"fmt"
	"testing"

	"capgnn/gnn"
	"capgnn/jaca"
	"capgnn/pipeline/halo"
)

// With stale rows operations come in another order. In the first epoch all rows are due and used at once, so there its
// gradients are those of one part.
func TestOrderForStaleRows(t *testing.T) {
	seen := map[gnn.LayerPlan]bool{}
	for _, kind := range kinds(t) {
		for _, hidden := range []int{4, 16, 96} {
			for _, k := range []task{{share: 0.2, directed: true}, {share: 0.2, sparse: true, multi: true}} {
				t.Run(fmt.Sprintf("%s/%d/sparse=%t", kind, hidden, k.sparse), func(t *testing.T) {
					p, m := k.make(t, kind)
					m.Hidden = hidden
					want, wantLoss := gradients(t, newTrainer(t, p, m, cpus(t, 1), make([]int32, p.Vertices()), nil))
					for _, pipeline := range []bool{false, true} {
						tr := newTrainer(t, p, m, cpus(t, 3), scatterParts(p.Vertices(), 3), func(o *Options) {
							o.Epochs = 6
							o.Cache = halo.Options{Policy: jaca.JACA, Staleness: 3, Pipeline: pipeline}
						})
						for l, order := range tr.plan.Layers {
							if l > 0 && !kind.Attends() {
								seen[order] = true
							}
						}
						got, gotLoss := gradients(t, tr)
						_, all := distance(want.Flat, want.Flat)
						for i, x := range want.Tensors {
							if d, norm := distance(got.Tensors[i].Data, x.Data); !(d <= 2e-5*max(norm, 1e-3*all)) {
								t.Errorf("pipeline %t: gradient of %s differs by %.3g of %.3g", pipeline, x.Name, d, norm)
							}
						}
						if d := gotLoss - wantLoss; d > 1e-5 || d < -1e-5 {
							t.Errorf("pipeline %t: loss %v, want %v", pipeline, gotLoss, wantLoss)
						}
						run(t, tr)
					}
				})
			}
		}
	}
	for _, order := range []gnn.LayerPlan{{Fresh: true}, {AggregateFirst: true, KeepAggregate: true},
		{AggregateFirst: true, KeepAggregate: true, BackwardIn: true}} {
		if !seen[order] {
			t.Errorf("no layer in the order %+v", order)
		}
	}
}
