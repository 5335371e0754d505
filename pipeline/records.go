package pipeline

import (
	"time"

	"capgnn/gpu"
	"capgnn/internal/learn"
	"capgnn/jaca"
)

// partEpoch is what one part has done in an epoch of training.
type partEpoch struct {
	Loss             learn.Number
	Usage, Gradients gpu.Usage // as in EpochStats
	Halo             jaca.Stats
	Checking         time.Duration
	Train, Reduce    time.Duration // of its process
	Chunk            *chunkRecord  `json:",omitempty"` // of an isolated part
	Stop             bool          // its process has been asked to end
	Pairs            []RankPair    // at the first part of a process: what others have sent it
}

// epochOf returns the records of the parts of this process behind an epoch, whose times are in e. before and reduced are what they had done before it.
func (t *Trainer) epochOf(e *EpochStats, before, reduced []gpu.Usage) []partEpoch {
	own, stop := make([]partEpoch, len(t.workers)), t.asked != nil && t.asked.Err() != nil
	for i, w := range t.workers {
		r := &own[i]
		r.Loss, r.Usage, r.Gradients = learn.Number(w.lossValue()), w.usage().Sub(before[i]), w.reduction().Sub(reduced[i])
		r.Halo, r.Checking = w.ep.TakeStats()
		r.Train, r.Reduce = e.Train, e.Reduce
		r.Stop = stop
		if w.hold != nil {
			r.Chunk = &w.hold.record
		}
	}
	own[0].Pairs = t.receivedInEpoch()
	return own
}

// sum enters the records of all parts, in part order. Whatever is decided between two epochs is decided by that.
func (e *EpochStats) sum(all []partEpoch) {
	for i := range all {
		r := &all[i]
		e.Loss += float64(r.Loss)
		e.Train, e.Reduce = max(e.Train, r.Train), max(e.Reduce, r.Reduce)
		e.Usage, e.Gradients = e.Usage.Add(r.Usage), e.Gradients.Add(r.Gradients)
		e.Halo.Add(r.Halo)
		e.CheckCache += r.Checking / time.Duration(len(all))
		e.Parts, e.HaloParts, e.CheckParts = append(e.Parts, r.Usage), append(e.HaloParts, r.Halo), append(e.CheckParts, r.Checking)
		e.Pairs = append(e.Pairs, r.Pairs...)
		if r.Chunk != nil {
			e.Isolated.add(r.Chunk)
		}
	}
}
