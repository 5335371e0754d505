package multilevel

import (
	"context"
	"fmt"

	"capgnn/graph"
)

// Partition cuts u, which is symmetric, without loops and with ascending rows, into opt.Parts parts.
func Partition(ctx context.Context, u *graph.CSR, opt Options) ([]int32, error) {
	o, err := opt.resolve(u)
	if err != nil {
		return nil, fmt.Errorf("multilevel: %w", err)
	}
	c := &crew{ctx, o.Threads}
	d := &driver{crew: c, o: o, aim: aim{targets: o.Targets, lim: newLimits(o.Parts, o.Constraints)}}
	d.progress = progress{tell: o.Progress, runs: 2*o.Effort - 1}
	if o.Effort > 1 {
		d.progress.runs += P.Cycles
	}
	g := newLevel(u, o.Constraints)
	part := d.run(g)
	if err := c.err(); err != nil {
		return nil, err
	}
	if err := d.newState(g, d.aim.lim, part, false).violation(); err != nil {
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

// driver holds what all levels share.
type driver struct {
	*crew
	o        Options
	aim      aim
	climber  climber
	sweeper  sweeper
	tallies  []*tally
	progress progress
}

// coarsen returns g and coarser and coarser graphs, the last with about `target` vertices, or more where it does not shrink.
func (c *crew) coarsen(g *level, within []int32, target int, shrink float64, salt uint64, tallies []*tally) []*level {
	levels := []*level{g}
	limit := g.total()
	for i := range limit {
		limit[i] = max(1, int64(P.Heavy*float64(limit[i])/float64(target)))
	}
	for g.n > target {
		least := max(target, int(float64(g.n)/shrink))
		label, n := c.cluster(g, within, limit, least, P.Sweeps, mix(salt+uint64(len(levels))), tallies)
		if c.err() != nil || n*20 > g.n*19 {
			break
		}
		compact(label)
		next := c.contract(g, label, n, tallies)
		if c.err() != nil {
			break
		}
		if within != nil {
			w := make([]int32, n)
			for v, a := range label {
				w[a] = within[v]
			}
			within = w
		}
		g.coarse = label
		g = next
		levels = append(levels, g)
	}
	return levels
}

// coarsest returns the number of vertices at which coarsening stops.
func coarsest(parts int) int { return max(P.Coarsest*parts, P.CoarsestMin) }

// run makes Effort partitions and combines them.
//
// Method: every further partition is combined with the best so far: the graph is coarsened without joining vertices that one
// of the two tells apart, so that both are partitions of the coarsest graph; the better one is refined from there up. At the
// end the best is combined with itself. Nothing of this makes it worse.
//
// Source: Sanders and Schulz, "Distributed evolutionary graph partitioning", 2012.
func (d *driver) run(g *level) []int32 {
	d.tallies = newTallies(d.threads, g.n)
	best := d.attempt(g, d.o.Seed)
	for i := 1; i < d.o.Effort && d.err() == nil; i++ {
		other := d.attempt(g, mix(d.o.Seed+uint64(i)))
		if d.err() != nil {
			break
		}
		if d.better(g, other, best) {
			best, other = other, best
		}
		best = d.combine(g, best, other, mix(d.o.Seed+uint64(i)*977))
	}
	if d.o.Effort > 1 {
		for i := range P.Cycles {
			if d.err() != nil {
				break
			}
			best = d.combine(g, best, best, mix(d.o.Seed^uint64(i)*7919))
		}
	}
	return best
}

// better reports whether a exceeds bounds less than b, or no more and has the lower cut.
func (d *driver) better(g *level, a, b []int32) bool {
	over, cut := [2]float64{}, [2]int64{}
	for i, part := range [][]int32{a, b} {
		over[i] = d.newState(g, d.aim.lim, part, false).over()
		cut[i] = d.cut(g, part)
	}
	return over[0] < over[1] || over[0] == over[1] && cut[0] < cut[1]
}

// attempt makes a partition from scratch.
func (d *driver) attempt(g *level, salt uint64) []int32 {
	defer d.progress.next()
	levels := d.coarsen(g, nil, coarsest(d.o.Parts), P.Shrink, salt, d.tallies)
	if d.err() != nil {
		return nil
	}
	d.progress.at(0.3)
	trace("levels", levels)
	part := d.initial(levels[len(levels)-1], d.aim, P.Trials, &d.climber, mix(salt), d.tallies)
	trace("initial", nil)
	return d.uncoarsen(levels, part, salt)
}

// combine refines best again, from a coarsening that keeps apart what best or other keeps apart.
func (d *driver) combine(g *level, best, other []int32, salt uint64) []int32 {
	defer d.progress.next()
	within := make([]int32, g.n)
	for v := range within {
		within[v] = best[v]*int32(d.o.Parts) + other[v]
	}
	levels := d.coarsen(g, within, coarsest(d.o.Parts), P.Shrink, salt, d.tallies)
	if d.err() != nil {
		return best
	}
	part := best
	for i, l := range levels[:len(levels)-1] {
		coarse := make([]int32, levels[i+1].n)
		for v, a := range l.coarse {
			coarse[a] = part[v]
		}
		part = coarse
	}
	return d.uncoarsen(levels, part, salt)
}

// uncoarsen refines part from the last of levels to the first.
func (d *driver) uncoarsen(levels []*level, part []int32, salt uint64) []int32 {
	for i := len(levels) - 1; i >= 0; i-- {
		g := levels[i]
		if i < len(levels)-1 {
			fine := make([]int32, g.n)
			for v, a := range g.coarse {
				fine[v] = part[a]
			}
			part = fine
			g.coarse = nil
			levels[i+1] = nil
		}
		d.progress.at(0.4 + 0.6/float64(int(1)<<(i+1)))
		d.refine(g, part, i, mix(salt+uint64(i)))
		if d.err() != nil {
			return nil
		}
	}
	return part
}

func (d *driver) refine(g *level, part []int32, at int, salt uint64) {
	s := d.newState(g, d.aim.lim, part, true)
	if at == 0 {
		s.populate()
	}
	before := d.cutOf(s)
	d.climber.rebalance(d.crew, s)
	mid := d.cutOf(s)
	d.sweeper.sweep(d.crew, s, &d.climber, P.Rounds, P.Patience, P.Temper)
	jet := d.cutOf(s)
	if g.edges() < int64(P.ClimbEdges) {
		d.climber.climb(d.crew, s, P.ClimbRounds, P.Seeds, P.ClimbPatience, salt)
	}
	if P.Trace {
		println("level", at, "n", g.n, "edges", g.edges(), "cut", before, mid, jet, d.cutOf(s), "over", int(s.over()*1e6))
	}
	trace("refine", nil)
}
