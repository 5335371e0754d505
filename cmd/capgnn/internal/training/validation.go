package training

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"capgnn/cmd/capgnn/internal/ranks"
	"capgnn/internal/learn"
)

// noteValidation says what chooses the best weights where validation has no score, and which settings then have no effect.
func (t *Run) noteValidation(ctx context.Context) error {
	p := t.Data.Problem
	has := slices.Contains(p.Val, true)
	if t.Ranks != nil && p.Shards != nil { // each knows those of its shards
		all, err := ranks.All(ctx, t.Ranks, has)
		if err != nil {
			return err
		}
		has = slices.Contains(all, true)
	}
	lacks := "no validation vertices"
	if has && !t.Config.BestByLoss() && !t.metric().Scores(p, p.Val) {
		has, lacks = false, "validation vertices that have no "+string(t.metric())
	} else if has && p.Shards == nil && !learn.Auto.Scores(p, p.Val) {
		has, lacks = false, "validation vertices without labels"
	}
	if has {
		return nil
	}
	var idle []string
	if t.Config.BestByLoss() {
		idle = append(idle, "--best-by "+t.Config.BestBy)
	}
	if t.Config.Patience > 0 {
		idle = append(idle, fmt.Sprintf("--patience %d", t.Config.Patience))
	}
	text := ""
	switch len(idle) {
	case 1:
		text = "; " + idle[0] + " has no effect"
	case 2:
		text = "; " + strings.Join(idle, " and ") + " have no effect"
	}
	t.Console.Note("note: %s has %s: the newest weights count as the best%s", t.Data.Name, lacks, text)
	return nil
}
