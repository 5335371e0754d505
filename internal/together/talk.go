package together

import (
	"context"
	"encoding/json"
	"fmt"
	"sync/atomic"

	"capgnn/cluster"
	"capgnn/pipeline/link"
)

// Ranks is what a process of several knows and asks of the others. Each has parts of the run, rank 0 the first ones,
// and so on.
type Ranks interface {
	link.Transport
	// Announce says which areas there are. All ranks call it once, with the same ones, before Send and Expect; it
	// returns when all have.
	Announce(ctx context.Context, areas []cluster.Area) error
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

// Talk is a process's side of what ranks say to each other about a run.
type Talk struct {
	Ranks Ranks                   // nil: there is one process
	Parts int                     // of the run
	Names []string                // by tag: what a rank waits for meanwhile
	Waits *atomic.Pointer[string] // what this process waits for; nil: nothing
}

// Leads reports whether the process is rank 0.
func (t Talk) Leads() bool { return t.Ranks == nil || t.Ranks.Rank() == 0 }

// Collect is Ranks.Gather. Where the context has ended it returns what has ended that.
func (t Talk) Collect(ctx context.Context, tag uint32, b []byte) ([][]byte, error) {
	t.Waits.Store(&t.Names[tag])
	defer t.Waits.Store(nil)
	all, err := t.Ranks.Gather(ctx, tag, b)
	return all, causeOf(ctx, err)
}

// Spread is Ranks.Broadcast. Where the context has ended it returns what has ended that.
func (t Talk) Spread(ctx context.Context, tag uint32, b []byte) ([]byte, error) {
	t.Waits.Store(&t.Names[tag])
	defer t.Waits.Store(nil)
	b, err := t.Ranks.Broadcast(ctx, tag, b)
	return b, causeOf(ctx, err)
}

// Together returns when all ranks have called it.
func (t Talk) Together(ctx context.Context, tag uint32) error {
	_, err := t.Collect(ctx, tag, nil)
	if err == nil {
		_, err = t.Spread(ctx, tag, nil)
	}
	return err
}

// causeOf returns what has ended a context in place of the error that it has ended.
func causeOf(ctx context.Context, err error) error {
	if err != nil && ctx.Err() != nil {
		return context.Cause(ctx)
	}
	return err
}

// Gather returns the records of all parts, in part order: those of this process, which are given, and those of the others. All sums over parts
// are made of such records, so they are the same at every rank.
func Gather[T any](ctx context.Context, t Talk, tag uint32, own []T) ([]T, error) {
	if t.Ranks == nil {
		return own, nil
	}
	raw, err := json.Marshal(own)
	if err != nil {
		return nil, err
	}
	from, err := t.Collect(ctx, tag, raw)
	if err != nil {
		return nil, err
	}
	raw = nil
	if t.Leads() {
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
	if raw, err = t.Spread(ctx, tag, raw); err != nil {
		return nil, err
	}
	var all []T
	if err := json.Unmarshal(raw, &all); err != nil {
		return nil, fmt.Errorf("read records of rank 0: %w", err)
	}
	if len(all) != t.Parts {
		return nil, fmt.Errorf("ranks have records of %d parts, the run has %d", len(all), t.Parts)
	}
	return all, nil
}

// First returns what rank 0 has; in one process own.
func First[T any](ctx context.Context, t Talk, tag uint32, own T) (T, error) {
	if t.Ranks == nil {
		return own, nil
	}
	var raw []byte
	var err error
	if t.Leads() {
		if raw, err = json.Marshal(own); err != nil {
			return own, err
		}
	}
	if raw, err = t.Spread(ctx, tag, raw); err != nil {
		return own, err
	}
	var got T
	if err := json.Unmarshal(raw, &got); err != nil {
		return own, fmt.Errorf("read what rank 0 says: %w", err)
	}
	return got, nil
}
