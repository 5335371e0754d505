package rapa

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"

	"capgnn/graph"
)

// AdjustOptions says how far Adjust may go.
type AdjustOptions struct {
	// MaxPrune is the largest share of the cut edges that may go, in [0, 1]; 0 = lossless: nothing is pruned.
	MaxPrune float64
	// Epsilon ends the adjustment once the deviation of the costs over their mean is below it; 0 = 0.01.
	Epsilon   float64
	Score     PruneScore // "" = ByWeight
	SelfLoops bool       // the model adds a loop to every vertex: degrees count it, edges do not
	Memory    Memory
}

func (o AdjustOptions) resolve(parts int) (AdjustOptions, error) {
	o.Epsilon = orDefault(o.Epsilon, 0.01)
	if o.Score == "" {
		o.Score = PruneScores[0]
	}
	var errs []error
	if !(o.MaxPrune >= 0 && o.MaxPrune <= 1) {
		errs = append(errs, fmt.Errorf("share %g of cut edges to prune is not in [0, 1]", o.MaxPrune))
	}
	if !(o.Epsilon > 0) {
		errs = append(errs, fmt.Errorf("epsilon %g is not above 0", o.Epsilon))
	}
	return o, errors.Join(append(errs, o.Score.validate(), o.Memory.validate(parts))...)
}

// Adjustment is what pruning did.
type Adjustment struct {
	// Dropped lists, per part, the halo vertices whose edges into the part were removed, ascending; nil if none was.
	Dropped [][]graph.NodeID
	Trace   []Iteration // the state before, then after every iteration
	Stop    Stop
	Lost    Lost
}

// Lost is what pruning cost.
type Lost struct {
	Edges    int64   `json:"edges"`    // in-edges that no part reads any more
	Cut      int64   `json:"cut"`      // cut edges before, each direction counted
	Share    float64 `json:"share"`    // Edges over Cut; 0 if there are no cut edges
	PerPart  []int64 `json:"per_part"` // Edges by part
	Replicas []int64 `json:"replicas"` // dropped halo vertices by part
}

// Adjust prunes replicas until the parts cost the same on their devices.
//
// Part i is on device i, which costs[i] describes (Lambda for the paper's model). Dropping the replica of vertex k in
// part i removes the edges from k to the inner vertices of i and nothing else: the owner of k keeps everything.
// Errors are wrong arguments or the end of ctx. The trace says whether parts fit their memory, and Memory.Check of
// the last counts how much is missing. The result does not depend on the number of threads.
//
// Method: Algorithms 2 and 3. An iteration visits the parts, the weakest device first. A part that costs more than
// the current mean, or does not fit, drops its replicas of lowest score until its cost is halfway to that mean, or at
// the mean if halfway is not reached, and it fits. Each part has a heap of its replicas; dropping one costs the
// logarithm of the heap's size, and a change of key of the other replicas of that vertex, whose overlap ratio falls
// by one.
//
// Why: the mean falls as parts shrink, so a part may be visited again; the number of replicas only falls, so it ends.
//
// Source: §4.3 of the paper. We differ: nothing is dropped if the costs are balanced from the start; parts that do
// not fit their memory are pruned whatever they cost; MaxPrune ends it; any linear cost can be used.
func Adjust(ctx context.Context, d Directions, part []int32, costs []PartCost, opt AdjustOptions) (*Adjustment, error) {
	parts := len(costs)
	o, err := opt.resolve(parts)
	if err := errors.Join(err, validateCosts(costs)); err != nil {
		return nil, fmt.Errorf("adjust parts: %w", err)
	}
	counts, err := Count(d, part, parts)
	if err != nil {
		return nil, fmt.Errorf("adjust parts: %w", err)
	}
	a := newAdjuster(counts, part, costs, o)
	if a.budget > 0 {
		a.enlist(newScorer(d, part, parts, o).replicas())
	}
	stop, err := a.run(ctx)
	if err != nil {
		return nil, fmt.Errorf("adjust parts: %w", err)
	}
	return a.result(stop), nil
}

// adjuster is the state of an adjustment.
type adjuster struct {
	opt      AdjustOptions
	part     []int32
	costs    []PartCost
	counts   []Counts
	lambda   []float64
	order    []int // parts, weakest device first
	replicas []replica
	overlap  []int32 // R(v) of each replica's vertex
	waiting  []keyHeap
	budget   int64 // edges that may still go
	exceeded bool  // some replica did not go because of the budget
	cut      int64
	trace    []Iteration
	lost     Lost
}

func newAdjuster(counts []Counts, part []int32, costs []PartCost, o AdjustOptions) *adjuster {
	a := &adjuster{opt: o, part: part, costs: costs, counts: counts, lambda: make([]float64, len(costs)), waiting: make([]keyHeap, len(costs))}
	for i, n := range counts {
		a.order = append(a.order, i)
		a.cut += n.Outer
		a.price(i)
	}
	slices.SortStableFunc(a.order, func(i, j int) int { return cmp.Compare(costs[j].weakness(), costs[i].weakness()) })
	a.budget = int64(o.MaxPrune * float64(a.cut))
	a.lost = Lost{Cut: a.cut, PerPart: make([]int64, len(costs)), Replicas: make([]int64, len(costs))}
	return a
}

func (a *adjuster) price(i int) { a.lambda[i] = a.costs[i].Of(a.counts[i]) }

// enlist puts every replica into the heap of its part.
func (a *adjuster) enlist(all []replica) {
	a.replicas, a.overlap = all, make([]int32, len(all))
	table := newKeyTable(len(all))
	ids := make([][]int32, len(a.costs))
	for lo := 0; lo < len(all); {
		hi := lo
		for hi < len(all) && all[hi].v == all[lo].v {
			hi++
		}
		for r := lo; r < hi; r++ {
			a.overlap[r] = int32(hi - lo)
			table.key[r] = a.score(int32(r))
			ids[all[r].part] = append(ids[all[r].part], int32(r))
		}
		lo = hi
	}
	for i := range a.waiting {
		a.waiting[i].keyTable = table
		a.waiting[i].build(ids[i])
	}
}

// score returns the current score of replica r.
func (a *adjuster) score(r int32) float64 {
	if a.opt.Score == ByInfluence {
		return a.replicas[r].base * float64(a.overlap[r])
	}
	return a.replicas[r].base
}

// run is Algorithm 2.
func (a *adjuster) run(ctx context.Context) (Stop, error) {
	a.trace = record(a.trace, observe(a.counts, a.costs, a.opt.Memory))
	for {
		now := a.trace[len(a.trace)-1]
		if now.Sigma < a.opt.Epsilon && now.fits() {
			return StopBalanced, nil
		}
		if err := ctx.Err(); err != nil {
			return "", err
		}
		dropped := false
		a.exceeded = false
		for _, i := range a.order {
			if a.visit(i) > 0 {
				dropped = true
			}
		}
		if !dropped {
			return a.stuck(now), nil
		}
		a.trace = record(a.trace, observe(a.counts, a.costs, a.opt.Memory))
	}
}

// stuck says why an iteration dropped nothing.
func (a *adjuster) stuck(now Iteration) Stop {
	switch {
	case !now.fits():
		return StopMemory
	case a.exceeded || a.replicas == nil && a.cut > 0:
		return StopMaxPrune
	}
	return StopReplicas
}

// visit is Algorithm 3 for one part; it returns how many replicas were dropped.
func (a *adjuster) visit(i int) int {
	mean, _ := meanSigma(a.lambda)
	start := a.lambda[i]
	dropped := 0
	for h := &a.waiting[i]; a.lambda[i] > mean || !a.fits(i); dropped++ {
		if h.len() == 0 {
			break
		}
		if int64(a.replicas[h.top()].edges) > a.budget {
			a.exceeded = true
			break
		}
		a.drop(h.pop())
		if a.lambda[i] <= (start+mean)/2 && a.fits(i) {
			dropped++
			break
		}
	}
	return dropped
}

func (a *adjuster) fits(i int) bool { return a.opt.Memory.Fits(i, a.counts[i]) }

// drop removes replica r, which has left its heap, and brings everything that depends on it up to date.
func (a *adjuster) drop(r int32) {
	k := a.replicas[r]
	i, owner, edges := int(k.part), int(a.part[k.v]), int64(k.edges)
	a.counts[i] = a.counts[i].Add(Counts{Edges: -edges, Outer: -edges, Halo: -1})
	a.counts[owner].Sent--
	a.price(i)
	a.price(owner)
	a.budget -= edges
	a.lost.Edges += edges
	a.lost.PerPart[i] += edges
	a.lost.Replicas[i]++
	a.others(r, -1)
	a.others(r, +1)
}

// others lowers the overlap ratio of the replicas of r's vertex on one side of r in the list.
func (a *adjuster) others(r, step int32) {
	v := a.replicas[r].v
	for s := r + step; s >= 0 && int(s) < len(a.replicas) && a.replicas[s].v == v; s += step {
		a.overlap[s]--
		if h := &a.waiting[a.replicas[s].part]; h.at[s] >= 0 {
			h.set(s, a.score(s))
		}
	}
}

func (a *adjuster) result(stop Stop) *Adjustment {
	out := &Adjustment{Trace: a.trace, Stop: stop, Lost: a.lost}
	if a.cut > 0 {
		out.Lost.Share = float64(a.lost.Edges) / float64(a.cut)
	}
	if a.lost.Edges == 0 {
		return out
	}
	out.Dropped = make([][]graph.NodeID, len(a.costs))
	at := a.waiting[0].at
	for r, k := range a.replicas {
		if at[r] < 0 {
			out.Dropped[k.part] = append(out.Dropped[k.part], k.v)
		}
	}
	return out
}
