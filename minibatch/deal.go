package minibatch

import (
	"math"

	"capgnn/graph"
)

// dealer says which part computes which roots of a step, where that is their home's. It is a function of the step's roots, in their order, alone.
type dealer struct {
	home   []int32   // of every vertex
	target []float64 // by part: its share of a step's roots; they add up to 1

	count []int          // by part: scratch, as all that follows
	to    []int32        // by root: its group
	list  []graph.NodeID // of a step
}

// newDealer returns the dealer for parts with some shares of a step's roots; nil: equal ones.
func newDealer(home []int32, parts int, shares []float64) *dealer {
	d := &dealer{home: home, target: make([]float64, parts), count: make([]int, parts)}
	sum := 0.0
	for _, s := range shares {
		sum += s
	}
	for part := range d.target {
		d.target[part] = 1 / float64(parts)
		if shares != nil {
			d.target[part] = shares[part] / sum
		}
	}
	return d
}

// beyond is what a part may have beyond its target. A step takes as long as its slowest part, but a root that is moved has its neighbours fetched.
const beyond = 0.05

// limit returns how many of a step's n roots a part has at most: its target and what may be beyond it, or the next whole number.
func (d *dealer) limit(n, part int) int {
	const rounding = 1e-9
	target := float64(n) * d.target[part]
	return max(int(target*(1+beyond)+rounding), int(math.Ceil(target-rounding)))
}

// atHome gives roots to their homes. What a home has beyond its limit, the last ones in order, goes to the parts that have least of their targets. The roots of each part
// then lie together, in part order, and in their order; ends says where each part's end.
func (d *dealer) atHome(roots []graph.NodeID, ends []int) {
	clear(d.count)
	d.to = d.to[:0]
	const nowhere = -1
	for _, v := range roots {
		part := d.home[v]
		if d.count[part] == d.limit(len(roots), int(part)) {
			part = nowhere
		} else {
			d.count[part]++
		}
		d.to = append(d.to, part)
	}
	for i, part := range d.to {
		if part == nowhere {
			part = d.emptiest()
			d.count[part]++
			d.to[i] = part
		}
	}
	d.group(roots, ends)
}

// emptiest returns the part that has least of its target, the first of those.
func (d *dealer) emptiest() int32 {
	best, least := 0, math.Inf(1)
	for part, n := range d.count {
		if filled := float64(n) / d.target[part]; d.target[part] > 0 && filled < least {
			best, least = part, filled
		}
	}
	return int32(best)
}

// group puts the roots of each group together, and writes where each group ends.
func (d *dealer) group(roots []graph.NodeID, ends []int) {
	clear(ends)
	for _, k := range d.to {
		ends[k]++
	}
	sum := 0
	for k, n := range ends { // to where groups begin; they end where their last root is put
		ends[k] = sum
		sum += n
	}
	d.list = append(d.list[:0], roots...)
	for i, k := range d.to {
		roots[ends[k]] = d.list[i]
		ends[k]++
	}
}
