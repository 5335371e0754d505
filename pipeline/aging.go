package pipeline

import (
	"cmp"
	"context"
	"errors"
	"slices"

	"capgnn/gpu"
	"capgnn/internal/learn"
	"capgnn/internal/together"
	"capgnn/internal/trainer"
	"capgnn/jaca"
	"capgnn/pipeline/halo"
)

// settleAging makes a run in which no row of another part can be of an earlier epoch one of staleness 0, so that it has its order of
// operations, its bits and its speed (docs/adr/0020).
func (t *Trainer) settleAging() error {
	ages, err := t.mayAge()
	if err == nil && !ages && t.Ages() {
		t.o.Cache.Staleness, t.o.Cache.ExactEpochs = 0, 0
		t.chooseOrder()
	}
	return err
}

// mayAge reports whether rows of other parts may be of an earlier epoch: not all epochs are exact, and exchanges allow it.
func (t *Trainer) mayAge() (bool, error) {
	if t.o.exactThroughout() {
		return false, nil
	}
	c, err := t.exchangeFacts()
	if err != nil {
		return false, err
	}
	return c.MayAge()
}

// lacksMemoryToAge reports whether placing a run ended with err because memory leaves no room for rows that age: none for a slot, or none for
// what the order of stale rows takes besides.
func (t *Trainer) lacksMemoryToAge(err error) bool {
	c := &t.o.Cache
	asked := c.Slots != nil || c.Local != (jaca.Size{})
	var oom *gpu.OutOfMemory
	return errors.Is(err, halo.ErrNoSlots) || t.Ages() && !c.Pipeline && !asked && t.halo.Caches() == nil && errors.As(err, &oom)
}

// agree returns err, with which building ended on the parts of this process, or halo.ErrNoSlots if another one lacks memory to age: all of them
// build anew then.
func (t *Trainer) agree(err error) error {
	lacks := make([]bool, len(t.workers))
	for i := range lacks {
		lacks[i] = t.lacksMemoryToAge(err)
	}
	all, failed := together.Gather(context.WithoutCancel(t.Hub.Context()), t.Talk(), trainer.TagBuilt, lacks) // err has ended the run of this process
	if err == nil && slices.Contains(all, true) {
		err = halo.ErrNoSlots
	}
	return cmp.Or(err, failed)
}

// newExact is New for a run for whose slots there is no memory: without slots, so that nothing ages.
func newExact(ctx context.Context, p *learn.Problem, o Options) (*Trainer, error) {
	o.Cache.Slots = make([]int, o.Parts+1)
	t, err := New(ctx, p, o)
	if err == nil {
		t.replaced = true
	}
	return t, err
}

// Replaced reports whether New placed the run twice, the second time in another order of operations: devices' high-water marks are those
// of both.
func (t *Trainer) Replaced() bool { return t.replaced }

// exactThroughout reports whether all epochs of a run use rows of their own: the exact ones and the first behind them do.
func (o *Options) exactThroughout() bool {
	return o.Epochs > 0 && o.Epochs <= o.Cache.ExactEpochs+1
}
