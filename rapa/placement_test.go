package rapa

import (
	"math/rand/v2"
	"slices"
	"testing"

	"capgnn/graph"
)

// TestPlacementAgainstCount moves random vertices and compares the kept counts, and Count, with those of the naive twin.
func TestPlacementAgainstCount(t *testing.T) {
	r := rand.New(rand.NewPCG(5, 5))
	for name, g := range shapes(t) {
		n := g.Rows()
		if n < 16 {
			continue
		}
		const parts = 4
		d := NewDirections(g)
		part := randomParts(n, parts, 3)
		p := newPlacement(d, part, parts)
		delta := make([]Counts, parts)
		for range 60 {
			v, to := graph.NodeID(r.IntN(n)), r.Int32N(parts)
			if p.part[v] == to {
				continue
			}
			gain := p.gain(v, to)
			before := outer(p.counts)
			p.change(v, to, delta)
			p.move(v, to, delta)
			x := &naive{g: g, part: p.part, costs: make([]PartCost, parts), dropped: make([]map[graph.NodeID]bool, parts)}
			want := x.count()
			if !slices.Equal(p.counts, want) {
				t.Fatalf("%s: vertex %d to part %d: counts %+v, want %+v", name, v, to, p.counts, want)
			}
			if got, err := Count(d, p.part, parts); err != nil || !slices.Equal(got, want) {
				t.Fatalf("%s: Count is %+v (%v), want %+v", name, got, err, want)
			}
			if before-outer(p.counts) != gain {
				t.Fatalf("%s: vertex %d to part %d gains %d, said %d", name, v, to, before-outer(p.counts), gain)
			}
		}
		if slices.Equal(p.part, part) {
			t.Errorf("%s: nothing moved", name)
		}
	}
}

// outer returns the cut edges, each direction counted.
func outer(counts []Counts) (sum int64) {
	for _, c := range counts {
		sum += c.Outer
	}
	return sum
}
