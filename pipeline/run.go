package pipeline

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"capgnn/gnn"
	"capgnn/gpu"
	"capgnn/graph"
	"capgnn/hostmem"
	"capgnn/internal/fit"
	"capgnn/internal/learn"
	"capgnn/internal/meet"
	"capgnn/internal/trainer"
)

// state is what a run counts besides weights; it goes into checkpoints.
type state struct {
	fit.State[learn.Metrics]
	Totals Totals
	best   *gnn.Weights
}

// Run trains until the last epoch, until patience runs out, or until ctx is cancelled: then the epoch under way is
// finished and a checkpoint written, and Result.Stopped is "interrupted". A device fault ends the run with its error, a loss
// that is no number with *Diverged.
func (t *Trainer) Run(ctx context.Context) (*Result, error) {
	r := &Result{MetricName: string(t.task.Metric())}
	o := fit.Options{Epochs: t.o.Epochs, EvalEvery: t.o.EvalEvery, Patience: t.o.Patience, SaveEvery: t.o.CheckpointEvery,
		Schedule: t.o.Schedule, Rate: t.o.Optimizer.LR, OnTrain: t.o.OnTrain}
	if t.o.Ranks != nil { // all end behind the epoch in which one says that it has been asked to
		t.asked = ctx
		ctx, t.stop = context.WithCancel(context.WithoutCancel(ctx))
		defer t.stop()
	}
	if err := fit.Run(ctx, &fitter{t: t, r: r}, o, &t.state.State); err != nil {
		return nil, err
	}
	err := t.finish(r)
	t.over = err == nil
	return r, err
}

// fitter is a trainer in the epoch loop.
type fitter struct {
	t    *Trainer
	r    *Result
	rate *float64 // by a schedule; nil: there is none
}

var _ fit.Trainer[EpochStats, learn.Metrics] = (*fitter)(nil)

// Train implements fit.Trainer.
func (f *fitter) Train(epoch int, e *EpochStats) (float64, error) {
	e.Epoch, e.Rate = epoch, f.rate
	err := f.t.trainEpoch(e)
	if err == nil {
		err = f.t.checkLoss(e)
	}
	if late := new(meet.Late); errors.As(err, &late) { // it names the epoch
		return 0, err
	}
	if err != nil {
		return 0, fmt.Errorf("epoch %d: %w", epoch, err)
	}
	f.r.EpochTime = append(f.r.EpochTime, e.Train)
	f.t.state.Totals.add(e)
	return e.Loss, nil
}

// Evaluate implements fit.Trainer.
func (f *fitter) Evaluate(epoch int, e *EpochStats) (learn.Metrics, error) {
	start := time.Now()
	m, err := f.t.evaluate()
	if err != nil {
		return m, err
	}
	e.Epoch, e.Eval, e.Metrics, e.EvalT = epoch, true, m, time.Since(start)
	f.t.state.Totals.EvalTime += e.EvalT
	return m, nil
}

// SetRate implements fit.Trainer.
func (f *fitter) SetRate(rate float64) {
	f.rate = &rate
	f.t.reduce.SetRate(rate)
}

// Watched implements fit.Trainer.
func (f *fitter) Watched() (metric, loss float64) { return f.t.state.Last.Watched() }

// Better implements fit.Trainer.
func (f *fitter) Better(m, best learn.Metrics) bool { return m.Better(best, f.t.o.BestByLoss) }

// trainEpoch runs forward, backward and update on all parts: of isolated ones that take turns, phase by phase.
func (t *Trainer) trainEpoch(e *EpochStats) error {
	t.turn(e)
	own := make([]partEpoch, len(t.workers))
	for phase := range t.phases() {
		if t.shareOf(e.Epoch, phase) == 0 {
			continue
		}
		if err := t.hold(e.Epoch, phase); err != nil {
			return err
		}
		if err := t.trainPhase(e, phase, own); err != nil {
			return err
		}
	}
	t.complete(e, own)
	all, err := gather(t.hub.Context(), t, tagEpoch, own)
	if err != nil {
		return err
	}
	if slices.ContainsFunc(all, func(r partEpoch) bool { return r.Stop }) {
		t.stop()
	}
	e.sum(all)
	t.halo.EndEpoch(e.Epoch)
	return nil
}

// trainPhase runs a phase of an epoch, and adds what parts have done to their records.
func (t *Trainer) trainPhase(e *EpochStats, phase int, own []partEpoch) error {
	before, reduced := trainer.Usages(t.crew.Workers, (*trainer.Worker).Usage), trainer.Usages(t.crew.Workers, (*trainer.Worker).Reduction)
	start, cpu := trainer.Now(t.o.Devices), hostmem.ProcessorTime()
	if err := t.runParts(e.Epoch, phase); err != nil {
		return err
	}
	end := trainer.Now(t.o.Devices)
	e.Reduce, e.Train, e.CPU = e.Reduce+end-t.backwardDone(), e.Train+end-start, e.CPU+hostmem.ProcessorTime()-cpu
	for i, w := range t.workers {
		own[i].add(w, t.shareOf(e.Epoch, phase), w.Usage().Sub(before[i]), w.Reduction().Sub(reduced[i]))
	}
	return nil
}

// runParts runs a phase of an epoch on all parts.
func (t *Trainer) runParts(epoch, phase int) error {
	t.hub.Epoch = epoch
	if t.joined {
		t.o.Ranks.SetEpoch(uint32(epoch))
	}
	scale := t.isolation.shareOfTarget() / (t.terms * t.shareOf(epoch, phase))
	return t.each(func(w *worker) error { return t.trainPart(w, epoch, scale) })
}

// trainPart runs an epoch on one part, and waits for it.
func (t *Trainer) trainPart(w *worker, epoch int, scale float64) error {
	err := meet.Guard(func() {
		done := func(layer int) { t.reduce.Done(t.at(w), layer) }
		if w.hold != nil && w.hold.idle {
			w.runIdle(t.o.Model.Layers, done)
		} else {
			w.runTrain(epoch, scale, done)
		}
		w.backward = w.Compute.Record()
		if t.joined { // Finish waits for other ranks
			w.Compute.Call("note the time", func() error {
				w.backwardAt = trainer.HostNow()
				return nil
			})
		}
		t.reduce.Finish(t.at(w))
	})
	if err != nil {
		return err
	}
	if err := w.Waits.Await(w.backward); err != nil {
		return err
	}
	if !t.joined {
		w.backwardAt = trainer.HostNow()
	}
	return w.finish()
}

// backwardDone returns when the last part had done its backward pass, in the time of now.
func (t *Trainer) backwardDone() time.Duration {
	last, clock := time.Duration(0), trainer.ClockOf(t.o.Devices)
	for _, w := range t.workers {
		at := w.backwardAt
		if clock != nil {
			at = clock.At(w.backward)
		}
		last = max(last, at)
	}
	return last
}

// finish fills in what a result says about the whole run.
func (t *Trainer) finish(r *Result) error {
	s := &t.state
	r.Epochs, r.FinalLoss, r.Best, r.Last, r.BestEpoch, r.Stopped = s.Epochs, s.Loss, s.Best, s.Last, s.BestEpoch, s.Stopped
	r.Totals, r.Caches = s.Totals, t.halo.Caches()
	var err error
	if r.Weights, err = t.crew.Weights(t.weights); err != nil {
		return err
	}
	r.BestWeights, r.WeightsSHA = s.best, r.Weights.SHA256()
	if r.BestWeights == nil {
		r.BestWeights = r.Weights
	}
	for _, p := range t.layout.kept.Parts {
		if t.isolation != nil {
			break // training reads none
		}
		r.HaloRows += int64(len(p.In.IDs))
		if t.o.Parts <= MaxPairParts {
			r.HaloPairs = append(r.HaloPairs, rowsByOwner(&p.In, t.o.Parts))
		}
	}
	return t.peaks(r)
}

// partPeak is the most memory of a part's device, and of its process.
type partPeak struct{ Device, Host gpu.Bytes }

// peaks fills in the most memory that devices and processes have taken.
func (t *Trainer) peaks(r *Result) error {
	host, err := hostmem.PeakRSS()
	if err != nil {
		return err
	}
	var own []partPeak
	for _, w := range t.workers {
		own = append(own, partPeak{w.Device.Memory().HighWater, gpu.Bytes(host)})
	}
	all, err := gather(t.hub.Context(), t, tagResult, own)
	for _, p := range all {
		r.PeakDevice, r.PeakHost = append(r.PeakDevice, p.Device), max(r.PeakHost, p.Host)
	}
	return err
}

// MaxPairParts bounds the parts of which a result has every pair.
const MaxPairParts = 64

// rowsByOwner returns how many halo vertices of a block each part owns.
func rowsByOwner(b *graph.Block, parts int) []int64 {
	rows := make([]int64, parts)
	for k, o := range b.Owners.Parts {
		rows[o] = int64(b.Owners.At[k+1] - b.Owners.At[k])
	}
	return rows
}
