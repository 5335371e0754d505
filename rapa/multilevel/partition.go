package multilevel

import (
	"cmp"
	"context"
	"fmt"
	"slices"

	"capgnn/graph"
)

// Partition cuts u, which is symmetric, without loops and with ascending rows, into opt.Parts parts.
func Partition(ctx context.Context, u *graph.CSR, opt Options) ([]int32, error) {
	o, err := opt.resolve(u)
	if err != nil {
		return nil, fmt.Errorf("multilevel: %w", err)
	}
	d := &driver{crew: &crew{ctx, o.Threads}, o: o, edges: u.Edges(), goal: goal{targets: o.Targets, lim: newLimits(o.Parts, o.Constraints)}}
	d.progress = progress{tell: o.Progress, runs: d.runs()}
	g := newLevel(u, o.Constraints)
	part := d.singles(g)
	if part == nil {
		d.open(g.n)
		part = d.evolve(g)
	}
	if err := d.err(); err != nil {
		return nil, err
	}
	if err := d.newState(g, d.goal.lim, part).violation(); err != nil {
		return nil, fmt.Errorf("multilevel: %w", err)
	}
	d.progress.done()
	return part, nil
}

// BoundError says that no partition was found that keeps a hard bound.
type BoundError struct {
	Constraint, Part int
	Load, Bound      int64
}

func (e *BoundError) Error() string {
	return fmt.Sprintf("part %d holds %d of constraint %d, more than its bound %d", e.Part, e.Load, e.Constraint, e.Bound)
}

// driver holds what all attempts share.
type driver struct {
	*crew
	o        Options
	goal     goal
	edges    int64 // stored edges of the input
	lanes    []*lane
	progress progress
}

// singles returns the partition of g, the input, in which every part is one vertex, heavier ones in parts of larger targets; nil if there
// are fewer parts than vertices, or a hard bound is not kept.
func (d *driver) singles(g *level) []int32 {
	if d.o.Parts < g.n {
		return nil
	}
	share := make([]float64, g.n) // sums the shares of a vertex in all constraints
	for c, total := range g.total() {
		for v := range share {
			share[v] += float64(g.of(c, int32(v))) / float64(max(total, 1))
		}
	}
	heaviest := func(x []float64) []int {
		order := make([]int, len(x))
		for i := range order {
			order[i] = i
		}
		slices.SortStableFunc(order, func(a, b int) int { return cmp.Compare(x[b], x[a]) })
		return order
	}
	part, parts := make([]int32, g.n), heaviest(d.goal.targets)
	for i, v := range heaviest(share) {
		part[v] = int32(parts[i])
	}
	if d.newState(g, d.goal.lim, part).violation() != nil {
		return nil
	}
	return part
}

// lane makes one partition at a time. It holds the scratch for that.
type lane struct {
	*crew
	d       *driver
	first   bool // its goroutine is that of Partition
	climber climber
	sweeper sweeper
	tallies []*tally
	border  []int32 // that of the last level refined
}

// laneEdges is the size of an input, in stored edges, up to which attempts are made side by side, each by one thread: that scales
// better than threads that share an attempt, and takes memory for each.
const laneEdges = 4_000_000

// open makes the lanes for a graph of n vertices.
func (d *driver) open(n int) {
	if d.o.Effort == 1 || d.threads == 1 || d.edges > laneEdges {
		d.lanes = []*lane{{crew: d.crew, d: d, first: true, tallies: newTallies(d.threads, n)}}
		return
	}
	for i := range min(d.threads, d.o.Effort) {
		d.lanes = append(d.lanes, &lane{crew: d.alone(), d: d, first: i == 0, tallies: newTallies(1, n)})
	}
}

// every calls work for 0 to n-1, each once and on a lane that nobody else uses then, and collects what it returns.
func (d *driver) every(n int, work func(l *lane, i int) attempt) []attempt {
	out := make([]attempt, n)
	if len(d.lanes) == 1 {
		for i := range out {
			out[i] = work(d.lanes[0], i)
		}
		return out
	}
	side := &crew{d.ctx, len(d.lanes)}
	side.each(n, 1, func(worker, i, _ int) { out[i] = work(d.lanes[worker], i) })
	return out
}

const (
	// cycles is how often the last of several partitions is combined with itself at most.
	cycles = 4
	// worthCycle is the share of the cut that the last step must have saved for a combination to follow.
	worthCycle = 0.015
	// mostDrafts is the number of attempts up to which only one is finished: more are made of small graphs only, where all are.
	mostDrafts = 4
)

// kept returns how many attempts are refined on the input's level: all, or only the best one. Unfinished ones are
// compared by their edge cut, which says little about the volume. With two of four finished, cuts of four graphs were
// 0.5 % lower, in a quarter more time; with four of eight, on small graphs, one seed of ten was an accident
// (TestSeeds).
func (d *driver) kept() int {
	if d.o.Objective == Volume || d.o.Effort > mostDrafts {
		return d.o.Effort
	}
	return 1
}

// runs returns the number of attempts, finished attempts and combinations, with one cycle of those that may follow.
func (d *driver) runs() int {
	n := d.o.Effort + d.kept() - 1
	if d.kept() < d.o.Effort {
		n += d.kept()
	}
	if d.o.Effort > 1 {
		n++
	}
	return n
}

// evolve makes Effort partitions and combines them.
//
// Method: up to four attempts stop above the input's level, which takes most of the time; then only the best one is
// finished. More attempts are all finished, and combined in pairs until one is left: the graph is coarsened without
// joining vertices that either partition separates, so both are partitions of the coarsest graph, and the better one
// is refined from there up. At the end the last one is combined with itself, while that improves it. Results that are
// not better are dropped. For the volume, every other partition begins with edges weighted by weighVolume, and every
// third is refined by the volume only. Half of all partitions, of either kind, begin skewed (initial).
//
// Why: one attempt in ten or so ends far from the others. Of two partitions the coarsening keeps what both agree on, and what they
// do not becomes small enough to be moved as a whole.
//
// Source: Sanders and Schulz, "Distributed evolutionary graph partitioning", 2012.
func (d *driver) evolve(g *level) []int32 {
	weighed := d.weighed(g)
	pool := d.every(d.o.Effort, func(l *lane, i int) attempt {
		return l.attempt(weighed(i), i%4 == 1 || i%4 == 2, d.o.Objective == Volume && i%3 == 2, mix(d.o.Seed+uint64(i)))
	})
	slices.SortStableFunc(pool, attempt.compare)
	parent := pool[0].cut
	if kept := d.kept(); kept < len(pool) && d.err() == nil {
		pool = d.every(kept, func(l *lane, i int) attempt {
			return l.finish(weighed(0), pool[i], mix(d.o.Seed^uint64(i)*6101))
		})
	}
	for round := uint64(1); len(pool) > 1 && d.err() == nil; round++ {
		slices.SortStableFunc(pool, attempt.compare)
		parent = pool[0].cut
		half := len(pool) / 2
		// The best meets the worst, so that of an odd number the one in the middle waits.
		children := d.every(half, func(l *lane, i int) attempt {
			a, b := pool[i], pool[len(pool)-1-i]
			return bestOf([]attempt{a, l.combine(weighed(i), a, b.part, mix(d.o.Seed^round<<32^uint64(i)*977))})
		})
		pool = append(children, pool[half:len(pool)-half]...)
	}
	best := pool[0]
	if d.o.Effort == 1 {
		return best.part
	}
	for i := 0; i < cycles && d.err() == nil && d.pays(parent, best.cut, i); i++ {
		parent = best.cut
		again := d.every(1, func(l *lane, _ int) attempt {
			return l.combine(weighed(i), best, best.part, mix(d.o.Seed^uint64(i+1)*7919))
		})
		best = bestOf([]attempt{best, again[0]})
	}
	return best.part
}

// pays reports whether cycle i is worth its time after a partition of cost before has become one of cost now.
func (d *driver) pays(before, now int64, i int) bool {
	return d.o.Objective == Volume && i == 0 || float64(before-now) > worthCycle*float64(before)
}

// finish refines an unfinished attempt on the input's level.
func (l *lane) finish(g *level, draft attempt, salt uint64) attempt {
	defer l.d.progress.next(l.first)
	if l.err() != nil {
		return attempt{}
	}
	return l.uncoarsen([]*level{g}, draft.part, draft.alone, false, salt)
}

// weighed returns what gives the graph of attempt i: g itself, for the objective Volume with edges weighed for it if i is odd. Each is
// a copy, as attempts write to it.
func (d *driver) weighed(g *level) func(i int) *level {
	forVolume := g
	if d.o.Objective == Volume && d.o.Effort > 1 {
		forVolume = d.weighVolume(g)
	}
	return func(i int) *level {
		own := *g
		if i%2 == 1 {
			own = *forVolume
		}
		return &own
	}
}

// attempt makes a partition from scratch. skewed is that of initial, alone that of attempt.
func (l *lane) attempt(g *level, skewed, alone bool, salt uint64) attempt {
	d := l.d
	defer d.progress.next(l.first)
	levels := l.coarsen(g, nil, coarsest(d.o.Parts), d.shrink(), salt, l.tallies)
	if l.err() != nil {
		return attempt{}
	}
	d.progress.at(0.3, l.first)
	part := l.initial(levels[len(levels)-1], d.goal, skewed, mix(salt))
	return l.uncoarsen(levels, part, alone, d.kept() < d.o.Effort, salt)
}

// combine refines best again, from a coarsening that keeps apart what best or other keeps apart.
func (l *lane) combine(g *level, best attempt, other []int32, salt uint64) attempt {
	d := l.d
	defer d.progress.next(l.first)
	if l.err() != nil {
		return attempt{}
	}
	within := make([]int32, g.n)
	for v := range within {
		within[v] = best.part[v]*int32(d.o.Parts) + other[v]
	}
	levels := l.coarsen(g, within, coarsest(d.o.Parts), d.shrink(), salt, l.tallies)
	if l.err() != nil {
		return attempt{}
	}
	part := best.part
	for i, f := range levels[:len(levels)-1] {
		coarse := make([]int32, levels[i+1].n)
		for v, a := range f.coarse {
			coarse[a] = part[v]
		}
		part = coarse
	}
	if len(levels) == 1 {
		part = slices.Clone(part)
	}
	return l.uncoarsen(levels, part, best.alone, false, salt)
}
