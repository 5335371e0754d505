package minibatch

import (
	"context"
	"errors"
	"time"

	"capgnn/gpu"
	"capgnn/internal/fit"
	"capgnn/internal/learn"
	"capgnn/internal/together"
)

// What a run does to the world besides its result, all of it here: it calls back, writes checkpoints and logs.

// Evaluate implements fit.Trainer.
func (f *fitter) Evaluate(epoch int, e *EpochStats) (learn.Metrics, error) {
	start := time.Now()
	m, err := f.t.evaluate(f.ctx)
	if errors.Is(err, context.Canceled) && f.ctx.Err() != nil {
		return m, fit.ErrInterrupted
	} else if err != nil {
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

// KeepBest implements fit.Trainer.
func (f *fitter) KeepBest(epoch int) (err error) {
	s, o := &f.t.state, &f.t.o
	if s.best, err = f.t.crew.Weights(f.t.weights); err != nil || o.OnBest == nil || !o.leads() {
		return err
	}
	return o.OnBest(epoch, s.best)
}

// Report implements fit.Trainer: the epoch is over.
func (f *fitter) Report(e EpochStats) error {
	s, o := &f.t.state, &f.t.o
	s.Totals.add(&e)
	s.Batch, s.Partial = 0, partial{}
	s.Merging.over(e.Epoch, e.Train)
	f.t.roots.merge(s.Merging)
	if o.OnEpoch != nil && o.leads() {
		return o.OnEpoch(e)
	}
	return nil
}

// Save implements fit.Trainer.
func (f *fitter) Save() error {
	if !f.t.saves {
		return nil
	}
	return saver{f.t}.checkpoint()
}

// SaveNow implements fit.Trainer: rank 0 decides by its time.
func (f *fitter) SaveNow(slow bool) (bool, error) {
	if !f.t.saves {
		return false, nil
	}
	return together.First(f.t.hub.Context(), f.t.talk(), tagSave, slow)
}

// grown says that a buffer had to become larger.
func (t *Trainer) grown(w *worker, what string, was, is gpu.Bytes) {
	t.o.Log.Warn("a buffer has grown: this step is larger than those by which memory was planned", "part", w.Index, "what", what, "bytes", int64(is), "before", int64(was))
}
