package minibatch

import (
	"cmp"
	"math"
	"slices"

	"capgnn/graph"
)

// assigner says which part computes which roots of a step, and with Hop in which of its time steps, where that depends on their homes. It is a function of the step's
// roots, in their order, and of the graph alone.
type assigner struct {
	g      *graph.CSR
	fanout int       // of roots
	home   []int32   // of every vertex
	target []float64 // by part: its share of a step's roots; they add up to 1

	count []int          // by part, or by time step: scratch, as all that follows
	to    []int32        // by root: its group
	list  []graph.NodeID // of a step
	// Of atHome.
	near  []int // by part: neighbours of a root
	moves []move
	// Of byModel.
	others []int32 // time steps that are left
}

// move is a root that may go to another part.
type move struct {
	root int32   // its place among the step's
	lost float64 // how many of the neighbours that it samples would no longer be where it is computed, on average
}

// newAssigner returns the assigner for parts with some shares of a step's roots; nil: equal ones. Each root samples so many neighbours in g.
func newAssigner(g *graph.CSR, fanout int, home []int32, parts int, shares []float64) *assigner {
	d := &assigner{g: g, fanout: fanout, home: home, target: make([]float64, parts), count: make([]int, parts), near: make([]int, parts)}
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
func (d *assigner) limit(n, part int) int {
	const rounding = 1e-9
	target := float64(n) * d.target[part]
	return max(int(target*(1+beyond)+rounding), int(math.Ceil(target-rounding)))
}

// atHome gives roots to their homes, and what a home has beyond its limit to parts with room: the roots that lose the fewest of the neighbours that they sample by it, each
// where it has most of them. The roots of each part then lie together, in part order, and in their order; ends says where each part's end.
func (d *assigner) atHome(roots []graph.NodeID, ends []int) {
	clear(d.count)
	d.to = d.to[:0]
	for _, v := range roots {
		d.to = append(d.to, d.home[v])
		d.count[d.home[v]]++
	}
	for part, n := range d.count {
		if most := d.limit(len(roots), part); n > most {
			d.relieve(roots, int32(part), n-most)
		}
	}
	d.group(roots, ends)
}

// relieve moves so many roots from a part to others. Of two that lose as much the first in order moves.
func (d *assigner) relieve(roots []graph.NodeID, part int32, beyond int) {
	d.moves = d.moves[:0]
	for i, v := range roots {
		if d.home[v] == part {
			best, degree := d.next(len(roots), v), len(d.g.Row(int(v)))
			lost := float64(min(d.fanout, degree)*(d.near[part]-d.near[best])) / float64(max(1, degree))
			d.moves = append(d.moves, move{int32(i), lost})
		}
	}
	slices.SortFunc(d.moves, func(a, b move) int { return cmp.Or(cmp.Compare(a.lost, b.lost), int(a.root-b.root)) })
	for _, m := range d.moves[:beyond] {
		best := d.next(len(roots), roots[m.root])
		d.to[m.root] = best
		d.count[best]++
		d.count[part]--
	}
}

// next returns the part with room, of a step of n roots, that has most of the neighbours of v; of several the one that has least of its target, the first of those.
// There is one while any part is beyond its limit, as limits add up to n at least. It leaves how many neighbours each part has in near.
func (d *assigner) next(n int, v graph.NodeID) int32 {
	clear(d.near)
	for _, u := range d.g.Row(int(v)) {
		d.near[d.home[u]]++
	}
	best, filled := int32(-1), 0.0
	consider := func(part int32) {
		if d.count[part] >= d.limit(n, int(part)) {
			return
		}
		f := float64(d.count[part]) / d.target[part]
		if best < 0 || cmp.Or(d.near[part]-d.near[best], cmp.Compare(filled, f), int(best-part)) > 0 {
			best, filled = part, f
		}
	}
	for _, u := range d.g.Row(int(v)) {
		consider(d.home[u])
	}
	if best >= 0 { // others have none of its neighbours
		return best
	}
	for part := range d.count {
		consider(int32(part))
	}
	return best
}

// group puts the roots of each group together, and writes where each group ends.
func (d *assigner) group(roots []graph.NodeID, ends []int) {
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
// roots, the first of those. Each model's roots of it are assigned to the others, in turn (section 5.3). What is left of a part's time steps are its first units. The roots of
// each lie together, by part, by unit and in their order; ends says where each ends, and steps which time steps they are: dropped, if that has no unit.
func (d *assigner) byModel(roots []graph.NodeID, models []int32, merged int, ends []int, steps []int32) {
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
func (d *assigner) merge(models []int32) {
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
