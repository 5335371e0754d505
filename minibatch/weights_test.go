package minibatch

import (
	"math"
	"math/rand/v2"
	"testing"

	"capgnn/gpu"
	"capgnn/gpu/host"
	"capgnn/graph"
	"capgnn/graph/synth"
	"capgnn/internal/learn"
	"capgnn/internal/named"
)

// The entries of sampled blocks, transposed ones too, weigh what the edges weigh. Sums over k of n neighbours count n/k times, but for loops that are added, which
// weigh 1, or what the loop weighs that is there.
func TestWeightsOfBlocks(t *testing.T) {
	g, err := synth.Random(300, 3000, true, 4)
	if err != nil {
		t.Fatal(err)
	}
	r := rand.New(rand.NewPCG(1, 7))
	for range g.Indices {
		g.Weights = append(g.Weights, float32(1+r.IntN(200))/64)
	}
	for _, kind := range []named.Kind{named.GCN, named.SAGE} {
		p := &learn.Problem{Graph: g, Classes: 3, Labels: make([]int32, 300), Train: make([]bool, 300), Loops: graph.LoopsRemoved}
		if kind.Symmetric() {
			p.Loops = graph.LoopsAdded
		}
		p.Features.Cols, p.Features.Dense = 4, make([]float32, 1200)
		for v := range p.Train {
			p.Train[v] = v%4 == 0
		}
		o := Options{
			Training: Training{Model: netOf(named.Model{Kind: kind, Layers: 2, Hidden: 8, In: 4, Out: 3})},
			Devices:  devices(t, 1, host.Spec{}), Sampling: Sampling{BatchSize: 20, Fanout: []int{3, 4}},
		}
		o.setDefaults()
		roots := newRoots(p, &o)
		d, err := newDesign(t.Context(), p, &o, roots)
		if err != nil {
			t.Fatal(err)
		}
		x, stage := sampledUnit{group: new(group)}, d.stageOf(p, &o, 0)
		stage.shares = false
		if err := stage.fill(d.sampler(p), &x, 0); err != nil {
			t.Fatal(err)
		}
		defer x.close()
		mem, ids, scaled, loops := x.mem.Bytes(), x.stack.IDs, 0, 0
		for l := range stage.blockUses {
			block, b := &x.layout.layers[l], &x.stack.Blocks[stage.blockUses[l].hop]
			weight := func(u, v int32) float64 {
				w := float64(g.Weight(ids[u], ids[v]))
				if u == v {
					loops++
				}
				if ratio := b.Ratio[v]; ratio != 1 && (u != v || p.Loops == graph.LoopsRemoved) {
					scaled++
					w *= float64(ratio)
				}
				return w
			}
			check := func(c gpu.CSR, turned bool) {
				begin, indices, values := ptr(mem, c), on(mem, c.Indices), on(mem, c.Val)
				for row := range int32(c.Rows) {
					for e := begin[row]; e < begin[row+1]; e++ {
						u, v := indices[e], row
						if turned {
							u, v = v, u
						}
						row := float64(b.Ratio[v]) // which is in the scale of the row
						if got, want := float64(values[e])*row, weight(u, v); !(math.Abs(got-want) <= 1e-6*want) {
							t.Fatalf("%s, layer %d, turned %t: edge %d → %d weighs %g, want %g", kind, l, turned, ids[u], ids[v], got, want)
						}
					}
				}
			}
			check(block.Forward.Inner, false)
			if stage.blockUses[l].spreads {
				check(block.Backward.Inner, true)
			}
		}
		if scaled == 0 || (loops > 0) != kind.Symmetric() {
			t.Errorf("%s: %d scaled entries, %d loops: the test shows nothing", kind, scaled, loops)
		}
	}
}
