package rapa

import (
	"context"

	"capgnn/graph"
)

// regionSweeps bounds the passes of label propagation, which end when a twentieth of the labels change.
const regionSweeps = 4

// communities groups the vertices of part a that hold together.
//
// Returns: a label per vertex of the part, the id of some vertex; equal labels are a group. limit is the largest share of the
// part's rows and edges that a group holds, unless a single vertex holds more.
//
// Method: label propagation. Every vertex starts as a group of its own and then, in the order of ids, joins the group with
// room in which it has most neighbours; regionSweeps times at most.
//
// Source: Meyerhenke, Sanders and Schulz, "Partitioning complex networks via size-constrained clustering", 2014.
func communities(d Directions, part []int32, a int32, limit float64) []int32 {
	n := len(part)
	c := &clustering{d: d, part: part, a: a, label: make([]int32, n), size: make([]int64, n), near: make([]int32, n)}
	total := int64(0)
	for v, p := range part {
		if p == a {
			c.label[v], c.size[v] = int32(v), c.sizeOf(graph.NodeID(v))
			c.members = append(c.members, graph.NodeID(v))
			total += c.size[v]
		}
	}
	c.limit = int64(limit * float64(total))
	for range regionSweeps {
		if c.sweep() <= len(c.members)/20 {
			break
		}
	}
	return c.label
}

// clustering is the state of communities. Other parts' labels are not read.
type clustering struct {
	d       Directions
	part    []int32
	a       int32
	members []graph.NodeID
	label   []int32
	size    []int64 // by label: rows and edges of the group
	near    []int32 // by label, zero between vertices
	limit   int64
}

func (c *clustering) sizeOf(v graph.NodeID) int64 { return 1 + int64(len(c.d.In.Row(int(v)))) }

// sweep lets every vertex choose anew and returns how many did.
func (c *clustering) sweep() int {
	moved := 0
	for _, v := range c.members {
		own := c.sizeOf(v)
		if to := c.strongest(v, own); to != c.label[v] {
			c.size[c.label[v]] -= own
			c.size[to] += own
			c.label[v] = to
			moved++
		}
	}
	return moved
}

// strongest returns the label that most neighbours of v have, of those with room and its own. Of equals it is the one that
// comes to that number first.
func (c *clustering) strongest(v graph.NodeID, own int64) int32 {
	best := c.label[v]
	rows := [2][]graph.NodeID{c.d.In.Row(int(v))}
	if !c.d.symmetric() {
		rows[1] = c.d.Out.Row(int(v))
	}
	for _, row := range rows {
		for _, w := range row {
			if c.part[w] != c.a || w == v {
				continue
			}
			l := c.label[w]
			if c.near[l]++; l != best && c.near[l] > c.near[best] && c.size[l]+own <= c.limit {
				best = l
			}
		}
	}
	for _, row := range rows {
		for _, w := range row {
			if c.part[w] == c.a {
				c.near[c.label[w]] = 0
			}
		}
	}
	return best
}

// region is a group of vertices of a part.
type region []graph.NodeID

// regions returns the communities of part a, none of them larger than the reach says, by their first member.
func (r *rebalancer) regions(a int32) []region {
	var out []region
	label := communities(r.d, r.part, a, r.tooMuch(a)/r.reach().division())
	at := make([]int32, len(r.part)) // by label: its place in out, plus one
	for v, p := range r.part {
		if p != a {
			continue
		}
		l := label[v]
		if at[l] == 0 {
			out = append(out, nil)
			at[l] = int32(len(out))
		}
		out[at[l]-1] = append(out[at[l]-1], graph.NodeID(v))
	}
	return out
}

// tooMuch returns the share of part a above the mean cost or above its memory, whichever is more.
func (r *rebalancer) tooMuch(a int32) float64 {
	n := r.counts[a]
	over := 1 - r.mean/r.cost[a]
	if lack := r.opt.Memory.short(int(a), n); lack > 0 {
		over = max(over, float64(lack)/float64(r.opt.Memory.Footprint.Of(n)))
	}
	return over
}

// regionPatience is the number of regions that may move in a row without a better state.
const regionPatience = 8

// drainRegions moves regions out of part a, and undoes what did not pay.
//
// Method: as drain, with regions in place of vertices; but they wait by what the other parts pay for each unit of cost, or
// byte, that a is relieved of, which is found by moving them and back. They go where they gain most edges of cut, of the
// parts that they do not lift above the mean.
//
// Why: a vertex in the midst of a community is never worth moving, the community may be. Partitions that are good have
// hardly anything else at their borders.
func (r *rebalancer) drainRegions(ctx context.Context, a int32) error {
	best, kept, patience := r.price(), 0, regionPatience
	r.log = r.log[:0]
	list := r.regions(a)
	waiting := keyHeap{keyTable: newKeyTable(len(list))}
	for i, g := range list {
		if ctx.Err() != nil {
			return ctx.Err()
		}
		if _, key, ok := r.trial(g, a); ok {
			waiting.set(int32(i), key)
		}
	}
	for waiting.len() > 0 && r.over(a) && patience > 0 && ctx.Err() == nil {
		i := waiting.pop()
		to, key, ok := r.trial(list[i], a)
		switch {
		case !ok:
			continue
		case key > waiting.key[i] && waiting.len() > 0 && key > waiting.key[waiting.top()]:
			waiting.set(i, key)
			continue
		}
		r.shift(list[i], a, to)
		if now := r.price(); now.below(best, 0) {
			best, kept, patience = now, len(r.log), regionPatience
		} else {
			patience--
		}
	}
	r.undo(kept)
	return ctx.Err()
}

// shift moves a region from part a to another.
func (r *rebalancer) shift(g region, a, to int32) {
	for _, v := range g {
		r.change(v, to, r.delta)
		r.move(v, to, r.delta)
		r.log = append(r.log, transfer{v, a})
	}
}

// trial returns where a region of part a may go and what the other parts then pay for each unit that a is relieved of; not
// ok if it may go nowhere or relieves a of nothing.
func (r *rebalancer) trial(g region, a int32) (to int32, key float64, ok bool) {
	to = r.destination(g, a)
	if to < 0 || int64(len(g)) == r.counts[a].Inner {
		return to, 0, false
	}
	total, cost, fits := r.mean*float64(r.parts), r.cost[a], r.fits(a)
	lack, mark := r.opt.Memory.short(int(a), r.counts[a]), len(r.log)
	r.shift(g, a, to)
	r.price()
	relief := cost - r.cost[a]
	harm := r.mean*float64(r.parts) - total + relief
	ok = r.fits(to) && r.fits(a)
	if !fits {
		relief = float64(lack - r.opt.Memory.short(int(a), r.counts[a]))
		ok = r.fits(to)
	}
	r.undo(mark)
	return to, harm / relief, ok && relief > 0
}

// destination returns the part, of those that a region of part a does not lift above the mean, in which it has most
// neighbours; -1 if there is none. Ties go to the cheaper part, then to the lower index.
func (r *rebalancer) destination(g region, a int32) int32 {
	sum := make([]int64, r.parts)
	var size Counts
	for _, v := range g {
		readers, read := r.readersOf(v), r.readOf(v)
		size.Inner++
		for q := range sum {
			sum[q] += int64(readers[q]) + int64(read[q])
			size.Edges += int64(read[q])
		}
	}
	to := int32(-1)
	for q, c := range r.costs {
		q := int32(q)
		own := c.PerInner*float64(size.Inner) + c.PerEdge*float64(size.Edges)
		if q == a || r.cost[q]+own > r.mean && r.fits(a) {
			continue
		}
		if to < 0 || sum[q] > sum[to] || sum[q] == sum[to] && r.cost[q] < r.cost[to] {
			to = q
		}
	}
	return to
}
