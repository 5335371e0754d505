package minibatch

import (
	"math"
	"slices"

	"capgnn/graph"
)

// dealer says which part computes which roots of a step, and with Hop in which of its time steps, where that depends on their homes. It is a function of the step's
// roots, in their order, alone.
type dealer struct {
	home   []int32   // of every vertex
	target []float64 // by part: its share of a step's roots; they add up to 1

	count []int          // by part, or by time step: scratch, as all that follows
	to    []int32        // by root: its group
	list  []graph.NodeID // of a step
	// Of byModel.
	others []int32 // time steps that are left
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

// byModel has each model come by the homes of its roots (HopGNN, section 5.1). Model d is the part d's share of the batch; models[i] is that of root i. At time step τ part
// s computes those roots of model s−τ (modulo the parts) whose home it is. Then as many time steps as merged are dropped, one after another: the one with the fewest
// roots, the first of those. Each model's roots of it are dealt out to the others, in turn (section 5.3). What is left of a part's time steps are its first units. The roots of
// each lie together, by part, by unit and in their order; ends says where each ends, and steps which time steps they are: dropped, if that has no unit.
func (d *dealer) byModel(roots []graph.NodeID, models []int32, merged int, ends []int, steps []int32) {
	parts := int32(len(d.target))
	clear(d.count)
	d.others = d.others[:0]
	for step := range parts {
		d.others = append(d.others, step)
	}
	d.to = d.to[:0] // the time step, at first
	for i, v := range roots {
		step := (d.home[v] - models[i] + parts) % parts
		d.to = append(d.to, step)
		d.count[step]++
	}
	for range merged {
		d.merge(models)
	}
	for i, step := range d.to {
		unit, _ := slices.BinarySearch(d.others, step)
		d.to[i] = (models[i]+step)%parts*parts + int32(unit)
	}
	for k := copy(steps, d.others); k < len(steps); k++ {
		steps[k] = dropped
	}
	d.group(roots, ends)
}

// dropped is the time step of a unit that has none.
const dropped = -1

// merge drops a time step.
func (d *dealer) merge(models []int32) {
	least := d.others[0]
	for _, step := range d.others {
		if d.count[step] < d.count[least] {
			least = step
		}
	}
	d.others = slices.DeleteFunc(d.others, func(step int32) bool { return step == least })
	turn, of := 0, int32(-1)
	for i, step := range d.to {
		if step != least {
			continue
		}
		if models[i] != of { // their roots lie together
			turn, of = int(models[i]), models[i] // so that what does not divide evenly is not all the first step's
		}
		d.to[i] = d.others[turn%len(d.others)]
		d.count[d.to[i]]++
		turn++
	}
}
