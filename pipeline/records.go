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
	CPU              time.Duration // at the first part of a process
	Chunk            *chunkRecord  `json:",omitempty"` // of an isolated part
	Stop             bool          // its process has been asked to end
	Norm             learn.Number  // at the first part of a process: of gradients, summed over
	Norms            int           // so many steps
	Pairs            []RankPair    // at the first part of a process: what others have sent it
	Meters           []gpu.Metered `json:",omitempty"` // at the first part of a process
}

// add enters a phase of a worker, which has a share of the epoch's loss.
func (r *partEpoch) add(w *worker, share float64, used, gradients gpu.Usage) {
	r.Loss += learn.Number(share * w.lossValue())
	r.Usage, r.Gradients = r.Usage.Add(used), r.Gradients.Add(gradients)
	if w.hold != nil {
		w.hold.record.Phases = append(w.hold.record.Phases, w.hold.coverage)
	}
}

// complete completes the records of the parts of this process behind an epoch, whose times are in e.
func (t *Trainer) complete(e *EpochStats, own []partEpoch) {
	stop := t.asked != nil && t.asked.Err() != nil
	for i, w := range t.workers {
		r := &own[i]
		r.Halo, r.Checking = w.ep.TakeStats()
		r.Train, r.Reduce = e.Train, e.Reduce
		r.Stop = stop
		if w.hold != nil {
			r.Chunk = &w.hold.record
		}
	}
	own[0].Pairs = t.receivedInEpoch()
	norm, norms := t.reduce.TakeNorms()
	own[0].Norm, own[0].Norms, own[0].CPU = learn.Number(norm), norms, e.CPU
	if e.CPU = 0; t.o.Meter != nil {
		own[0].Meters = t.o.Meter(e.Epoch)
	}
}

// sum enters the records of all parts, in part order. Whatever is decided between two epochs is decided by that.
func (e *EpochStats) sum(all []partEpoch) {
	norm, norms := 0.0, 0
	for i := range all {
		r := &all[i]
		norm, norms = norm+float64(r.Norm), norms+r.Norms
		e.Loss += float64(r.Loss)
		e.Train, e.Reduce = max(e.Train, r.Train), max(e.Reduce, r.Reduce)
		e.Usage, e.Gradients = e.Usage.Add(r.Usage), e.Gradients.Add(r.Gradients)
		e.Halo.Add(r.Halo)
		e.CheckCache += r.Checking / time.Duration(len(all))
		e.Parts, e.HaloParts, e.CheckParts = append(e.Parts, r.Usage), append(e.HaloParts, r.Halo), append(e.CheckParts, r.Checking)
		e.Pairs, e.Meters, e.CPU = append(e.Pairs, r.Pairs...), append(e.Meters, r.Meters...), e.CPU+r.CPU
		if r.Chunk != nil {
			e.Isolated.add(r.Chunk)
		}
	}
	if norms > 0 {
		norm /= float64(norms)
		e.GradNorm = &norm
	}
}
