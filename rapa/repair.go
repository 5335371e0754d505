package rapa

import (
	"context"

	"capgnn/graph"
)

// repair moves vertices out of parts that exceed their soft bounds.
//
// Returns: an error only if ctx ended; l holds a partition with no more excess than before. The cut may rise.
//
// Method: the vertices of overloaded parts wait in a heap by the cut they gain per in-edge they take along. The best one
// goes to the neighbouring part that gains most, if that lowers the excess; its neighbours are then looked at again.
// It ends when nothing is overloaded or nothing helps.
//
// Why: the stream meets the soft bounds only as far as its price reaches, and refinement keeps what it finds. Counting per
// in-edge moves few hubs rather than many small vertices, for which the hard bound has no room.
func (r *refiner) repair(ctx context.Context) error {
	none := [constraints]int64{}
	offer := func(v graph.NodeID) {
		if r.l.excess(r.l.part[v], none) == 0 {
			return
		}
		if to, gain := r.best(v, false); to >= 0 {
			r.wait(v, r.perEdge(v, gain))
		}
	}
	r.waiting.empty()
	clear(r.locked)
	for v := range r.l.part {
		offer(graph.NodeID(v))
	}
	for pops := 0; r.waiting.len() > 0; pops++ {
		if pops%streamChunk == 0 && ctx.Err() != nil {
			return ctx.Err()
		}
		v := r.waiting.pop()
		bound := r.gain(v)
		to, gain := r.best(v, true)
		if to < 0 || r.l.relief(int(v), to) <= 0 {
			continue
		}
		if now := r.perEdge(v, gain); now < bound && r.waiting.len() > 0 && now < r.gain(r.waiting.top()) {
			r.wait(v, now)
			continue
		}
		r.put(v, to)
		r.locked[v] = true
		for _, w := range r.u.Row(int(v)) {
			if !r.locked[w] {
				offer(w)
			}
		}
	}
	return nil
}

// perEdge returns the gain of moving v per in-edge, in 1/1024.
func (r *refiner) perEdge(v graph.NodeID, gain int32) int32 {
	return int32(int64(gain) * 1024 / int64(max(1, r.l.weight[v])))
}
