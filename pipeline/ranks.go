package pipeline

import (
	"context"
	"encoding/json"
	"fmt"
)

// Ranks is what a process of several knows and asks of the others. Each has parts of the run, rank 0 the first ones, and so on.
type Ranks interface {
	Rank() int
	Ranks() int
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
)

// leads reports whether the process is rank 0.
func (o *Options) leads() bool { return o.Ranks == nil || o.Ranks.Rank() == 0 }

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
	from, err := t.o.Ranks.Gather(ctx, tag, raw)
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
	if raw, err = t.o.Ranks.Broadcast(ctx, tag, raw); err != nil {
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
