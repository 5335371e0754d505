package rapa

import (
	"context"

	"capgnn/graph"
)

// refineRounds bounds the refinement passes; later ones gain under 1 % on the published graphs.
const refineRounds = 12

// refine lowers the edge cut by moving single vertices between parts (k-way Fiduccia-Mattheyses).
//
// Returns: nothing; l holds a partition whose cut is not higher and whose hard bound still holds.
//
// Method: per pass, boundary vertices wait in a heap by an upper bound of their gain. The best one moves to the permitted
// part that gains most, even at a loss, is locked, and its neighbours' bounds rise. When `patience` moves in a row have
// brought no better cut, the pass ends and everything after its best cut is undone. Passes end when one improves nothing.
//
// Why: the stream decides with half the picture; walking over small losses leaves its local minima. Gains are recomputed
// when a vertex comes to the top, so a move costs its degree and not the degrees of all neighbours.
//
// Source: Fiduccia and Mattheyses, 1982; Karypis and Kumar, "Multilevel k-way partitioning scheme", 1998.
func refine(ctx context.Context, u *graph.CSR, l *loads) error {
	r := newRefiner(u, l)
	r.repair()
	for range refineRounds {
		fell, err := r.pass(ctx)
		if err != nil {
			return err
		}
		if fell == 0 {
			break
		}
	}
	return nil
}

type refiner struct {
	u      *graph.CSR
	l      *loads
	near   []int32 // scratch by part, zero between calls
	heap   *gainHeap
	locked []bool
	log    []move
}

type move struct {
	v    graph.NodeID
	from int32
}

func newRefiner(u *graph.CSR, l *loads) *refiner {
	return &refiner{
		u: u, l: l, near: make([]int32, len(l.sum)), heap: newGainHeap(u.Rows()), locked: make([]bool, u.Rows()),
	}
}

// best returns the part to which v gains most and the gain; with permitted, only parts that mayMove allows. Vertices
// inside their part, or without a permitted one, give -1. Ties go to the emptier part, then to the lower index.
func (r *refiner) best(v graph.NodeID, permitted bool) (to, gain int32) {
	l, own, row := r.l, r.l.part[v], r.u.Row(int(v))
	for _, w := range row {
		r.near[l.part[w]]++
	}
	to = -1
	toFill := 0.0
	inside := r.near[own]
	r.near[own] = 0
	for _, w := range row {
		p := l.part[w]
		c := r.near[p]
		r.near[p] = 0 // each part is looked at once
		if c == 0 || c < gain || permitted && !l.mayMove(int(v), p) {
			continue
		}
		fill := l.fill(p)
		if to < 0 || c > gain || fill < toFill || fill == toFill && p < to {
			to, gain, toFill = p, c, fill
		}
	}
	return to, gain - inside
}

// pass runs one pass and returns by how much the cut fell.
func (r *refiner) pass(ctx context.Context) (int64, error) {
	n := r.u.Rows()
	patience := max(100, n/50)
	r.heap.clear()
	r.log = r.log[:0]
	clear(r.locked)
	for v := range n {
		if to, gain := r.best(graph.NodeID(v), false); to >= 0 {
			r.heap.set(graph.NodeID(v), gain)
		}
	}
	var fell, bestFell int64
	bestLen := 0
	for pops := 0; r.heap.len() > 0 && len(r.log)-bestLen < patience; pops++ {
		if pops%streamChunk == 0 && ctx.Err() != nil {
			return 0, ctx.Err()
		}
		v, bound := r.heap.pop()
		to, gain := r.best(v, true)
		if to < 0 {
			continue
		}
		if gain < bound && r.heap.len() > 0 && gain < r.heap.top() {
			r.heap.set(v, gain)
			continue
		}
		r.log = append(r.log, move{v, r.l.part[v]})
		fell += int64(gain)
		r.shift(v, to)
		if fell > bestFell {
			bestFell, bestLen = fell, len(r.log)
		}
	}
	for i := len(r.log) - 1; i >= bestLen; i-- {
		r.l.place(int(r.log[i].v), r.log[i].from)
	}
	return bestFell, nil
}

// shift moves v, locks it and raises the bounds of its neighbours: by 2 in the part it left, by 1 elsewhere.
func (r *refiner) shift(v graph.NodeID, to int32) {
	from := r.l.part[v]
	r.l.place(int(v), to)
	r.locked[v] = true
	for _, w := range r.u.Row(int(v)) {
		if r.locked[w] {
			continue
		}
		switch p := r.l.part[w]; {
		case !r.heap.contains(w):
			if q, gain := r.best(w, false); q >= 0 {
				r.heap.set(w, gain)
			}
		case p == from:
			r.heap.set(w, r.heap.gain[w]+2)
		case p != to:
			r.heap.set(w, r.heap.gain[w]+1)
		}
	}
}
