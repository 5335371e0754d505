package pipeline

import (
	"context"
	"testing"
	"time"

	"capgnn/gnn"
	"capgnn/gpu"
	"capgnn/gpu/sim"
	"capgnn/graph/synth"
	"capgnn/internal/named"
	"capgnn/jaca"
	"capgnn/pipeline/halo"
)

// Rows that are encoded on their way take no longer than others, on devices whose links take as long as sums, and twice and half as long: no transfer stands
// behind a computation, and packing takes less than a thousandth of an epoch. So it is with rows that are used at once, with those of the epoch before, and where rows pass through the host.
func TestEncodedRowsDoNotWait(t *testing.T) {
	p, m := task{share: 0.5, vertices: manyVertices}.make(t, named.GCN)
	g, part, err := synth.Blocks(p.Vertices(), 2, 40, 0.8, 5) // a fifth of the edges is cut, so there is much to compute before rows are needed
	if err != nil {
		t.Fatal(err)
	}
	p.Graph, m.Hidden = g.WithoutLoops().WithLoops(), 64
	epoch := func(rate float64, peer bool, c halo.Options) *Simulation {
		o := Options{
			Training: Training{Model: netOf(m), Optimizer: gnn.Optimizer{Kind: gnn.Adam, LR: 0.01}},
			Part:     part, Cache: c,
		}
		o.Devices = simulated(t, 2, func(_ int, c *sim.Config) {
			c.Rates = sim.Rates{FlopsPerSec: 1e12, GatherPerSec: 1e9, BytesPerSec: 1e12, H2D: rate, D2H: rate, Peer: rate}
			c.Peer = peer
		})
		s, err := Simulate(context.Background(), p, o, nil)
		if err != nil {
			t.Fatal(err)
		}
		return s
	}
	free := epoch(1e15, true, halo.Options{})
	var most gpu.Bytes // on a direction of a link
	for _, u := range free.Parts {
		most = max(most, u.Peer)
	}
	for _, share := range []float64{0.5, 1, 2} {
		rate := float64(most) / free.Epoch.Seconds() / share
		for _, peer := range []bool{true, false} {
			for _, s := range []int{0, 4} {
				var took []time.Duration
				for _, as := range []halo.Encoding{halo.Int8, halo.BF16, halo.FP32} {
					c := halo.Options{Policy: jaca.JACA, Local: jaca.Percent(60), HaloType: as, Piece: 4 << 10, Staleness: s, Pipeline: s > 0}
					took = append(took, epoch(rate, peer, c).Epoch)
				}
				t.Logf("links of %.1f times the sums, peer %t, staleness %d: %v", share, peer, s, took)
				if float64(took[0]) > 1.001*float64(took[1]) || float64(took[1]) > 1.001*float64(took[2]) {
					t.Errorf("links of %.1f times the sums, peer %t, staleness %d: epochs of %v with int8, bf16, fp32", share, peer, s, took)
				}
			}
		}
	}
}
