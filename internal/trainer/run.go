package trainer

import (
	"context"
	"errors"
	"fmt"
	"math"
	"slices"
	"time"

	"capgnn/gpu"
	"capgnn/hostmem"
	"capgnn/internal/fit"
	"capgnn/internal/learn"
	"capgnn/internal/meet"
	"capgnn/internal/together"
)

// Run trains until the last epoch, until patience runs out, or until ctx ends: then the steps under way, or the epoch
// of whole parts, are finished, an evaluation may be left for later, a checkpoint is written, and Result.Stopped is
// "interrupted". A device fault ends the run with its error, a loss that is no number with *Diverged.
func (t *Trainer) Run(ctx context.Context) (*Result, error) {
	o := &t.Options
	r := &Result{MetricName: string(t.Task.Metric())}
	if t.Asked = ctx; t.Joined { // all end behind the step, or epoch, in which one says that it has been asked to
		ctx, t.stop = context.WithCancel(context.WithoutCancel(ctx))
		defer t.stop()
	}
	err := fit.Run(ctx, &fitter{t, r, ctx, nil}, fit.Options{Epochs: o.Epochs, EvalEvery: o.EvalEvery,
		Patience: o.Patience, SaveEvery: o.CheckpointEvery, Schedule: o.Schedule, Rate: o.Optimizer.LR,
		OnTrain: o.OnTrain}, &t.State.State)
	if err != nil {
		return nil, err
	}
	err = t.finish(r)
	t.Over = err == nil
	return r, err
}

// fitter is a trainer in the epoch loop. What a run does to the world besides its result is in its methods: it calls
// back, and writes checkpoints. Of several processes rank 0 does.
type fitter struct {
	*Trainer
	r    *Result
	ctx  context.Context // of Run
	rate *float64        // by a schedule; nil: there is none
}

var _ fit.Trainer[EpochStats, learn.Metrics] = (*fitter)(nil)

// Train implements fit.Trainer. It goes on behind the steps of the epoch that have been done, all of them where its
// evaluation was interrupted.
func (f *fitter) Train(epoch int, e *EpochStats) (float64, error) {
	whole := f.State.Batch == 0
	err := f.Steps(f.ctx, epoch)
	late, bad := new(meet.Late), new(Diverged)
	switch {
	case errors.Is(err, fit.ErrInterrupted) || errors.As(err, &late) || errors.As(err, &bad): // these name the epoch
		return 0, err
	case err != nil:
		return 0, fmt.Errorf("epoch %d: %w", epoch, err)
	}
	f.Engine.Describe(epoch, e)
	f.State.Partial.Report(epoch, e)
	if e.Rate = f.rate; whole {
		f.r.EpochTime = append(f.r.EpochTime, e.Train)
	}
	return e.Loss, nil
}

func (f *fitter) Evaluate(epoch int, e *EpochStats) (learn.Metrics, error) {
	start := time.Now()
	m, err := f.Engine.Evaluate(f.ctx)
	if errors.Is(err, context.Canceled) && f.ctx.Err() != nil {
		return m, fit.ErrInterrupted
	} else if err != nil {
		return m, err
	}
	e.Epoch, e.Eval, e.Metrics, e.EvalT = epoch, true, m, time.Since(start)
	f.State.Totals.EvalTime += e.EvalT
	return m, nil
}

func (f *fitter) SetRate(rate float64) {
	f.rate = &rate
	f.Reduce.SetRate(rate)
}

func (f *fitter) Watched() (metric, loss float64) { return f.State.Last.Watched() }

func (f *fitter) Better(m, best learn.Metrics) bool { return m.Better(best, f.Options.BestByLoss) }

func (f *fitter) KeepBest(epoch int) (err error) {
	s, o := &f.State, &f.Options
	if s.best, err = f.Crew.Weights(f.Weights); err != nil || o.OnBest == nil || !o.Leads() {
		return err
	}
	return o.OnBest(epoch, s.best)
}

// Report implements fit.Trainer: the epoch is over.
func (f *fitter) Report(e EpochStats) error {
	s, o := &f.State, &f.Options
	s.Totals.add(&e)
	s.Batch, s.Partial = 0, Partial{}
	f.Engine.Over(&e)
	if o.OnEpoch != nil && o.Leads() {
		return o.OnEpoch(e)
	}
	return nil
}

func (f *fitter) Save() error {
	if !f.Saves {
		return nil
	}
	return f.Checkpoint()
}

// SaveNow implements fit.Trainer: rank 0 decides by its time.
func (f *fitter) SaveNow(slow bool) (bool, error) {
	if !f.Saves {
		return false, nil
	}
	return FromRank0(f.Trainer, TagSave, slow)
}

// Scores returns what is made of the evidence of all parts: that of this process is given.
func (t *Trainer) Scores(own []learn.Evidence) (learn.Metrics, error) {
	return together.Scores(t.Hub.Context(), t.Talk(), TagEvaluation, TagScores, t.Task, own)
}

// Steps runs the steps of an epoch that have not been done, in stretches. It stops inside the epoch between two of them:
// where one ended before its time, and ctx has ended.
func (t *Trainer) Steps(ctx context.Context, epoch int) error {
	s, every := &t.State, t.Options.EverySteps
	for {
		lo, hi := t.Engine.Stretch(epoch, s.Batch)
		if s.Batch = lo; lo == hi {
			return nil
		}
		if err := t.Stretch(epoch, lo, hi); err != nil {
			return err
		}
		if s.Batch < hi {
			if ctx.Err() != nil {
				return fit.ErrInterrupted
			}
			continue // time to look at the losses
		}
		if t.Saves && every > 0 && hi%every == 0 && !t.last(epoch, hi) {
			if err := t.Checkpoint(); err != nil {
				return err
			}
		}
	}
}

// last reports whether an epoch has no step from one on.
func (t *Trainer) last(epoch, step int) bool {
	lo, hi := t.Engine.Stretch(epoch, step)
	return lo == hi
}

// At says which epoch is computed now.
func (t *Trainer) At(epoch int) {
	if t.Hub.Epoch = epoch; t.Joined {
		t.Options.Ranks.SetEpoch(uint32(epoch))
	}
}

// Stretch runs steps of an epoch, or as many of them as the engine thinks fit, and adds what parts have done.
func (t *Trainer) Stretch(epoch, lo, hi int) error {
	t.At(epoch)
	if err := t.Engine.Begin(epoch, lo); err != nil {
		return err
	}
	var done []Done
	for _, w := range t.Crew.Workers {
		done = append(done, w.Since())
	}
	start, cpu := Now(t.Options.Devices), hostmem.ProcessorTime()
	next, stop, err := t.Engine.Run(epoch, lo, hi)
	if err != nil {
		return err
	}
	own := make([]Record, len(done))
	own[0].Train, own[0].CPU = Now(t.Options.Devices)-start, hostmem.ProcessorTime()-cpu
	for i, w := range t.Crew.Workers {
		done[i].end()
		own[i].Usage, own[i].Gradients, own[i].Stop = done[i].Usage(), done[i].Of(w.Reduce.All()...), stop
	}
	t.Engine.Count(own, lo, next, done)
	norm, norms := t.Reduce.TakeNorms()
	own[0].Norm, own[0].Norms, own[0].Pairs = learn.Number(norm), norms, t.Received()
	if t.Options.Meter != nil && t.last(epoch, next) {
		own[0].Meters = t.Options.Meter(epoch)
	}
	all, err := Gather(t, TagSteps, own)
	if err != nil {
		return err
	}
	if slices.ContainsFunc(all, func(r Record) bool { return r.Stop }) {
		t.stop()
	}
	t.State.Partial.Steps += next - lo
	t.State.Partial.Take(all)
	t.State.Batch = next
	return t.sumLoss(epoch, lo, all)
}

// sumLoss adds the losses of the steps from one on, in the order of steps, parts and units.
func (t *Trainer) sumLoss(epoch, lo int, all []Record) error {
	units := len(all[0].Loss) / max(1, t.State.Batch-lo)
	for b := lo; b < t.State.Batch; b++ {
		loss := 0.0
		for part := range all {
			for _, x := range all[part].Loss[(b-lo)*units:][:units] {
				loss += float64(x)
			}
		}
		if math.IsNaN(loss) || math.IsInf(loss, 0) {
			return t.Engine.Diverged(epoch, b, loss)
		}
		t.State.Partial.Loss += learn.Number(loss * t.Engine.Share(epoch, b))
	}
	return nil
}

// finish fills in what a result says about the whole run.
func (t *Trainer) finish(r *Result) error {
	s := &t.State
	r.Epochs, r.FinalLoss, r.Stopped = s.Epochs, s.Loss, s.Stopped
	r.Best, r.Last, r.BestEpoch = s.Best, s.Last, s.BestEpoch
	r.Totals = s.Totals
	t.Engine.Complete(r)
	var err error
	if r.Weights, err = t.Crew.Weights(t.Weights); err != nil {
		return err
	}
	r.BestWeights, r.WeightsSHA = s.best, r.Weights.SHA256()
	if r.BestWeights == nil {
		r.BestWeights = r.Weights
	}
	host, err := hostmem.PeakRSS()
	if err != nil {
		return err
	}
	type peak struct{ Device, Host gpu.Bytes }
	var own []peak
	for _, w := range t.Crew.Workers {
		own = append(own, peak{w.Device.Memory().HighWater, gpu.Bytes(host)})
	}
	all, err := Gather(t, TagLast, own)
	for _, p := range all {
		r.PeakDevice, r.PeakHost = append(r.PeakDevice, p.Device), max(r.PeakHost, p.Host)
	}
	return err
}
