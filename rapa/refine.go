package rapa

import (
	"context"

	"capgnn/graph"
)

// refineRounds bounds the refinement passes; later ones gain under 1 % on the published graphs.
const refineRounds = 12

// refine lowers the edge cut by moving single vertices between parts (k-way Fiduccia-Mattheyses).
//
// Returns: an error only if ctx ended; l holds a partition whose hard bound still holds and whose excess over the soft
// bounds is not higher. After repair the cut only falls.
//
// Method: soft bounds are repaired first, see repair.go. Then, per pass, boundary vertices wait in a heap by their gain. The best one moves to the permitted part that gains most, even
// at a loss, is locked, and its neighbours' gains are brought up to date. When `patience` moves in a row have
// brought no better cut, the pass ends and everything after its best cut is undone. Passes end when one improves nothing.
//
// Why: the stream decides with half the picture; walking over small losses leaves its local minima. A table of how many
// neighbours every vertex has in every part makes a gain cost the number of parts and not a degree, which hubs would make
// quadratic; it takes 4 bytes per vertex and part.
//
// Source: Fiduccia and Mattheyses, 1982; Karypis and Kumar, "Multilevel k-way partitioning scheme", 1998.
func refine(ctx context.Context, u *graph.CSR, l *loads) error {
	r := newRefiner(u, l)
	if err := r.repair(ctx); err != nil {
		return err
	}
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
	u       *graph.CSR
	l       *loads
	parts   int
	near    []int32 // near[v·parts+p] = neighbours of v in part p
	waiting keyHeap // by gain, the highest first: keys are losses
	locked  []bool
	log     []move
}

type move struct {
	v    graph.NodeID
	from int32
}

func newRefiner(u *graph.CSR, l *loads) *refiner {
	n, k := u.Rows(), len(l.sum)
	r := &refiner{u: u, l: l, parts: k, near: make([]int32, n*k), waiting: keyHeap{keyTable: newKeyTable(n)}, locked: make([]bool, n)}
	for v := range n {
		for _, w := range u.Row(v) {
			r.near[v*k+int(l.part[w])]++
		}
	}
	return r
}

// put moves v to a part and keeps the table.
func (r *refiner) put(v graph.NodeID, to int32) {
	from := r.l.part[v]
	r.l.place(int(v), to)
	for _, w := range r.u.Row(int(v)) {
		r.near[int(w)*r.parts+int(from)]--
		r.near[int(w)*r.parts+int(to)]++
	}
}

// best returns the part to which v gains most and the gain; with permitted, only parts that mayMove allows. Vertices
// inside their part, or without a permitted one, give -1. Ties go to the emptier part, then to the lower index.
func (r *refiner) best(v graph.NodeID, permitted bool) (to, gain int32) {
	own := r.l.part[v]
	near := r.near[int(v)*r.parts : (int(v)+1)*r.parts]
	to = -1
	toFill := 0.0
	for p, c := range near {
		p := int32(p)
		if p == own || c == 0 || c < gain || permitted && !r.l.mayMove(int(v), p) {
			continue
		}
		fill := r.l.fill(p)
		if to < 0 || c > gain || fill < toFill {
			to, gain, toFill = p, c, fill
		}
	}
	return to, gain - near[own]
}

// pass runs one pass and returns by how much the cut fell.
func (r *refiner) pass(ctx context.Context) (int64, error) {
	n := r.u.Rows()
	patience := max(100, n/50)
	r.waiting.empty()
	r.log = r.log[:0]
	clear(r.locked)
	for v := range n {
		r.offer(graph.NodeID(v))
	}
	var fell, bestFell int64
	bestLen := 0
	for pops := 0; r.waiting.len() > 0 && len(r.log)-bestLen < patience; pops++ {
		if pops%streamChunk == 0 && ctx.Err() != nil {
			return 0, ctx.Err()
		}
		v := r.waiting.pop()
		hoped := r.gain(v)
		to, gain := r.best(v, true)
		if to < 0 {
			continue
		}
		if gain < hoped && r.waiting.len() > 0 && gain < r.gain(r.waiting.top()) {
			r.wait(v, gain) // the best part is not permitted
			continue
		}
		r.log = append(r.log, move{v, r.l.part[v]})
		fell += int64(gain)
		r.put(v, to)
		r.locked[v] = true
		for _, w := range r.u.Row(int(v)) {
			r.offer(w)
		}
		if fell > bestFell {
			bestFell, bestLen = fell, len(r.log)
		}
	}
	for i := len(r.log) - 1; i >= bestLen; i-- {
		r.put(r.log[i].v, r.log[i].from)
	}
	return bestFell, nil
}

// offer puts v into the heap by its gain, if it lies at a boundary and is not locked.
func (r *refiner) offer(v graph.NodeID) {
	if to, gain := r.best(v, false); to >= 0 && !r.locked[v] {
		r.wait(v, gain)
	}
}

// wait puts v into the heap, or changes its gain there.
func (r *refiner) wait(v graph.NodeID, gain int32) { r.waiting.set(v, -float64(gain)) }

// gain returns what v waits with, or did before it was taken out.
func (r *refiner) gain(v graph.NodeID) int32 { return int32(-r.waiting.key[v]) }
