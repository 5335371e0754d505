package gnn

import (
	"math/rand/v2"
	"slices"
	"testing"

	"capgnn/internal/named"
)

// A layer that stays fresh has the order of operations of exact rows; one that does not has that of stale rows (docs/adr/0020). Layers that
// are named decide; without names a layer with a narrow output stays fresh.
func TestChooseFollowsStaleLayers(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	for k := range 300 {
		c := named.Model{Kind: []named.Kind{named.GCN, named.SAGE, named.GIN, named.GAT}[k%4], In: 1 + r.IntN(300), Hidden: 4 * (1 + r.IntN(64)), Out: 1 + r.IntN(60), Layers: 1 + r.IntN(5), Heads: 4}
		s := Shape{FeatureEntries: r.Int64N(1 << 20)}
		for range c.Layers + 1 {
			s.Rows = append(s.Rows, 1+r.Int64N(1<<16))
		}
		for range c.Layers {
			s.Edges, s.Halo, s.BackHalo = append(s.Edges, r.Int64N(1<<20)), append(s.Halo, r.Int64N(1<<14)), append(s.BackHalo, r.Int64N(1<<14))
		}
		stale := []int{}
		for l := 1; l < c.Layers; l++ {
			if r.IntN(2) == 0 {
				stale = append(stale, l)
			}
		}
		ch := Choice{Period: 1 + r.IntN(17)}
		exact, byWidth := Choose(netOf(c), s, Choice{}), Choose(netOf(c), s, ch)
		ch.Stale = stale
		named := Choose(netOf(c), s, ch)
		ch.Stale = []int{}
		if none := Choose(netOf(c), s, ch); none.Mixed() != (c.Layers > 1) {
			t.Errorf("%d: no layer may be stale, fresh ones: %v", k, none.Mixed())
		}
		for l := 1; l < c.Layers; l++ {
			p := named.Layers[l]
			if named.Ages(l) != slices.Contains(stale, l) {
				t.Errorf("%d: layer %d of stale %v: %+v", k, l, stale, p)
			}
			if p.Fresh = false; !named.Ages(l) && p != exact.Layers[l] {
				t.Errorf("%d: fresh layer %d: %+v, of exact rows %+v", k, l, p, exact.Layers[l])
			}
			if named.Ages(l) && !c.Kind.Attends() && !(p.AggregateFirst && p.KeepAggregate) {
				t.Errorf("%d: stale layer %d: %+v is made with old weights", k, l, p)
			}
			// Moving the output both ways in every epoch, against input and output once in a period: narrow is at most 4/3 of it.
			in, out := netOf(c).Width(l)
			if c.Kind.Attends() {
				out = netOf(c).gatWidth(l)
			}
			narrow := float64(2*out) <= 4./3*float64(in+out)/float64(max(4, ch.Period))
			if byWidth.Ages(l) == narrow {
				t.Errorf("%d: layer %d of %d × %d at period %d ages: %v", k, l, in, out, ch.Period, byWidth.Ages(l))
			}
		}
	}
}

// Over blocks, layer 0 reads ÂX or its own features, never rows of other parts, and takes the order that is cheaper without a
// gradient to spread: aggregating first also where the rows that it reads are many times those that it computes.
func TestChooseForBlocks(t *testing.T) {
	wide := Shape{Rows: []int64{100000, 10000, 1000}, Edges: []int64{120000, 12000}, Halo: make([]int64, 2), BackHalo: make([]int64, 2)}
	dense := Shape{Rows: []int64{2000, 1000, 100}, Edges: []int64{25000, 2500}, Halo: make([]int64, 2), BackHalo: make([]int64, 2)}
	transform := LayerPlan{}
	for _, c := range []struct {
		name   string
		kind   named.Kind
		in     int
		shape  Shape
		sparse bool
		choice Choice
		input  InputMode
		first  LayerPlan
	}{
		{"ÂX", named.SAGE, 602, wide, false, Choice{Blocks: true}, Precomputed, aggregateIn},
		{"no ÂX, many rows to read", named.SAGE, 602, wide, false, Choice{Blocks: true, NoPrecompute: true}, Exchanged, aggregateIn},
		{"no ÂX, many entries", named.SAGE, 602, dense, false, Choice{Blocks: true, NoPrecompute: true}, Exchanged, transform},
		{"no ÂX, many entries, narrow features", named.SAGE, 100, dense, false, Choice{Blocks: true, NoPrecompute: true}, Exchanged, aggregateIn},
		{"sparse features", named.GCN, 602, wide, true, Choice{Blocks: true}, Exchanged, transform},
		{"GAT", named.GAT, 602, wide, false, Choice{Blocks: true}, Exchanged, transform},
		{"the same without blocks", named.GAT, 602, wide, false, Choice{}, Replicated, transform},
		{"the same, sparse, without blocks", named.GCN, 602, wide, true, Choice{}, Replicated, transform},
	} {
		c.shape.Sparse = c.sparse
		if c.sparse {
			c.shape.FeatureEntries = 10
		}
		p := Choose(netOf(named.Model{Kind: c.kind, Layers: 2, Hidden: 64, In: c.in, Out: 40, Heads: 4}), c.shape, c.choice)
		if p.Input != c.input || p.Layers[0] != c.first {
			t.Errorf("%s: %v, %+v", c.name, p.Input, p.Layers[0])
		}
	}
}
