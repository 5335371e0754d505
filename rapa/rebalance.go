package rapa

import (
	"context"
	"errors"
	"fmt"
	"math"
	"slices"

	"capgnn/graph"
)

// RebalanceOptions says how far Rebalance goes. The zero value is usable.
type RebalanceOptions struct {
	// Tolerance ends it once the largest cost is within this share above the mean and the deviation of the costs over
	// their mean is not above it either; 0 = 0.01.
	Tolerance float64
	Memory    Memory
}

// Rebalanced is a partition after inner vertices have moved.
type Rebalanced struct {
	Part   []int32  // part of every vertex
	Counts []Counts // by part
	Moved  int64    // vertices whose part is another than before
	Trace  []Iteration
	Stop   Stop
}

// How far a vertex may go, in the order in which it is tried.
const (
	downhill    = iota // to a part with a neighbour that stays cheaper than the one it leaves
	underloaded        // to a part with a neighbour that stays at or below the mean
	anywhere           // to any part that stays cheaper than the one it leaves
	reaches
)

// Rebalance moves inner vertices between parts until the parts cost the same on their devices. Nothing is lost by that.
//
// Part i lies on device i, which costs[i] describes: seconds from measurements, or Lambda. Parts that do not fit their
// memory are emptied first, whatever that costs; after that no move makes a part exceed its memory. It fails on wrong
// arguments and when ctx ends; whether parts fit is in the trace, and Memory.Check says what would be needed. The result
// does not depend on the number of threads.
//
// Method: in a round every part above the mean is drained, the most expensive first. Its vertices wait in a heap by the
// edges of cut that they gain per unit of cost that their own rows and edges are. The best one moves to the part where it
// gains most among those that stay cheaper than the one it leaves, and its neighbours are looked at again. When the part
// has come down to the mean, or `patience` moves in a row have brought nothing, everything after the best state is undone.
// The best state is the one that lacks least memory and then has the least largest cost (softMax) plus deviation. A vertex
// moves once per round. When rounds bring nothing more, only parts that stay at or below the mean take vertices; when
// these rounds bring nothing more either, parts in which a vertex has no neighbour take it too.
//
// Why: costs are linear in the counts, and a move changes counts by what the neighbours of one vertex say (placement), so
// each state is judged exactly. Where cut edges are dear a single vertex costs its part more by leaving than by staying,
// and only a region as a whole is worth moving; walking on over such losses moves regions.
//
// Source: §6 of the paper asks for this; the objective is that of Eq. 15, the heap with undoing that of Fiduccia and
// Mattheyses (1982).
func Rebalance(ctx context.Context, d Directions, part []int32, costs []PartCost, opt RebalanceOptions) (*Rebalanced, error) {
	parts := len(costs)
	opt.Tolerance = orDefault(opt.Tolerance, 0.01)
	var bad error
	if !(opt.Tolerance > 0) {
		bad = fmt.Errorf("tolerance %g is not above 0", opt.Tolerance)
	}
	if err := errors.Join(bad, validateCosts(costs), opt.Memory.validate(parts), d.check(part, parts)); err != nil {
		return nil, fmt.Errorf("move vertices: %w", err)
	}
	r := newRebalancer(newPlacement(d, part, parts), costs, opt)
	stop, err := r.run(ctx)
	if err != nil {
		return nil, fmt.Errorf("move vertices: %w", err)
	}
	out := &Rebalanced{Part: r.part, Counts: r.counts, Trace: r.trace, Stop: stop}
	for v, p := range part {
		if r.part[v] != p {
			out.Moved++
		}
	}
	return out, nil
}

// rebalancer is the state of Rebalance.
type rebalancer struct {
	*placement
	costs   []PartCost
	opt     RebalanceOptions
	cost    []float64 // by part
	mean    float64   // of cost
	reach   int
	round   int32
	movedIn []int32 // by vertex: the round in which it moved, 0 = none
	heap    keyHeap
	delta   []Counts // scratch
	tried   []bool   // scratch: parts that have no room for the vertex at hand
	log     []transfer
	trace   []Iteration
}

// transfer is a move that may be undone.
type transfer struct {
	v    graph.NodeID
	from int32
}

// merit orders states; lower is better in the first field that differs.
type merit struct {
	lack int64   // bytes that devices lack, in sum
	cost float64 // soft largest cost plus deviation
}

func (m merit) below(other merit, share float64) bool {
	if m.lack != other.lack {
		return m.lack < other.lack
	}
	return m.cost < other.cost*(1-share)
}

func newRebalancer(p *placement, costs []PartCost, opt RebalanceOptions) *rebalancer {
	n := len(p.part)
	r := &rebalancer{
		placement: p, costs: costs, opt: opt, cost: make([]float64, p.parts), movedIn: make([]int32, n),
		heap: keyHeap{keyTable: newKeyTable(n)}, delta: make([]Counts, p.parts), tried: make([]bool, p.parts),
	}
	r.price()
	return r
}

// price computes what the parts cost now and returns the merit of that.
func (r *rebalancer) price() merit {
	m := merit{}
	for q, n := range r.counts {
		r.cost[q] = r.costs[q].Of(n)
		m.lack += r.opt.Memory.short(q, n)
	}
	mean, sigma := meanSigma(r.cost)
	r.mean, m.cost = mean, softMax(r.cost)+sigma*mean
	return m
}

// softMax returns the largest cost as the norm (Σ cost^64 / parts)^(1/64), within 64th roots of the number of parts.
//
// Why: while two parts cost the same, relieving one of them must count, though the largest cost stays.
func softMax(cost []float64) float64 {
	most, sum := slices.Max(cost), 0.0
	if most == 0 {
		return 0
	}
	for _, c := range cost {
		x := c / most
		for range 6 {
			x *= x
		}
		sum += x
	}
	return most * math.Pow(sum/float64(len(cost)), 1./64)
}

// leastProgress is the share by which a round must lower the merit to be followed by one of its kind.
const leastProgress = 1e-4

func (r *rebalancer) run(ctx context.Context) (Stop, error) {
	r.trace = record(r.trace, observe(r.counts, r.costs, r.opt.Memory))
	for {
		if now := r.trace[len(r.trace)-1]; r.balanced(now) {
			return StopBalanced, nil
		} else if r.reach == reaches && !now.fits() {
			return StopMemory, nil
		} else if r.reach == reaches {
			return StopMoves, nil
		}
		before := r.price()
		if err := r.pass(ctx); err != nil {
			return "", err
		}
		if after := r.price(); after != before {
			r.trace = record(r.trace, observe(r.counts, r.costs, r.opt.Memory))
			if after.below(before, leastProgress) {
				continue
			}
		}
		r.reach++
	}
}

func (r *rebalancer) balanced(it Iteration) bool {
	return it.Max <= (1+r.opt.Tolerance)*it.Mean && it.Sigma <= r.opt.Tolerance && it.fits()
}

// pass is one round.
func (r *rebalancer) pass(ctx context.Context) error {
	r.round++
	drained := make([]bool, r.parts)
	for {
		worst := int32(-1)
		for q := range int32(r.parts) {
			if !drained[q] && (worst < 0 || r.worse(q, worst)) {
				worst = q
			}
		}
		if worst < 0 || !r.over(worst) {
			return nil
		}
		drained[worst] = true
		if err := r.drain(ctx, worst); err != nil {
			return err
		}
	}
}

// worse reports whether part p is to be drained before q: what lacks most memory first, then what costs most.
func (r *rebalancer) worse(p, q int32) bool {
	a, b := r.opt.Memory.short(int(p), r.counts[p]), r.opt.Memory.short(int(q), r.counts[q])
	return a > b || a == b && r.cost[p] > r.cost[q]
}

func (r *rebalancer) fits(q int32) bool { return r.opt.Memory.fits(int(q), r.counts[q]) }

// over reports whether part q is to give vertices away.
func (r *rebalancer) over(q int32) bool { return r.cost[q] > r.mean || !r.fits(q) }

// drain moves vertices out of part a, and undoes what did not pay.
func (r *rebalancer) drain(ctx context.Context, a int32) error {
	r.fill(a)
	defer r.heap.empty()
	patience := max(100, int(r.counts[a].Inner/8))
	best, kept := r.price(), 0
	r.log = r.log[:0]
	for pops := 0; r.heap.Len() > 0 && r.over(a) && r.counts[a].Inner > 1 && len(r.log)-kept < patience; pops++ {
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
	for i := len(r.log) - 1; i >= kept; i-- {
		v, to := r.log[i].v, r.log[i].from
		r.change(v, to, r.delta)
		r.move(v, to, r.delta)
	}
	r.price()
	return nil
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
		if key > hoped && r.heap.Len() > 0 && key > r.heap.key[r.heap.top()] {
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
		if q == a || r.tried[q] || readers[q]+read[q] == 0 && !alone && r.reach < anywhere {
			continue
		}
		filled := r.counts[q].add(r.join(v, q, t))
		if !r.opt.Memory.fits(int(q), filled) || !tight && r.costs[q].Of(filled) > limit {
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
	after := func(q int32) Counts { return r.counts[q].add(r.delta[q]) }
	switch {
	case !m.fits(int(to), after(to)):
		return false
	case !r.fits(a):
		return m.short(int(a), after(a)) < m.short(int(a), r.counts[a])
	}
	return m.fits(int(a), after(a)) && r.costs[to].Of(after(to)) <= r.limit(r.costs[a].Of(after(a)))
}

// limit returns what a part that takes a vertex may cost, if the one that gives it costs giver.
func (r *rebalancer) limit(giver float64) float64 {
	if r.reach == underloaded {
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
