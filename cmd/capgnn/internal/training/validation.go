package training

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"capgnn/cmd/capgnn/internal/ranks"
)

// noteValidation says what chooses the best weights where there are no validation vertices, and which settings then have no effect.
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
	t.Console.Note("note: %s has no validation vertices: the newest weights count as the best%s", t.Data.Name, text)
	return nil
}
