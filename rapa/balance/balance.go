package balance

import (
	"cmp"
	"context"
	"errors"
	"fmt"

	"capgnn/rapa"
)

const (
	// Recuts bounds how often the graph is cut anew.
	Recuts = 3
	// recutEffort bounds the attempts of a recut (rapa.Options.MaxEffort). What a recut gains is shares that fit the devices; a better
	// cut for each of up to four plans is paid for four times, and one is used.
	recutEffort = 2
	// moveRounds bounds how often vertices move; after each round parts are estimated anew.
	moveRounds = 6
	// MaxEstimates bounds how often Fit asks the Estimator: the cuts, before and after Assign, the rounds of Move, before Prune.
	MaxEstimates = (Recuts + 1) + 2 + (moveRounds + 1) + 1
	// tolerance is the deviation of the loads over their mean at which nothing more is done, the paper's ε.
	tolerance = 0.01
)

// Problem is what is balanced.
type Problem struct {
	Graph     rapa.Directions
	Train     []bool       // training vertices; nil = none are counted
	SelfLoops bool         // the model adds a loop to every vertex: scores of pruning count it
	Plan      *rapa.Plan   // the partitioner's, with which Fit begins
	Partition rapa.Options // by which Plan was made; recuts change its targets, seed, memory and what is balanced
}

// Options say what may be done to the parts. The zero value changes nothing.
type Options struct {
	// Cut partitions the graph anew with these options; nil: the first plan is not cut anew. A *rapa.InfeasibleError ends the
	// recuts, and the best partition so far goes on.
	Cut func(context.Context, rapa.Options) (*rapa.Plan, error)
	// ByWork makes recuts share out work (rapa.ByWork) in place of what Partition.BalanceBy names.
	ByWork bool
	Assign bool // parts may change devices: each device has exactly one
	Move   bool // inner vertices may change parts
	// MaxPrune is the largest share of the cut edges that may be dropped to balance the parts, and Trim the share that is
	// dropped in any case.
	MaxPrune, Trim float64
	Score          rapa.PruneScore // of what is dropped first; "" = the default
}

// Fit returns the plan of p with its parts fitted to the devices. Costs, Trace, Stop, Dropped and Lost of the plan say what was
// done; Key and Seconds are those of the cut that it came from, Devices and DeviceOf are not set.
func Fit(ctx context.Context, p Problem, e Estimator, opt Options) (*rapa.Plan, error) {
	b, err := newBalancer(p, opt)
	if err != nil {
		return nil, err
	}
	b.estimator = e
	return b.run(ctx, b.recut, b.assign, b.move, b.prune, b.trim)
}

// Trim returns the plan of p with the share opt.Trim of its cut edges dropped; all else of opt but Score is not looked at.
// No device must be known for it.
func Trim(ctx context.Context, p Problem, opt Options) (*rapa.Plan, error) {
	b, err := newBalancer(p, opt)
	if err != nil {
		return nil, err
	}
	return b.run(ctx, b.trim)
}

// balancer is the state of a Fit.
type balancer struct {
	Problem
	opt       Options
	estimator Estimator
	parts     int
	part      []int32
	placed    []int32 // the partition before Move: vertices that differ from it were moved
	trace     []rapa.Iteration
	stop      rapa.Stop
	costs     []rapa.PartCost // of the last estimate
	lost      *rapa.Adjustment
}

func newBalancer(p Problem, opt Options) (*balancer, error) {
	n, parts := p.Graph.In.Rows(), len(p.Plan.Parts)
	switch {
	case parts == 0:
		return nil, errors.New("balance parts: the plan has no parts")
	case parts > n:
		return nil, fmt.Errorf("balance parts: %d parts are more than the graph's %d vertices", parts, n)
	case len(p.Plan.Part) != n:
		return nil, fmt.Errorf("balance parts: the plan is of %d vertices, the graph has %d", len(p.Plan.Part), n)
	}
	return &balancer{Problem: p, opt: opt, parts: parts, part: p.Plan.Part, placed: p.Plan.Part}, nil
}

// run makes the steps in order and the plan of what came out.
func (b *balancer) run(ctx context.Context, steps ...func(context.Context) error) (*rapa.Plan, error) {
	for _, step := range steps {
		if err := errors.Join(step(ctx), ctx.Err()); err != nil {
			return nil, err
		}
	}
	return b.finish()
}

// estimate asks for the parts as they are and keeps the table of what they cost.
func (b *balancer) estimate(ctx context.Context) (*Estimate, error) {
	e, err := b.estimator.Estimate(ctx, b.part)
	if err != nil {
		return nil, err
	}
	if err := e.check(b.parts); err != nil {
		return nil, fmt.Errorf("balance parts: the estimate has %w", err)
	}
	b.costs = e.Costs
	return &e, nil
}

// finish makes the plan of the parts.
func (b *balancer) finish() (*rapa.Plan, error) {
	plan := *b.Plan
	moved := int64(0)
	for v, q := range b.placed {
		if b.part[v] != q {
			moved++
		}
	}
	if err := plan.Repartition(b.Graph.In, b.Train, &rapa.Rebalanced{Part: b.part, Moved: moved}); err != nil {
		return nil, err
	}
	plan.Costs, plan.Trace = b.costs, b.trace
	if n := len(b.trace); n > 0 {
		plan.Stop = cmp.Or(b.stop, rapa.StopMoves)
		if b.stop == "" && b.trace[n-1].Sigma < tolerance {
			plan.Stop = rapa.StopBalanced
		}
	}
	plan.Devices, plan.DeviceOf = nil, nil
	if b.lost != nil {
		plan.Dropped, plan.Lost = b.lost.Dropped, b.lost.Lost
		if plan.Dropped != nil {
			plan.Score = cmp.Or(b.opt.Score, rapa.PruneScores[0])
		}
	}
	return &plan, nil
}
