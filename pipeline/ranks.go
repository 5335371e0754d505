package pipeline

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"slices"

	"capgnn/gpu"
	"capgnn/jaca"
	"capgnn/pipeline/halo"
)

// Ranks is what a process of several knows and asks of the others. Each has parts of the run, rank 0 the first ones, and so on.
type Ranks interface {
	halo.Net
	// Announce says which areas there are: from, to, number and bytes of each. All ranks call it once, with the same table, before Send and Expect; it returns
	// when all have.
	Announce(ctx context.Context, areas [][4]int) error
	// SetEpoch says which epoch this process computes now: for lines that name a loss.
	SetEpoch(epoch uint32)
	// Received returns the bytes that another rank has sent so far: those in areas of this one, counted before it is told of them, and those of all frames.
	Received(from int) (rows, frames int64)
	// Done is closed when the others cannot be reached any more, Err says why.
	Done() <-chan struct{}
	Err() error
	// Gather returns at rank 0 what every rank has given, by rank; elsewhere nil.
	Gather(ctx context.Context, tag uint32, b []byte) ([][]byte, error)
	// Broadcast returns at every rank what rank 0 has given.
	Broadcast(ctx context.Context, tag uint32, b []byte) ([]byte, error)
}

// What ranks tell each other, in the order of a run: a record of each part, which any rank can make a sum of.
const (
	tagFacts uint32 = 1 + iota
	tagBuilt
	tagEpoch
	tagEvaluation
	tagDivergence
	tagResult
	tagResume
	tagFound
	tagSave
	tagSection
	tagOutputs
	tagScores
	tagHalo
)

// tagNames says what a rank waits for while it gathers.
var tagNames = [...]string{tagFacts: "what others know of their devices", tagBuilt: "others to place their parts", tagEpoch: "the numbers of the epoch",
	tagEvaluation: "scores", tagDivergence: "outputs that are no numbers", tagResult: "the last numbers",
	tagResume: "rank 0 to say how the run begins", tagSave: "rank 0 to decide if a checkpoint follows", tagFound: "rank 0 to read the checkpoint", tagSection: "a piece of the checkpoint", tagOutputs: "predictions", tagScores: "scores of vertices", tagHalo: "what others hold of halo rows"}

// Numbers of areas: of gradients and weights between neighbours, then one for each part, of its rows.
const (
	gradientArea uint32 = iota
	weightArea
	firstRowArea
)

// several reports whether rows and gradients of this process travel to others. What only keeps accounts moves nothing.
func (o *Options) several() bool {
	return o.Ranks != nil && o.Ranks.Ranks() > 1 && slices.ContainsFunc(o.Devices, func(d gpu.Device) bool { return !keepsAccounts(d) })
}

// checkRanks says what does not go with several ranks.
func (o *Options) checkRanks() error {
	switch {
	case !o.several():
	case o.Cache.Staleness.Auto():
		return fmt.Errorf("staleness %v over %d ranks: probes compare gradients within one process: set a number of epochs", o.Cache.Staleness, o.Ranks.Ranks())
	case !cmp.Or(o.Cache.Policy, jaca.None).Static():
		return fmt.Errorf("policy %s over %d ranks: it works within one process: choose none or jaca", o.Cache.Policy, o.Ranks.Ranks())
	}
	return nil
}

// join lets gradients, weights and rows travel to other ranks.
func (t placer) join() error {
	if !t.o.several() {
		return nil
	}
	t.pairs = newPairs(t.o.Ranks, t.halo.Facts)
	if err := t.o.Ranks.Announce(t.hub.Context(), t.areas()); err != nil {
		return fmt.Errorf("agree on the memory between ranks: %w", err)
	}
	t.joined = true
	var compute []gpu.Queue
	for _, w := range t.workers {
		compute = append(compute, w.compute)
	}
	t.watch = t.hub.Watch(t.o.First, compute)
	go func() { // ends with the run
		select {
		case <-t.o.Ranks.Done():
			t.hub.Fail(t.o.Ranks.Err())
		case <-t.hub.Context().Done():
		}
	}()
	if t.reduce != nil {
		t.reduce.Join(t.o.Ranks, gradientArea, weightArea, t.locking(t.workers[0], t.o.Cache.Lock()))
	}
	t.halo.Join()
	return nil
}

// areas is the table of all areas of a run.
func (t placer) areas() (all [][4]int) {
	if t.reduce != nil && t.reduce.Bytes() > 0 {
		n := t.reduce.Bytes()
		for behind := 1; behind < t.o.Ranks.Ranks(); behind++ {
			all = append(all, [4]int{behind - 1, behind, int(gradientArea), n}, [4]int{behind, behind - 1, int(weightArea), n})
		}
	}
	for _, a := range t.halo.Areas() {
		all = append(all, [4]int{a.From, a.To, int(a.Number), a.Bytes})
	}
	return all
}

// leads reports whether the process is rank 0.
func (o *Options) leads() bool { return o.Ranks == nil || o.Ranks.Rank() == 0 }

// collect and spread are Gather and Broadcast of the ranks, with what ended the run where that keeps them from it.
func (t *Trainer) collect(ctx context.Context, tag uint32, b []byte) ([][]byte, error) {
	t.gathering.Store(&tagNames[tag])
	defer t.gathering.Store(nil)
	all, err := t.o.Ranks.Gather(ctx, tag, b)
	return all, causeOf(ctx, err)
}

func (t *Trainer) spread(ctx context.Context, tag uint32, b []byte) ([]byte, error) {
	t.gathering.Store(&tagNames[tag])
	defer t.gathering.Store(nil)
	b, err := t.o.Ranks.Broadcast(ctx, tag, b)
	return b, causeOf(ctx, err)
}

// causeOf returns what has ended a context in place of the error that it has ended.
func causeOf(ctx context.Context, err error) error {
	if err != nil && ctx.Err() != nil {
		return context.Cause(ctx)
	}
	return err
}

// gather returns the records of all parts, in part order: those of this process, which are given, and those of the others. All sums over parts
// are made of such records, so they are the same at every rank.
func gather[T any](ctx context.Context, t *Trainer, tag uint32, own []T) ([]T, error) {
	if t.o.Ranks == nil {
		return own, nil
	}
	raw, err := json.Marshal(own)
	if err != nil {
		return nil, err
	}
	from, err := t.collect(ctx, tag, raw)
	if err != nil {
		return nil, err
	}
	raw = nil
	if t.o.leads() {
		var all []json.RawMessage
		for rank, b := range from {
			var some []json.RawMessage
			if err := json.Unmarshal(b, &some); err != nil {
				return nil, fmt.Errorf("read records of rank %d: %w", rank, err)
			}
			all = append(all, some...)
		}
		if raw, err = json.Marshal(all); err != nil {
			return nil, err
		}
	}
	if raw, err = t.spread(ctx, tag, raw); err != nil {
		return nil, err
	}
	var all []T
	if err := json.Unmarshal(raw, &all); err != nil {
		return nil, fmt.Errorf("read records of rank 0: %w", err)
	}
	if len(all) != t.o.Parts {
		return nil, fmt.Errorf("ranks have records of %d parts, the run has %d", len(all), t.o.Parts)
	}
	return all, nil
}
