package gnn

import (
	"math/rand/v2"
	"slices"
	"testing"
)

// A layer that stays fresh has the order of operations of exact rows; one that does not has that of stale rows (docs/adr/0020). Layers that
// are named decide; without names a layer with a narrow output stays fresh.
func TestChooseFollowsStaleLayers(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	for k := range 300 {
		c := Config{Kind: []Kind{GCN, SAGE, GIN, GAT}[k%4], In: 1 + r.IntN(300), Hidden: 4 * (1 + r.IntN(64)), Out: 1 + r.IntN(60), Layers: 1 + r.IntN(5), Heads: 4}
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
		ch := Choice{NoTransformFirst: r.IntN(4) == 0, Period: 1 + r.IntN(17)}
		exact, byWidth := Choose(c, s, Choice{NoTransformFirst: ch.NoTransformFirst}), Choose(c, s, ch)
		ch.Stale = stale
		named := Choose(c, s, ch)
		ch.Stale = []int{}
		if none := Choose(c, s, ch); none.Mixed() != (c.Layers > 1) {
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
			if named.Ages(l) && c.Kind != GAT && !(p.AggregateFirst && p.KeepAggregate) {
				t.Errorf("%d: stale layer %d: %+v is made with old weights", k, l, p)
			}
			// Moving the output both ways in every epoch, against input and output once in a period: narrow is at most 4/3 of it.
			in, out := c.Width(l)
			if c.Kind == GAT {
				out = c.gatWidth(l)
			}
			narrow := float64(2*out) <= 4./3*float64(in+out)/float64(max(4, ch.Period)) && (!ch.NoTransformFirst)
			if byWidth.Ages(l) == narrow {
				t.Errorf("%d: layer %d of %d × %d at period %d ages: %v", k, l, in, out, ch.Period, byWidth.Ages(l))
			}
		}
	}
}
