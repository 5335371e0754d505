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

// reach says what may move where.
type reach int

const (
	together    reach = iota // communities as large as what a part has too much, to a part that stays at or below the mean
	apart                    // the same, of up to a quarter of that
	downhill                 // a vertex, to a part with a neighbour that stays cheaper than the one it leaves
	underloaded              // a vertex, to a part with a neighbour that stays at or below the mean
	anywhere                 // a vertex, to any part that stays cheaper than the one it leaves
)

// division returns by what the largest community that may move is less than what its part has too much.
func (r reach) division() float64 {
	if r == apart {
		return 4
	}
	return 1
}

// itineraries are the orders in which reaches are tried. Neither is better on every partition: communities keep the cut low
// and vertices balance finely.
var itineraries = [][]reach{{together, apart, downhill, underloaded, anywhere}, {downhill, underloaded, together, apart, anywhere}}

// Rebalance moves inner vertices between parts until the parts cost the same on their devices. It drops nothing.
//
// Part i lies on device i, which costs[i] describes: seconds from measurements, or Lambda. Parts that do not fit their
// memory are emptied first, whatever that costs; after that no move makes a part exceed its memory. It fails on wrong
// arguments and when ctx ends; whether parts fit is in the trace, and Memory.Check says what would be needed. The result
// does not depend on the number of threads.
//
// Method: a round drains every part above the mean, the most expensive first. Its vertices are in a heap, ordered by
// the reduction of the edge cut per unit of cost of their rows and edges. The best vertex moves to the part where it
// gains most among those that may take it, and the keys of its neighbours are updated. When the part has come down to
// the mean, or after `patience` moves without improvement, all moves after the best state are undone. The best state
// is the one that lacks least memory and then has the smallest sum of largest cost (softMax) and deviation. A vertex
// moves once per round. Regions, which label propagation finds, are drained in the same way. What may move where
// (reach) is tried in two orders (itineraries), both to the end; the better result is returned.
//
// Why: costs are linear in the counts, and the neighbours of a vertex determine how its move changes counts
// (placement), so each state is evaluated exactly. If cut edges are expensive, moving a single vertex costs its part
// more than it saves, and only a whole region is worth moving; continuing after such losses moves regions.
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
	start := newRebalancer(newPlacement(d, part, parts), costs, opt)
	runs, faults := make([]*rebalancer, len(itineraries)), make([]error, len(itineraries))
	if start.record(); start.balanced() {
		start.stop = StopBalanced
		return start.result(part), nil
	}
	graph.EachBlock(len(itineraries), 1, func(i, _ int) {
		runs[i] = start.clone(itineraries[i])
		faults[i] = runs[i].run(ctx)
	})
	if err := errors.Join(faults...); err != nil {
		return nil, fmt.Errorf("move vertices: %w", err)
	}
	best := runs[0]
	for _, r := range runs[1:] {
		if r.price().below(best.price(), 0) {
			best = r
		}
	}
	return best.result(part), nil
}

func (r *rebalancer) result(before []int32) *Rebalanced {
	out := &Rebalanced{Part: r.part, Counts: r.counts, Trace: r.trace, Stop: r.stop}
	for v, p := range before {
		if r.part[v] != p {
			out.Moved++
		}
	}
	return out
}

// rebalancer is the state of Rebalance.
type rebalancer struct {
	*placement
	costs   []PartCost
	opt     RebalanceOptions
	cost    []float64 // by part
	mean    float64   // of cost
	way     []reach   // what is tried in turn
	at      int       // in way
	lap     merit     // at the last beginning of way
	stop    Stop
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

// leastProgress is the share by which a round must lower the merit to be followed by one of its kind, leastLap that for a
// whole itinerary.
const leastProgress, leastLap = 1e-4, 1e-3

// clone returns a copy that goes another way; only the graph is shared.
func (r *rebalancer) clone(way []reach) *rebalancer {
	c := newRebalancer(r.placement.clone(), r.costs, r.opt)
	c.way, c.lap, c.trace = way, c.price(), slices.Clone(r.trace)
	return c
}

// record appends the state to the trace.
func (r *rebalancer) record() { r.trace = record(r.trace, observe(r.counts, r.costs, r.opt.Memory)) }

// run makes rounds and sets stop, unless ctx ends.
func (r *rebalancer) run(ctx context.Context) error {
	for r.stop == "" {
		switch {
		case r.balanced():
			r.stop = StopBalanced
		case r.at < len(r.way):
			if err := r.step(ctx); err != nil {
				return err
			}
		case !r.trace[len(r.trace)-1].fits():
			r.stop = StopMemory
		default:
			r.stop = StopMoves
		}
	}
	return nil
}

// step is a round. One that brought something is followed by another of the same reach, else it is the next one's turn,
// and after the last one the first one's if all together have brought something.
func (r *rebalancer) step(ctx context.Context) error {
	before := r.price()
	if err := r.pass(ctx); err != nil {
		return err
	}
	after := r.price()
	if after != before {
		r.record()
	}
	if after.below(before, leastProgress) {
		return nil
	}
	if r.at++; r.at == len(r.way) && after.below(r.lap, leastLap) {
		r.at, r.lap = 0, after
	}
	return nil
}

// reach returns what the round at hand may move where.
func (r *rebalancer) reach() reach { return r.way[r.at] }

// balanced reports whether the last state of the trace is within the tolerance and the memory.
func (r *rebalancer) balanced() bool {
	it := r.trace[len(r.trace)-1]
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
		drain := r.drain
		if r.reach() <= apart {
			drain = r.drainRegions
		}
		if err := drain(ctx, worst); err != nil {
			return err
		}
	}
}

// worse reports whether part p is to be drained before q: what lacks most memory first, then what costs most.
func (r *rebalancer) worse(p, q int32) bool {
	a, b := r.opt.Memory.short(int(p), r.counts[p]), r.opt.Memory.short(int(q), r.counts[q])
	return a > b || a == b && r.cost[p] > r.cost[q]
}

func (r *rebalancer) fits(q int32) bool { return r.opt.Memory.Fits(int(q), r.counts[q]) }

// over reports whether part q is to give vertices away.
func (r *rebalancer) over(q int32) bool { return r.cost[q] > r.mean || !r.fits(q) }
