package jaca

import (
	"math"
	"math/bits"
	"strings"
	"testing"
)

// tinyCrossing draws an exchange of three or four parts as rank 0 sees it, which has all parts but the last one or two.
func tinyCrossing(d *draw) (Exchange, *Options, *Capacities) {
	parts := 3 + d.below(2)
	o := &Options{Period: 1 + d.below(4), Links: randomLinks(d, parts), Crossing: &Crossing{Of: make([]int, parts)}}
	for i := range o.Crossing.Of {
		o.Crossing.Of[i] = i / 2
	}
	if d.below(2) == 0 {
		o.Crossing.Seconds = []float64{math.NaN(), float64(d.below(9))}
	}
	x := tiny(d, parts, 1+d.below(5))
	x = x.ReadBy(0, o.Crossing.Of)
	caps := &Capacities{Global: d.below(5), Local: make([]int, parts)}
	for i := range caps.Local {
		caps.Local[i] = d.below(5)
	}
	return x, o, caps
}

// slotCost prices a placement by the tables of docs/caching.md, row by row.
func slotCost(ix *index, o *Options, global int, local func(k int32) bool) float64 {
	sum := 0.0
	for r := range ix.ids {
		owner, has, all := int(ix.owner[r]), global>>r&1 == 1, true
		p, far := float64(o.Period), o.Crossing.Of[owner] != o.Crossing.Rank
		d := o.Links.d2h(owner)
		for k := ix.at[r]; k < ix.at[r+1]; k++ {
			h := o.Links.h2d(int(ix.part[k]))
			cost := h
			if !far && !has {
				cost = h + d
				if o.Links.Peer != nil && o.Links.Peer[owner][ix.part[k]] > 0 {
					cost = min(cost, o.Links.Peer[owner][ix.part[k]])
				}
			}
			if local(k) {
				cost /= p
			} else {
				all = false
			}
			sum += cost
		}
		switch src := 2 * d; {
		case !far && has:
			sum += d / p
		case far:
			if o.Crossing.Seconds != nil {
				src = d + o.Crossing.Seconds[o.Crossing.Of[owner]]
			}
			if has || all {
				src /= p
			}
			sum += src
		}
	}
	return sum
}

// leastCrossing tries every placement.
func leastCrossing(ix *index, o *Options, caps *Capacities) float64 {
	least, places := math.Inf(1), len(ix.part)
	for set := range 1 << places {
		n := make([]int, len(caps.Local))
		for k, i := range ix.part {
			n[i] += set >> k & 1
		}
		fits := true
		for i, c := range caps.Local {
			fits = fits && n[i] <= c
		}
		for g := 0; fits && g < 1<<len(ix.ids); g++ {
			if bits.OnesCount(uint(g)) <= caps.Global {
				least = min(least, slotCost(ix, o, g, func(k int32) bool { return set>>k&1 == 1 }))
			}
		}
	}
	return least
}

// Placements of rows that cross between ranks cost what the table says, never less than the best one, and the bound by which they are proven is none too high.
func TestCrossingPlacement(t *testing.T) {
	d := &draw{seed: 23}
	met, worst, total := 0, 1.0, 0
	for range 1500 {
		x, o, caps := tinyCrossing(d)
		ix := newIndex(&x)
		c := newCosts(ix, o)
		s := place(&x, ix, c, caps)
		set := 0
		for r, g := range s.global {
			if g {
				set |= 1 << r
			}
		}
		got, want := c.total(s), leastCrossing(ix, o, caps)
		if by := slotCost(ix, o, set, func(k int32) bool { return s.local[ix.part[k]][ix.halo[k]] }); math.Abs(by-got) > 1e-9 {
			t.Fatalf("a placement costs %g, the table says %g", got, by)
		}
		nothing := c.total(newPlacement(&x, ix))
		if got < want-1e-9 || got > nothing+1e-9 {
			t.Fatalf("cost %g, the least possible is %g, without slots %g", got, want, nothing)
		}
		prices := make([]float64, len(caps.Local))
		for i := range prices {
			prices[i] = float64(d.below(5)) / 2
		}
		if bound, _, _ := c.dual(caps, prices, float64(d.below(5))/2); bound > want+1e-9 {
			t.Fatalf("the dual is %g, the least possible cost %g", bound, want)
		}
		if total++; got <= want+1e-9 {
			met++
		} else {
			worst = min(worst, (nothing-got)/(nothing-want))
		}
	}
	t.Logf("optimal in %d of %d, worst share of the possible saving %.3f", met, total, worst)
	if met < total*99/100 || worst < 0.75 {
		t.Errorf("optimal in %d of %d, worst share %.3f", met, total, worst)
	}
}

// A row that crosses has one class for all its readers with a slot, behind the classes of others.
func TestCrossingClasses(t *testing.T) {
	d := &draw{seed: 4}
	for range 300 {
		x, o, caps := tinyCrossing(d)
		p, err := Build([]Exchange{x}, caps, *o)
		if err != nil {
			t.Fatal(err)
		}
		table, of := p.Tables[0], map[int32]int32{}
		if table.Across != o.Period || table.Classes() != 2*o.Period {
			t.Fatalf("%d classes, of them %d of rows that cross", table.Classes(), table.Across)
		}
		for i, r := range table.Readers {
			x.Halos[i].each(func(owner, k int) {
				c, far := r.Class[k], o.Crossing.far(x.Halos[i].Owners.Parts[owner])
				slotted := r.Global[k] >= 0 || int(r.Place[k]) < len(r.Local)
				if slotted != (c >= 0) || slotted && far != (int(c) >= o.Period) || int(c) >= table.Classes() {
					t.Fatalf("part %d, row %d: class %d, crosses %t", i, k, c, far)
				}
				if far && slotted {
					row := int32(x.Halos[i].IDs[k])
					if before, there := of[row]; there && before != c {
						t.Fatalf("row %d has classes %d and %d", row, before, c)
					}
					of[row] = c
				}
			})
		}
	}
}

// What is wrong with ranks is said.
func TestCrossingErrors(t *testing.T) {
	d := &draw{seed: 9}
	x, _, _ := tinyCrossing(d)
	parts := len(x.Halos)
	for want, c := range map[string]*Crossing{
		"ranks of 1 parts": {Of: []int{0}},
		"part 0 is of rank 0, seconds are known from 0": {Of: make([]int, parts), Seconds: []float64{}},
		"a byte takes +Inf s from rank 1":               {Of: make([]int, parts), Seconds: []float64{0, math.Inf(1)}},
	} {
		_, err := Build([]Exchange{x}, &Capacities{Local: make([]int, parts)}, Options{Crossing: c})
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%v, want %s", err, want)
		}
	}
}
