package minibatch

import (
	"context"
	"math"
	"time"

	"capgnn/gnn"
	"capgnn/internal/learn"
)

// merging says how many time steps of Hop each epoch drops: none in the first epoch, one more in each epoch behind it, up to one more than are dropped for good. How many these are
// is decided before the first epoch, by counts (design.fewest), or by the times of epochs (HopGNN, section 5.3): the first one that took no less time than the one before ends the
// search. It is in checkpoints.
type merging struct {
	Decided bool
	Kept    int           // time steps that are dropped for good; with Decided
	Last    time.Duration // of the epoch before; without Decided
	most    int           // time steps that can be dropped
}

// newMerging returns that of so many parts which o wants.
func newMerging(s *Sampling, parts int) merging {
	m := merging{most: parts - 1}
	switch {
	case s.Place != Hop || s.NoMerge || s.Local || parts == 1:
		return merging{Decided: true}
	case s.Merged != nil:
		m.Decided, m.Kept = true, min(*s.Merged, m.most)
	}
	return m
}

// fewest returns how many time steps a step of Hop drops where it moves the fewest bytes between parts: rows, as the first epoch's steps read them without a cache, and sums of gradients
// that models bring along. It looks at some steps, and at nothing that changes no bit: caches, links, or whether rows are gathered.
func (d *design) fewest(ctx context.Context, p *learn.Problem, o *Options, r *roots) (best int, err error) {
	s, steps, least := d.sampler(p), min(mergeProbes, r.steps), int64(math.MaxInt64)
	x := sampledUnit{group: new(group)}
	for merged := range r.merging.most + 1 {
		moved := 4 * gnn.FlatLen(o.Model) * int64(steps*r.parts*(r.units-1-merged))
		for part := range r.parts {
			g := d.stageOf(p, o, part)
			g.apart = false
			for k := range steps * r.units {
				if err := ctx.Err(); err != nil {
					return 0, err
				}
				batch := r.steps * (k / r.units) / steps
				x.unit, x.counts = k%r.units, Counts{}
				x.roots = r.merged(batch, part, x.unit, merged, x.roots)
				s.Draw(&x.stack, uint32(batch), x.roots)
				g.count(&x)
				moved += int64(x.counts.Bytes.Rows + x.counts.Bytes.IDs)
			}
		}
		if moved < least {
			best, least = merged, moved
		}
	}
	return best, nil
}

// mergeProbes is how many steps fewest looks at.
const mergeProbes = 4

// of returns how many time steps an epoch drops. It is a function of the outcome: who knows that repeats the search too.
func (m *merging) of(epoch int) int {
	if m.Decided && epoch > m.Kept+1 {
		return m.Kept
	}
	return min(epoch, m.most)
}

// probed returns how many time steps are dropped in the epochs that are looked at beforehand: none, as in the first epoch, and as many as can be. Units are the smallest and the
// largest there. It is the same for a run that knows the outcome: the order of operations and the size of areas follow from it.
func (m *merging) probed() []int {
	if m.most == 0 {
		return []int{0}
	}
	return []int{0, m.most}
}

// open reports whether an epoch is one of the search: nobody knows before its end how many time steps the next one drops, so nobody samples beyond it. A run that knows
// the outcome does not either: so policies see as far ahead, and the same rows are fetched.
func (m *merging) open(epoch int) bool {
	return m.most > 0 && (!m.Decided || epoch <= min(m.Kept+1, m.most))
}

// over says what an epoch took.
func (m *merging) over(epoch int, took time.Duration) {
	if m.Decided {
		return
	}
	if epoch > 0 && took >= m.Last {
		m.Decided, m.Kept = true, epoch-1
	} else if m.of(epoch) == m.most {
		m.Decided, m.Kept = true, m.most
	}
	m.Last = took
}

// kept returns the outcome: that of the search, or where it is not over, what repeats the epochs so far.
func (m *merging) kept() int {
	if m.Decided {
		return m.Kept
	}
	return m.most
}
