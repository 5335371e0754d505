package jaca

import (
	"errors"
	"fmt"
	"math"
)

// Crossing describes the rows that the parts of a rank read from other ranks. Such a row is sent once per refresh,
// even if several parts of the rank read it; all of them read it from the rank's host memory.
//
// Costs per row, in seconds per byte and epoch, under period p:
//
//	Σ_i h_i + src·c,  h_i = h2d/p with a local slot in reader i, else h2d;  src = d2h(owner) + Seconds(owner)
//	c = 1/p where the row has a global slot or all readers have local ones, else 1
type Crossing struct {
	Rank    int       // that reads: the parts of others read nothing
	Of      []int     // rank of every part
	Seconds []float64 // by owner's rank: that a byte takes between the two hosts, latency included; nil: as from device to host
}

// far reports whether the rows of an owner cross.
func (x *Crossing) far(owner int32) bool { return x != nil && x.Of[owner] != x.Rank }

// validate says what is wrong with it in a run of so many parts.
func (x *Crossing) validate(parts int) error {
	if x == nil {
		return nil
	}
	var errs []error
	if len(x.Of) != parts {
		return fmt.Errorf("ranks of %d parts, there are %d", len(x.Of), parts)
	}
	for part, rank := range x.Of {
		if rank < 0 || x.Seconds != nil && rank >= len(x.Seconds) {
			errs = append(errs, fmt.Errorf("part %d is of rank %d, seconds are known from %d", part, rank, len(x.Seconds)))
		}
	}
	for rank, s := range x.Seconds {
		if rank != x.Rank && !(s >= 0 && !math.IsInf(s, 0)) {
			errs = append(errs, fmt.Errorf("a byte takes %g s from rank %d", s, rank))
		}
	}
	return errors.Join(errs...)
}

// ReadBy returns the exchange as the parts of a rank see it: those of others read nothing.
func (x *Exchange) ReadBy(rank int, of []int) Exchange {
	y := *x
	y.Halos = make([]Halo, len(x.Halos))
	for i, h := range x.Halos {
		if of[i] != rank {
			h.Count = make([]int, len(h.Count))
		}
		y.Halos[i] = h
	}
	return y
}

// source returns what a byte takes from its owner's device to the readers' host.
func (c *costs) source(owner int32) float64 {
	d := c.links.d2h(int(owner))
	if c.crossing.Seconds == nil {
		return 2 * d
	}
	return d + c.crossing.Seconds[c.crossing.Of[owner]]
}

// crossingTotal returns the cost of a row that crosses, where local says which readers have a local slot.
func (c *costs) crossingTotal(row int, global bool, local func(part, halo int32) bool) float64 {
	all, sum := true, 0.0
	for k := c.ix.at[row]; k < c.ix.at[row+1]; k++ {
		h := c.links.h2d(int(c.ix.part[k]))
		if local(c.ix.part[k], c.ix.halo[k]) {
			h /= c.p
		} else {
			all = false
		}
		sum += h
	}
	src := c.source(c.ix.owner[row])
	if global || all {
		src /= c.p
	}
	return sum + src
}

// crossingPriced returns the least cost of a row that crosses without and with a global slot, where local slots cost their prices; and which readers take one
// then: all, or those for which it pays by itself.
func (c *costs) crossingPriced(row int, prices []float64) (without, with float64, all bool) {
	p, src := c.p, c.source(c.ix.owner[row])
	each, every := 0.0, 0.0
	for k := c.ix.at[row]; k < c.ix.at[row+1]; k++ {
		i := c.ix.part[k]
		h := c.links.h2d(int(i))
		each += min(h, h/p+prices[i])
		every += h/p + prices[i]
	}
	all = src/p+every < src+each
	return min(src/p+every, src+each), src/p + each, all
}

// crossingLocal returns what a local slot saves of a row that crosses: of its source, which is saved where all readers have one, the reader's share.
func (c *costs) crossingLocal(row, reader int, global bool) float64 {
	x := c.links.h2d(reader)
	if !global {
		x += c.source(c.ix.owner[row]) / float64(c.ix.readers(row))
	}
	return x * (1 - 1/c.p)
}
