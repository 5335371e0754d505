package rapa

import (
	"context"
	"fmt"
	"time"

	"capgnn/graph"
)

// Partition cuts g into opt.Parts parts.
//
// g may be directed; loops are ignored and for the cut an edge counts once whatever its directions. train marks training
// vertices (nil: none are balanced). progress, if given, is called now and then from this goroutine with the share of the
// work that is done. The result depends on g, train and opt only. It fails on impossible options and when ctx ends.
func Partition(ctx context.Context, g *graph.CSR, train []bool, opt Options, progress func(done, total int)) (*Plan, error) {
	start := time.Now()
	n := g.Rows()
	if g.Cols != n {
		return nil, fmt.Errorf("partition: the graph has %d rows and %d columns, want a square one", n, g.Cols)
	}
	if train != nil && len(train) != n {
		return nil, fmt.Errorf("partition: %d training marks for %d vertices", len(train), n)
	}
	o, err := opt.resolve(n, g.Edges())
	if err != nil {
		return nil, fmt.Errorf("partition: %w", err)
	}
	u := g.Symmetrise().WithoutLoops()
	l := newLoads(g, train, o)
	report := func(int, int) {}
	if progress != nil {
		report = progress
	}
	switch o.Method {
	case Random:
		placeRandom(l, o.Targets, o.Seed)
		report(n, n)
	case Streaming:
		l, err = bestTrial(ctx, u, l, o, report)
	default:
		err = cutMultilevel(ctx, g, u, l, o, report)
	}
	if err != nil {
		return nil, fmt.Errorf("partition: %w", err)
	}
	plan := measure(g, u, l, o)
	plan.Key, plan.Graph = Key(g, train, opt), opt.Graph
	plan.Seconds = time.Since(start).Seconds()
	return plan, nil
}

// bestTrial streams and refines o.Trials times with different settings.
//
// Returns: the loads of the trial of least cost, ties to the first. Cost is the edge cut plus the in-edges above the soft
// bounds (a training vertex above its bound counts as one mean degree): a pair is stored twice, so an edge too many in
// one part weighs as much as two cut pairs, its transfer in both directions.
func bestTrial(ctx context.Context, u *graph.CSR, start *loads, o Options, report func(done, total int)) (*loads, error) {
	n := u.Rows()
	done, total := 0, o.Trials*(o.Passes+2)*n
	tick := func(k int) {
		done += k
		report(done, total)
	}
	var best *loads
	bestCost := 0.0
	for i := range o.Trials {
		l := start.clone()
		if err := stream(ctx, u, l, trialSetting(o.Seed, i), o.Passes, tick); err != nil {
			return nil, err
		}
		populate(u, l)
		if err := refine(ctx, u, l); err != nil {
			return nil, err
		}
		tick(n)
		if cost := float64(edgeCut(u, l.part)) + l.overload(float64(u.Edges())/float64(n)); best == nil || cost < bestCost {
			best, bestCost = l, cost
		}
	}
	return best, nil
}

// trialSetting returns setting i. The pairs (power, price) span those that won on the published graphs.
func trialSetting(seed uint64, i int) trial {
	return trial{seed: seed, start: uint64(i / 4), power: [...]float64{4, 2, 2, 4}[i%4], price: [...]float64{4, 2, 4, 2}[i%4]}
}

// populate gives every empty part one vertex: the one of fewest neighbours, lowest id first, from the part that is fullest
// in units of its target and holds more than one.
func populate(u *graph.CSR, l *loads) {
	for p := range l.sum {
		if l.sum[p][cVertices] > 0 {
			continue
		}
		donor := -1
		for q := range l.sum {
			if l.sum[q][cVertices] > 1 && (donor < 0 || l.fill(int32(q)) > l.fill(int32(donor))) {
				donor = q
			}
		}
		pick := -1
		for v := range l.part {
			if l.part[v] == int32(donor) && (pick < 0 || len(u.Row(v)) < len(u.Row(pick))) {
				pick = v
			}
		}
		l.place(pick, int32(p))
	}
}
