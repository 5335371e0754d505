package multilevel

import (
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
	c := &crew{ctx, o.Threads}
	d := &driver{crew: c, o: o, edges: u.Edges(), aim: aim{targets: o.Targets, lim: newLimits(o.Parts, o.Constraints)}}
	d.progress = progress{tell: o.Progress, runs: 2*o.Effort - 1}
	if o.Effort > 1 {
		d.progress.runs += cycles
	}
	g := newLevel(u, o.Constraints)
	part := d.run(g)
	if err := c.err(); err != nil {
		return nil, err
	}
	if err := d.newState(g, d.aim.lim, part).violation(); err != nil {
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

// cycles is the number of times that the best of several partitions is combined with itself.
const cycles = 2

// driver holds what all levels share.
type driver struct {
	*crew
	o        Options
	aim      aim
	edges    int64 // stored edges of the input
	climber  climber
	sweeper  sweeper
	tallies  []*tally
	progress progress
	border   []int32 // that of the last level refined
	// forVolume is the input with edges weighed for the volume, once it was needed.
	forVolume *level
}

// run makes Effort partitions and combines them.
//
// Method: every further partition is combined with the best so far: the graph is coarsened without joining vertices that one
// of the two tells apart, so that both are partitions of the coarsest graph; the better one is refined from there up. At the
// end the best is combined with itself. What does not become better by that is dropped. For the volume, every other partition
// begins with edges weighed by weighVolume.
//
// Source: Sanders and Schulz, "Distributed evolutionary graph partitioning", 2012.
func (d *driver) run(g *level) []int32 {
	d.tallies = newTallies(d.threads, g.n)
	best := d.attempt(d.weighed(g, 0), d.o.Seed)
	keep := func(a attempt) {
		if d.err() == nil {
			best = bestOf([]attempt{best, a})
		}
	}
	for i := 1; i < d.o.Effort && d.err() == nil; i++ {
		other := d.attempt(d.weighed(g, i), mix(d.o.Seed+uint64(i)))
		if d.err() != nil {
			break
		}
		first := bestOf([]attempt{best, other})
		if &first.part[0] == &other.part[0] {
			best, other = other, best
		}
		keep(d.combine(d.weighed(g, i), best.part, other.part, mix(d.o.Seed+uint64(i)*977)))
	}
	if d.o.Effort > 1 {
		for i := range cycles {
			if d.err() != nil {
				break
			}
			keep(d.combine(d.weighed(g, i), best.part, best.part, mix(d.o.Seed^uint64(i)*7919)))
		}
	}
	return best.part
}

// weighed returns g, for attempt i of the objective Volume with edges weighed for it if i is odd.
func (d *driver) weighed(g *level, i int) *level {
	if d.o.Objective != Volume || i%2 == 0 {
		return g
	}
	if d.forVolume == nil {
		d.forVolume = d.weighVolume(g)
	}
	return d.forVolume
}

// attempt makes a partition from scratch.
func (d *driver) attempt(g *level, salt uint64) attempt {
	defer d.progress.next()
	levels := d.coarsen(g, nil, coarsest(d.o.Parts), d.shrink(), salt, d.tallies)
	if d.err() != nil {
		return attempt{}
	}
	d.progress.at(0.3)
	tries := growths
	if d.o.Effort == 1 {
		tries = fewGrowths
	}
	part := d.initial(levels[len(levels)-1], d.aim, tries, mix(salt))
	return d.uncoarsen(levels, part, salt)
}

// combine refines best again, from a coarsening that keeps apart what best or other keeps apart.
func (d *driver) combine(g *level, best, other []int32, salt uint64) attempt {
	defer d.progress.next()
	within := make([]int32, g.n)
	for v := range within {
		within[v] = best[v]*int32(d.o.Parts) + other[v]
	}
	levels := d.coarsen(g, within, coarsest(d.o.Parts), d.shrink(), salt, d.tallies)
	if d.err() != nil {
		return attempt{}
	}
	part := best
	for i, l := range levels[:len(levels)-1] {
		coarse := make([]int32, levels[i+1].n)
		for v, a := range l.coarse {
			coarse[a] = part[v]
		}
		part = coarse
	}
	if len(levels) == 1 {
		part = slices.Clone(best)
	}
	return d.uncoarsen(levels, part, salt)
}
