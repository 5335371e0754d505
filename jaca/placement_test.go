package jaca

import (
	"math"
	"math/bits"
	"testing"

	"capgnn/gpu"
	"capgnn/graph"
)

// draw is a stream of random numbers.
type draw struct{ seed, n uint64 }

func (d *draw) below(n int) int {
	d.n++
	w := gpu.Philox([4]uint32{uint32(d.n), uint32(d.n >> 32)}, gpu.SeedKey(d.seed))
	return int((uint64(w[0]) * uint64(n)) >> 32)
}

// tiny draws an exchange in which up to rows vertices have random owners, readers and edges.
func tiny(d *draw, parts, rows int) Exchange {
	x := Exchange{Layer: 1, RowBytes: 8, Halos: make([]Halo, parts)}
	type row struct{ owner, readers int }
	all := make([]row, rows)
	for v := range all {
		owner := d.below(parts)
		all[v] = row{owner, (1 + d.below(1<<parts-1)) &^ (1 << owner)}
	}
	for i := range x.Halos {
		h := &x.Halos[i]
		for o := range parts {
			h.Owner = append(h.Owner, len(h.IDs))
			for v, r := range all {
				if r.owner == o && r.readers>>i&1 == 1 {
					h.IDs = append(h.IDs, graph.NodeID(v))
					h.Edges = append(h.Edges, int32(1+d.below(4)))
				}
			}
			h.Count = append(h.Count, len(h.IDs)-h.Owner[o])
		}
		h.Owner = append(h.Owner, len(h.IDs))
	}
	return x
}

// randomLinks draws equal rates, rates by device, or these with peer access for some pairs.
func randomLinks(d *draw, parts int) Links {
	var l Links
	kind := d.below(3)
	if kind == 0 {
		return l
	}
	for range parts {
		l.H2D = append(l.H2D, float64(1+d.below(6)))
		l.D2H = append(l.D2H, float64(1+d.below(6)))
	}
	if kind == 1 {
		return l
	}
	for range parts {
		var p []float64
		for range parts {
			p = append(p, float64(max(0, d.below(10)-4)))
		}
		l.Peer = append(l.Peer, p)
	}
	return l
}

// leastCost tries every placement: all sets of global rows, and for each all sets of local rows of each part, which do not
// depend on one another. It prices them row by row with the table of DESIGN.md 7.
func leastCost(x *Exchange, l *Links, caps *Capacities, p float64) float64 {
	ids, r := Overlap(x)
	n := len(ids)
	owner := make([]int, n)
	rows := make([][]int, len(x.Halos)) // of each part
	at := map[graph.NodeID]int{}
	for k, v := range ids {
		at[v] = k
	}
	for i := range x.Halos {
		x.Halos[i].each(func(o, k int) {
			row := at[x.Halos[i].IDs[k]]
			owner[row] = o
			rows[i] = append(rows[i], row)
		})
	}
	least := math.Inf(1)
	for g := range 1 << n {
		if bits.OnesCount(uint(g)) > caps.Global {
			continue
		}
		sum := 0.0
		for i := range x.Halos {
			best := math.Inf(1)
			for loc := range 1 << len(rows[i]) {
				if bits.OnesCount(uint(loc)) > caps.Local[i] {
					continue
				}
				cost := 0.0
				for k, row := range rows[i] {
					h, d := l.h2d(i), l.d2h(owner[row])
					direct := h + d
					if l.Peer != nil && l.Peer[owner[row]][i] > 0 {
						direct = min(direct, l.Peer[owner[row]][i])
					}
					switch global, local := g>>row&1 == 1, loc>>k&1 == 1; {
					case global && local:
						cost += h/p + d/(p*float64(r[row]))
					case local:
						cost += direct / p
					case global:
						cost += h + d/(p*float64(r[row]))
					default:
						cost += direct
					}
				}
				best = min(best, cost)
			}
			sum += best
		}
		least = min(least, sum)
	}
	return least
}

// TestPlacementOptimal compares placements with the best of all of tiny instances. What is proven must hold always: no less
// than the optimum, and at least half of its saving where there is no peer access. How often the optimum is met is counted.
func TestPlacementOptimal(t *testing.T) {
	d := &draw{seed: 1}
	met, worst, total := 0, 1.0, 0
	for range 4000 {
		parts := 2 + d.below(3)
		x := tiny(d, parts, 1+d.below(7))
		l := randomLinks(d, parts)
		caps := &Capacities{Global: d.below(6), Local: make([]int, parts)}
		for i := range caps.Local {
			caps.Local[i] = d.below(5)
		}
		p := 1 + d.below(5)
		ix := newIndex(&x)
		c := newCosts(ix, parts, p, &l)
		nothing, got, want := c.total(newPlacement(&x, ix)), c.total(place(&x, ix, c, caps)), leastCost(&x, &l, caps, float64(p))
		const eps = 1e-9
		if got < want-eps {
			t.Fatalf("cost %g is below the least possible %g", got, want)
		}
		total++
		if got <= want+eps {
			met++
		} else {
			worst = min(worst, (nothing-got)/(nothing-want))
		}
		if l.Peer == nil && (nothing-got) < (nothing-want)/2-eps {
			t.Errorf("saving %g of %g", nothing-got, nothing-want)
		}
	}
	t.Logf("optimal in %d of %d, worst share of the possible saving %.3f", met, total, worst)
}
