package pipeline

import (
	"context"
	"math"
	"slices"
	"testing"
	"time"

	"capgnn/gnn"
	"capgnn/gpu"
	"capgnn/graph"
	"capgnn/internal/learn"
)

// What an epoch moves is what training reads after pruning, counted here from the graph: for every layer that
// exchanges and both directions, remote rows with a kept edge into a needed row, times the width.
func TestPrunedBytes(t *testing.T) {
	const parts = 4
	for _, kind := range kinds(t) {
		for _, directed := range []bool{false, true} {
			p, m := task{share: 0.05, directed: directed}.make(t, kind)
			part := scatterParts(p.Vertices(), parts)
			last := gpu.Bytes(math.MaxInt64)
			for _, share := range []float64{0, 0.5, 1} {
				dropped := dropReplicas(p.Graph, part, parts, share)
				var got gpu.Bytes
				tr := newTrainer(t, p, m, cpus(t, parts), part, func(o *Options) {
					o.Epochs, o.Dropped = 2, dropped
					o.OnEpoch = func(e EpochStats) error { got = e.Usage.Peer; return nil }
				})
				r := run(t, tr)
				want := 2 * (parts - 1) * 4 * len(tr.Weights.Flat)
				for l := range m.Layers {
					forward, backward := readRows(p, part, dropped, m.Layers, l)
					if tr.plan.Layers[l].Returns { // a row from each part that read one
						backward = forward
					}
					want += 4 * (forward*exchanged(tr, l, gnn.Forward) + backward*exchanged(tr, l, gnn.Backward))
				}
				if int(got) != want || got >= last {
					t.Errorf("%s, directed %t, %g dropped: %d bytes per epoch, want %d, with less dropped %d", kind,
						directed, share, got, want, last)
				}
				if last = got; (r.HaloRows == 0) != (share == 1) {
					t.Errorf("%s, directed %t, %g dropped: %d halo rows", kind, directed, share, r.HaloRows)
				}
			}
		}
	}
}

// readRows returns the number of (part, remote vertex) pairs whose rows a layer reads forward and backward, by
// definition.
func readRows(p *learn.Problem, part []int32, dropped [][]graph.NodeID, layers, layer int) (forward, backward int) {
	drops := map[[2]int32]bool{}
	for i, ids := range dropped {
		for _, u := range ids {
			drops[[2]int32{int32(i), u}] = true
		}
	}
	needed := make([]bool, p.Vertices()) // as output of a layer, from the last one down
	for v := range needed {
		needed[v] = p.Trains(graph.NodeID(v))
	}
	for l := layers - 1; l > layer; l-- {
		below := slices.Clone(needed)
		for v, yes := range needed {
			for _, u := range p.Graph.Row(v) {
				below[u] = below[u] || yes && !drops[[2]int32{part[v], u}]
			}
		}
		needed = below
	}
	if layer == 0 { // it keeps every edge
		clear(drops)
	}
	in, out := map[[2]int32]bool{}, map[[2]int32]bool{}
	for v, yes := range needed {
		for _, u := range p.Graph.Row(v) {
			if yes && part[u] != part[v] && !drops[[2]int32{part[v], u}] {
				in[[2]int32{part[v], u}], out[[2]int32{part[u], int32(v)}] = true, true
			}
		}
	}
	return len(in), len(out)
}

// A pruned epoch takes less time than the whole one on simulated devices.
func TestPrunedTakesLess(t *testing.T) {
	const parts = 3
	for _, kind := range kinds(t) {
		p, m := task{share: 0.3}.make(t, kind)
		part := scatterParts(p.Vertices(), parts)
		epoch := func(share float64) time.Duration {
			s, err := Simulate(context.Background(), p, Options{
				Training: Training{Model: netOf(m), Optimizer: gnn.Optimizer{Kind: gnn.Adam, LR: 0.01}},
				Devices:  simulated(t, parts, nil), Part: part, Dropped: dropReplicas(p.Graph, part, parts, share),
			}, nil)
			if err != nil {
				t.Fatal(err)
			}
			return s.Epoch
		}
		whole, half, all := epoch(0), epoch(0.5), epoch(1)
		if half >= whole || all >= half {
			t.Errorf("%s: %v, without half of the replicas %v, without any %v", kind, whole, half, all)
		}
	}
}
