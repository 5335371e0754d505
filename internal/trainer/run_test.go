package trainer

import (
	"context"
	"fmt"
	"slices"
	"testing"

	"capgnn/internal/together"
)

// rank is one of several, of which nothing but its number is asked.
type rank struct {
	ranks
	at int
}

type ranks interface{ together.Ranks }

func (r rank) Rank() int  { return r.at }
func (r rank) Ranks() int { return 2 }

// told is an engine that only notes the epochs that are over.
type told struct {
	Engine
	over []int
}

func (e *told) Over(s *EpochStats) { e.over = append(e.over, s.Epoch) }

// Rank 0 alone calls back. All know that an epoch is over.
func TestEffectsOfRankZero(t *testing.T) {
	var calls []string
	engine := new(told)
	var o Options
	o.OnEpoch = func(e EpochStats) error {
		calls = append(calls, fmt.Sprintf("epoch %d", e.Epoch))
		return nil
	}
	for k := range 2 {
		o.Ranks = rank{at: k}
		f := &fitter{Trainer: &Trainer{Options: o, Engine: engine}, ctx: context.Background()}
		f.State.Batch = 3
		if err := f.Report(EpochStats{Epoch: 10 + k}); err != nil {
			t.Error(err)
		}
		if f.State.Batch != 0 {
			t.Errorf("rank %d: the next epoch begins with step %d", k, f.State.Batch)
		}
	}
	if !slices.Equal(calls, []string{"epoch 10"}) || !slices.Equal(engine.over, []int{10, 11}) {
		t.Errorf("%v was called, %v are over", calls, engine.over)
	}
}
