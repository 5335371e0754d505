package jaca

// dual returns a lower bound of the cost of any placement, by Lagrangian relaxation: each slot has a price in place of a limit on
// their number, so each row is decided on its own; the value of all slots at these prices is subtracted.
//
//	Σ_v min(Σ_i min(direct, direct/p + λ_i), μ + d2h/p + Σ_i min(h2d, h2d/p + λ_i)) − μ·C − Σ_i λ_i·C_i  for any μ, λ ≥ 0
//
// and, of rows that cross, min(src/p + Σ_i (h2d/p + λ_i), src + Σ_i min(h2d, h2d/p + λ_i), μ + src/p + Σ_i min(h2d, h2d/p + λ_i)) in place of that (Crossing).
//
// λ is the price of local slots by part and μ that of global ones. want and wantGlobal are how many slots rows take at these prices.
func (c *costs) dual(caps *Capacities, local []float64, global float64) (bound float64, want []int, wantGlobal int) {
	bound = -global * float64(caps.Global)
	for i, price := range local {
		bound -= price * float64(caps.Local[i])
	}
	want = make([]int, len(local))
	for r := range c.ix.ids {
		o := c.ix.owner[r]
		if c.crossing.far(o) {
			without, with, all := c.crossingPriced(r, local)
			if with += global; with < without {
				wantGlobal++
			}
			bound += min(without, with)
			for k := c.ix.at[r]; k < c.ix.at[r+1]; k++ {
				i := c.ix.part[k]
				if h := c.links.h2d(int(i)); all && with >= without || h/c.p+local[i] < h {
					want[i]++
				}
			}
			continue
		}
		without, with := 0.0, global+c.links.d2h(int(o))/c.p
		for k := c.ix.at[r]; k < c.ix.at[r+1]; k++ {
			i := c.ix.part[k]
			direct, h := c.direct(o, i), c.links.h2d(int(i))
			without += min(direct, direct/c.p+local[i])
			with += min(h, h/c.p+local[i])
		}
		bound += min(without, with)
		if with < without {
			wantGlobal++
		}
		for k := c.ix.at[r]; k < c.ix.at[r+1]; k++ {
			i := c.ix.part[k]
			x := c.direct(o, i)
			if with < without {
				x = c.links.h2d(int(i))
			}
			if x/c.p+local[i] < x {
				want[i]++
			}
		}
	}
	return bound, want, wantGlobal
}

// proven reports whether a placement of that cost is known to be optimal: the dual of its own prices is as high.
func (c *costs) proven(x *Exchange, caps *Capacities, s *placement, cost float64) bool {
	price := c.prices(x, s)
	global := 0.0 // what one global slot more would save
	for r := range c.ix.ids {
		if !s.global[r] {
			global = max(global, c.pricedSaving(r, price))
		}
	}
	bound, _, _ := c.dual(caps, price, global)
	return cost <= bound+rounding*cost
}

// rounding bounds the relative error of a sum of positive numbers: 2^-53 per addition, for 2^21 of them.
const rounding = 2.4e-10
