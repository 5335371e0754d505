package rapa

import (
	"context"

	"capgnn/graph"
)

// drain moves vertices out of part a, and undoes what did not pay.
func (r *rebalancer) drain(ctx context.Context, a int32) error {
	r.fill(a)
	defer r.heap.empty()
	patience := max(100, int(r.counts[a].Inner/8))
	best, kept := r.price(), 0
	r.log = r.log[:0]
	for pops := 0; r.heap.len() > 0 && r.over(a) && r.counts[a].Inner > 1 && len(r.log)-kept < patience; pops++ {
		if pops%spreadBlock == 0 && ctx.Err() != nil {
			return ctx.Err()
		}
		if !r.attempt(r.heap.pop()) {
			continue
		}
		if now := r.price(); now.below(best, 0) {
			best, kept = now, len(r.log)
		}
	}
	r.undo(kept)
	return nil
}

// undo takes back all logged moves but the first kept ones.
func (r *rebalancer) undo(kept int) {
	for i := len(r.log) - 1; i >= kept; i-- {
		v, to := r.log[i].v, r.log[i].from
		r.change(v, to, r.delta)
		r.move(v, to, r.delta)
	}
	r.log = r.log[:kept]
	r.price()
}

// fill puts every vertex of part a that may move into the heap.
func (r *rebalancer) fill(a int32) {
	var ids []int32
	for v, p := range r.part {
		if p != a || r.movedIn[v] == r.round {
			continue
		}
		if to, key := r.best(graph.NodeID(v)); to >= 0 {
			r.heap.key[v] = key
			ids = append(ids, int32(v))
		}
	}
	r.heap.build(ids)
}

// attempt moves v, just popped, if some part may take it and it is still the best; it reports whether it moved.
func (r *rebalancer) attempt(v graph.NodeID) bool {
	defer clear(r.tried)
	hoped, a := r.heap.key[v], r.part[v]
	for {
		to, key := r.best(v)
		if to < 0 {
			return false
		}
		if key > hoped && r.heap.len() > 0 && key > r.heap.key[r.heap.top()] {
			r.heap.set(v, key)
			return false
		}
		r.change(v, to, r.delta)
		if r.permitted(a, to) {
			r.move(v, to, r.delta)
			r.log = append(r.log, transfer{v, a})
			r.movedIn[v] = r.round
			clear(r.tried)
			r.again(v, a)
			return true
		}
		r.tried[to] = true
	}
}

// best returns where v gains most of the parts that may take it, judged without the halo rows of v's neighbours, and its
// key; -1 if none may. Ties go to the cheaper part, then to the lower index.
func (r *rebalancer) best(v graph.NodeID) (to int32, key float64) {
	a, t := r.part[v], r.tiesOf(v)
	tight := !r.fits(a)
	limit := r.limit(r.cost[a])
	readers, read := r.readersOf(v), r.readOf(v)
	to = -1
	gain, alone := int64(0), t == ties{}
	for q := range int32(r.parts) {
		if q == a || r.tried[q] || readers[q]+read[q] == 0 && !alone && r.reach() < anywhere {
			continue
		}
		filled := r.counts[q].Add(r.join(v, q, t))
		if !r.opt.Memory.Fits(int(q), filled) || !tight && r.costs[q].Of(filled) > limit {
			continue
		}
		if g := r.gain(v, q); to < 0 || g > gain || g == gain && r.cost[q] < r.cost[to] {
			to, gain = q, g
		}
	}
	return to, -float64(gain) / r.weight(a, t)
}

// weight returns what v's own row and edges cost in part a, in bytes where that is what a lacks.
func (r *rebalancer) weight(a int32, t ties) float64 {
	if f := r.opt.Memory.Footprint; !r.fits(a) {
		return float64(1 + f.PerInner + f.PerEdge*t.edges)
	}
	c := r.costs[a]
	if w := c.PerInner + c.PerEdge*float64(t.edges); w > 0 {
		return w
	}
	return 1
}

// permitted reports whether the move from part a to another that delta describes may be made.
func (r *rebalancer) permitted(a, to int32) bool {
	m := r.opt.Memory
	after := func(q int32) Counts { return r.counts[q].Add(r.delta[q]) }
	switch {
	case !m.Fits(int(to), after(to)):
		return false
	case !r.fits(a):
		return m.short(int(a), after(a)) < m.short(int(a), r.counts[a])
	}
	return m.Fits(int(a), after(a)) && r.costs[to].Of(after(to)) <= r.limit(r.costs[a].Of(after(a)))
}

// limit returns what a part that takes a vertex may cost, if the one that gives it costs giver.
func (r *rebalancer) limit(giver float64) float64 {
	if r.reach() == underloaded {
		return r.mean
	}
	return max(r.mean, giver)
}

// again brings the neighbours of v in part a, which v has left, up to date in the heap.
func (r *rebalancer) again(v graph.NodeID, a int32) {
	sides := []*graph.CSR{r.d.In, r.d.Out}
	if r.d.symmetric() {
		sides = sides[:1]
	}
	for _, g := range sides {
		for _, w := range g.Row(int(v)) {
			if r.part[w] != a || r.movedIn[w] == r.round {
				continue
			}
			if to, key := r.best(w); to >= 0 {
				r.heap.set(w, key)
			}
		}
	}
}
