package pipeline

import (
	"fmt"
	"math"
	"testing"

	"capgnn/gnn"
	"capgnn/internal/named"
	"capgnn/jaca"
)

// Gradients that come back from the parts that read a row are those of one part, while rows are fresh: losses agree epoch by epoch, whatever is
// kept where.
func TestReturnedGradientsAreThoseOfOnePart(t *testing.T) {
	t.Parallel()
	const parts, epochs, exact = 3, 6, 4
	for n, layers := range []int{2, 3, 4} {
		p, m := task{share: 0.4, directed: n%2 == 0}.make(t, named.GAT)
		m.Layers = layers
		train := func(part []int32, parts int, c staleCase) (losses []float64, returns bool) {
			tr := newTrainer(t, p, m, c.devices(t, parts), part, func(o *Options) {
				o.Epochs, o.Optimizer = epochs, gnn.Optimizer{Kind: gnn.SGD, LR: 0.2}
				if parts > 1 {
					o.Cache = c.cache(t)
					o.Cache.ExactEpochs, o.Cache.Layers = exact, []int{1, 2, 3}[:layers-1]
				}
				o.OnEpoch = func(e EpochStats) error {
					losses = append(losses, e.Loss)
					return nil
				}
			})
			for _, l := range tr.plan.Layers {
				returns = returns || l.Returns
			}
			run(t, tr)
			return losses, returns
		}
		want, _ := train(make([]int32, p.Vertices()), 1, staleCase{peers: true})
		for _, c := range []staleCase{
			{policy: jaca.JACA, local: "auto", global: "auto", staleness: 2},
			{policy: jaca.Paper, local: "40%", global: "30%", staleness: 3, pipeline: true, peers: true},
			{policy: jaca.None, local: "auto", global: "auto", staleness: 1, pipeline: true},
			{policy: jaca.Paper, local: "30%", global: "50%", staleness: 2},
		} {
			got, returns := train(scatterParts(p.Vertices(), parts), parts, c)
			if !returns {
				t.Fatalf("%d layers, %v: no layer returns gradients", layers, c)
			}
			for e := range exact + 1 {
				if math.Abs(got[e]-want[e]) > 2e-5*math.Abs(want[e]) {
					t.Errorf("%d layers, %v: epoch %d has loss %.8g, one part %.8g", layers, c, e, got[e], want[e])
				}
			}
			if fmt.Sprint(got[exact+1]) == fmt.Sprint(want[exact+1]) {
				t.Errorf("%d layers, %v: rows do not age", layers, c)
			}
		}
	}
}
