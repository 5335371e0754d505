package jaca

import (
	"math"
	"math/bits"
	"slices"
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
			lo := len(h.IDs)
			for v, r := range all {
				if r.owner == o && r.readers>>i&1 == 1 {
					h.IDs = append(h.IDs, graph.NodeID(v))
					h.Edges = append(h.Edges, int32(1+d.below(4)))
				}
			}
			if h.Owners.Append(o, len(h.IDs)); len(h.IDs) > lo {
				h.Count = append(h.Count, len(h.IDs)-lo)
			}
		}
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
// depend on one another. It prices them row by row with the table of docs/caching.md.
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
			owner[row] = int(x.Halos[i].Owners.Parts[o])
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
// than the optimum, and at least half of its saving where there is no peer access. The optimum must be met in 99.9 % of the
// instances, and 95 % of its saving in all.
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
		c := newCosts(ix, &Options{Period: p, Links: l})
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
	if met < total*999/1000 || worst < 0.95 {
		t.Errorf("optimal in %d of %d, worst share %.3f", met, total, worst)
	}
}

// TestBest compares the selection with a full sort, ties included.
func TestBest(t *testing.T) {
	d := &draw{seed: 8}
	for range 500 {
		list := make([]candidate, d.below(40))
		for k := range list {
			list[k] = candidate{float64(d.below(3)), d.below(2) == 1, int64(d.below(3)), int32(k), int32(k)}
		}
		sorted := slices.Clone(list)
		slices.SortFunc(sorted, func(a, b candidate) int {
			if a.before(&b) {
				return -1
			}
			return 1
		})
		n := d.below(45)
		got := slices.Clone(best(list, n))
		want := sorted[:min(n, len(sorted))]
		for _, x := range want {
			if !slices.Contains(got, x) || len(got) != len(want) {
				t.Fatalf("best %d: %v, want %v", n, got, want)
			}
		}
	}
}

// bestBound raises the bound by subgradient steps from the placement's prices.
func bestBound(c *costs, caps *Capacities, local []float64, global float64) float64 {
	best, step := math.Inf(-1), 0.3
	for range 150 {
		bound, want, wantGlobal := c.dual(caps, local, global)
		best = max(best, bound)
		n := float64(len(c.ix.ids))
		for i := range local {
			local[i] = max(0, local[i]+step*5*float64(want[i]-caps.Local[i])/n)
		}
		global = max(0, global+step*5*float64(wantGlobal-caps.Global)/n)
		step *= 0.96
	}
	return best
}

// TestPlacementGap bounds how far the placement of a published graph is from the optimum, over capacities and links, by the
// dual of the problem.
func TestPlacementGap(t *testing.T) {
	xs := exchangesOf(t, "heterophilous/tolokers.npz", 4)
	x := &xs[0]
	ix := newIndex(x)
	unequal := Links{H2D: []float64{1, 1.1, 2, 4}, D2H: []float64{1, 1.3, 2, 5}}
	peers := unequal
	peers.Peer = [][]float64{{0, 0.5, 0, 0}, {0.5, 0, 0, 0}, {0, 0, 0, 3}, {0, 0, 3, 0}}
	worst := 0.0
	for _, l := range []Links{{}, unequal, peers} {
		for _, percent := range []float64{20, 45, 70} {
			caps, err := Capacity(xs, Memory{Local: Percent(percent), Global: Percent(percent)})
			if err != nil {
				t.Fatal(err)
			}
			c := newCosts(ix, &Options{Period: 5, Links: l})
			s := place(x, ix, c, caps)
			prices := c.prices(x, s)
			var savings []float64
			for r := range ix.ids {
				savings = append(savings, max(0, c.pricedSaving(r, prices)))
			}
			slices.Sort(savings)
			bound := math.Inf(-1)
			for _, global := range []float64{0, savings[max(0, len(savings)-1-caps.Global)]} {
				bound = max(bound, bestBound(c, caps, slices.Clone(prices), global), bestBound(c, caps, make([]float64, 4), global))
			}
			cost := c.total(s)
			gap := (cost - bound) / c.total(newPlacement(x, ix))
			t.Logf("links %v, %g %%: cost %.6g, at least %.6g: within %.2g %% of the time without caches", l, percent, cost, bound, 100*gap)
			worst = max(worst, gap)
		}
	}
	if worst > 0.005 {
		t.Errorf("the placement may be %.2g %% off", 100*worst)
	}
}
