// Package balance fits the parts of a graph to unequal devices (load balancing).
//
// Its nouns: a Problem is a graph with the plan of the partitioner; an Estimator says what a partition would cost on the
// devices; an Estimate is its answer; Options say what may be done to the parts. Fit returns the plan of the parts that fit.
//
// # Contract
//
// The package knows devices only through the Estimator, so a table of costs will do in its place. Fit calls it with one
// partition at a time, from the caller's goroutine, at most MaxEstimates times. The answer must be a function of the
// partition. If it is, Fit is a function of its arguments too; it changes none of them. Errors of the Estimator and of
// Options.Cut are returned as they are. A device that cannot hold its smallest part is a *rapa.InfeasibleError.
//
// The estimate need not be linear, nor grow with the part. Fit then may not find the best parts, but it ends, and what it
// returns is never worse than the plan it began with, in the order of candidates: memory that lacks first, then the score, with
// a surcharge where loads are not balanced. Pruning is not estimated again.
//
// # Method
//
// Five steps, each of which keeps what it was given unless another partition is better:
//
//  1. Recut. The graph is cut anew, at most Recuts times, for the shares at which all parts cost the same by the table of
//     the last estimate (rapa.TargetsByCost).
//  2. Assign. Parts change devices so that the largest cost is least (rapa.Assign).
//  3. Move. Inner vertices change parts until the costs are equal (rapa.Rebalance), with a new estimate after each round.
//  4. Prune. Halo vertices are dropped until the costs are equal, within MaxPrune (rapa.Adjust; Algorithms 2 and 3 of the paper).
//  5. Trim. A fixed share of the cut edges is dropped (rapa.Trim).
//
// Why in rounds: a table is exact only for the parts that it was estimated for. Transfers, and how well computation hides
// them, depend on the cut.
//
// # Usage
//
//	plan, err := rapa.Partition(ctx, g, train, opt, nil)
//	p := balance.Problem{Graph: rapa.NewDirections(g), Train: train, Plan: plan, Partition: opt}
//	cut := func(ctx context.Context, o rapa.Options) (*rapa.Plan, error) { return rapa.Partition(ctx, g, train, o, nil) }
//	plan, err = balance.Fit(ctx, p, estimator, balance.Options{Cut: cut, ByWork: true, Assign: true, Move: true})
package balance
