package rapa

import (
	"context"
	"errors"
	"fmt"
)

// TrimOptions says what Trim drops.
type TrimOptions struct {
	Share     float64    // of each part's cut edges, in [0, 1]
	Score     PruneScore // "" = the default
	SelfLoops bool       // as in AdjustOptions
}

// Trim drops the replicas of lowest score of every part until about a share of its cut edges is gone, never more,
// whatever the parts cost. Less is exchanged in every epoch, and the model sees fewer edges. The last iteration of
// the trace is the result; its costs are cut edges.
//
// Method: as Adjust, with a quota for each part instead of the mean; parts are visited in order, and overlap ratios
// fall as in Adjust.
func Trim(ctx context.Context, d Directions, part []int32, parts int, opt TrimOptions) (*Adjustment, error) {
	costs := make([]PartCost, parts)
	for i := range costs {
		costs[i].PerOuter = 1
	}
	o, err := AdjustOptions{MaxPrune: opt.Share, Score: opt.Score, SelfLoops: opt.SelfLoops}.resolve(parts)
	counts, countErr := Count(d, part, parts)
	if err := errors.Join(err, countErr); err != nil {
		return nil, fmt.Errorf("trim parts: %w", err)
	}
	a := newAdjuster(counts, part, costs, o)
	a.trace = record(a.trace, observe(a.counts, a.costs, o.Memory))
	a.enlist(newScorer(d, part, parts, o).replicas())
	for i := range parts {
		if err := ctx.Err(); err != nil {
			return nil, fmt.Errorf("trim parts: %w", err)
		}
		quota := int64(opt.Share * float64(a.counts[i].Outer))
		for h := &a.waiting[i]; h.len() > 0 && int64(a.replicas[h.top()].edges) <= quota; {
			quota -= int64(a.replicas[h.top()].edges)
			a.drop(h.pop())
		}
	}
	a.trace = record(a.trace, observe(a.counts, a.costs, o.Memory))
	return a.result(StopMaxPrune), nil
}
