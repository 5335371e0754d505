package balance

import (
	"context"
	"errors"
	"slices"

	"capgnn/rapa"
)

// recut cuts the graph anew, with shares and weights by what the parts cost the devices before, and keeps the best partition.
func (b *balancer) recut(ctx context.Context) error {
	if b.opt.Cut == nil {
		return nil
	}
	var all []candidate
	opt, plan := b.Partition, b.Plan
	for round := 0; ; round++ {
		b.part = plan.Part
		e, err := b.estimate(ctx)
		if err != nil {
			return err
		}
		c := newCandidate(e, plan.Part)
		c.plan, c.trace = plan, []rapa.Iteration{e.iteration()}
		if round > 0 {
			c.trace = append(slices.Clip(all[0].trace), c.trace...)
		}
		all = append(all, c)
		if round == Recuts || round > 0 && c.sigma < tolerance && c.lack == 0 {
			break
		}
		if err := b.learn(&opt, e, round); err != nil {
			return err
		}
		plan, err = b.opt.Cut(ctx, opt)
		var infeasible *rapa.InfeasibleError
		if errors.As(err, &infeasible) {
			break // as the parts of a cut; single vertices may still be moved out of them
		}
		if err != nil {
			return err
		}
	}
	c := best(all)
	b.Plan, b.part, b.placed, b.trace = c.plan, c.part, c.part, c.trace
	return nil
}

// learn changes the options of the next cut to what the parts cost by e. Memory is balanced where it is tight.
func (b *balancer) learn(opt *rapa.Options, e *Estimate, round int) (err error) {
	if opt.Targets, err = rapa.TargetsByCost(e.Costs, e.whole(), e.Memory); err != nil {
		return err
	}
	opt.Seed, opt.MaxEffort = b.Partition.Seed+uint64(round), recutEffort
	if b.opt.ByWork {
		opt.BalanceBy, opt.Work = []rapa.Quantity{rapa.ByWork}, e.work()
	}
	if e.tight() && !slices.Contains(opt.BalanceBy, rapa.ByMemory) {
		opt.BalanceBy = append(slices.Clip(opt.BalanceBy), rapa.ByMemory)
	}
	opt.Memory = e.Memory
	return nil
}

// assign gives parts to devices so that the largest cost is least.
func (b *balancer) assign(ctx context.Context) error {
	if !b.opt.Assign {
		return nil
	}
	before, err := b.estimate(ctx)
	if err != nil {
		return err
	}
	device, err := rapa.Assign(before.Counts, before.Costs, rapa.Footprint{}, nil)
	if err != nil {
		return err
	}
	old, assigned := b.part, make([]int32, len(b.part))
	for v, p := range old {
		assigned[v] = int32(device[p])
	}
	b.part = assigned
	after, err := b.estimate(ctx)
	if err != nil {
		return err
	}
	if newCandidate(before, old).compare(newCandidate(after, assigned)) <= 0 {
		b.part = old
		return nil
	}
	b.placed, b.trace = assigned, append(b.trace, after.iteration())
	return nil
}

// move lets inner vertices change parts until all parts cost the same, or until that brings nothing more.
func (b *balancer) move(ctx context.Context) error {
	if !b.opt.Move {
		return nil
	}
	var all []candidate
	for trace, stop := b.trace, b.stop; ; {
		e, err := b.estimate(ctx)
		if err != nil {
			return err
		}
		last := newCandidate(e, b.part)
		last.trace, last.stop = trace, stop
		all = append(all, last)
		if len(all) > moveRounds || best(all).compare(last) < 0 {
			break // what was moved last brought nothing
		}
		r, err := rapa.Rebalance(ctx, b.Graph, b.part, e.Costs, rapa.RebalanceOptions{Tolerance: tolerance, Memory: e.Memory})
		if err != nil {
			return err
		}
		trace, stop, b.part = append(slices.Clip(trace), r.Trace...), r.Stop, r.Part
		if r.Moved == 0 {
			break
		}
	}
	c := best(all)
	b.part, b.trace, b.stop = c.part, c.trace, c.stop
	return nil
}

// prune drops replicas of halo vertices within MaxPrune.
func (b *balancer) prune(ctx context.Context) error {
	if b.opt.MaxPrune == 0 {
		return nil
	}
	e, err := b.estimate(ctx)
	if err != nil {
		return err
	}
	b.lost, err = rapa.Adjust(ctx, b.Graph, b.part, e.Costs, rapa.AdjustOptions{MaxPrune: b.opt.MaxPrune, Score: b.opt.Score,
		SelfLoops: b.SelfLoops, Memory: e.Memory})
	if err == nil {
		b.trace, b.stop = append(b.trace, b.lost.Trace...), b.lost.Stop
	}
	return err
}

// trim drops the share Trim of the cut edges.
func (b *balancer) trim(ctx context.Context) (err error) {
	if b.opt.Trim == 0 {
		return nil
	}
	b.lost, err = rapa.Trim(ctx, b.Graph, b.part, b.parts, rapa.TrimOptions{Share: b.opt.Trim, Score: b.opt.Score, SelfLoops: b.SelfLoops})
	return err
}
