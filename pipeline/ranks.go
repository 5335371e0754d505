package pipeline

import (
	"context"
	"fmt"
	"slices"

	"capgnn/cluster"
	"capgnn/gpu"
	"capgnn/internal/together"
	"capgnn/pipeline/link"
)

// Ranks connects this process to the other processes of a run. Each rank has consecutive parts, rank 0 the first
// ones.
type Ranks = together.Ranks

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
		compute = append(compute, w.Compute)
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
		t.reduce.Join(link.Over(t.o.Ranks, t.hub), gradientArea, weightArea, t.workers[0].Locking(t.o.Cache.Lock()))
	}
	t.halo.Join()
	return nil
}

// areas is the table of all areas of a run.
func (t placer) areas() (all []cluster.Area) {
	if t.reduce != nil {
		all = t.reduce.Areas(gradientArea, weightArea)
	}
	return append(all, t.halo.Areas()...)
}

// leads reports whether the process is rank 0.
func (o *Options) leads() bool { return o.Ranks == nil || o.Ranks.Rank() == 0 }

// talk is this process's side of what ranks say to each other.
func (t *Trainer) talk() together.Talk {
	return together.Talk{Ranks: t.o.Ranks, Parts: t.o.Parts, Names: tagNames[:], Waits: &t.gathering}
}

// collect returns at rank 0 what all ranks have given.
func (t *Trainer) collect(ctx context.Context, tag uint32, b []byte) ([][]byte, error) {
	return t.talk().Collect(ctx, tag, b)
}

// gather returns the records of all parts, in part order: those of this process, which are given, and those of the others.
func gather[T any](ctx context.Context, t *Trainer, tag uint32, own []T) ([]T, error) {
	return together.Gather(ctx, t.talk(), tag, own)
}

// fromRank0 returns what rank 0 has; in one process own.
func fromRank0[T any](ctx context.Context, t *Trainer, tag uint32, own T) (T, error) {
	if !t.joined {
		return own, nil
	}
	return together.First(ctx, t.talk(), tag, own)
}
