package fit

import (
	"context"
	"errors"
	"fmt"
	"time"
)

// Trainer is what the loop drives. E is what is reported of an epoch, M what an evaluation measures.
type Trainer[E, M any] interface {
	// Train trains one epoch, from 0 on, and enters it into what is reported. It returns the training loss. Where it returns ErrInterrupted, it has stopped inside the
	// epoch, and a run that is resumed from what Save writes then trains the rest of it.
	Train(epoch int, report *E) (loss float64, err error)
	// Evaluate measures the weights behind an epoch and enters that into what is reported; behind epoch −1 they are the first ones. Where it returns ErrInterrupted, a run
	// that is resumed from what Save writes then calls Train for the epoch again, which has nothing left to train, and Evaluate.
	Evaluate(epoch int, report *E) (M, error)
	// Better reports whether weights of metrics m are to be kept in place of the best ones so far.
	Better(m, best M) bool
	// KeepBest keeps the weights, which are the best so far.
	KeepBest(epoch int) error
	// Report is called behind every epoch.
	Report(report E) error
	// SaveNow reports whether a checkpoint follows an epoch behind which none is due. slow says that the epoch took so long that it should: processes that train
	// together measure other times, and decide one thing.
	SaveNow(slow bool) (bool, error)
	// Save writes a checkpoint.
	Save() error
	// SetRate sets the learning rate of the epochs from now on. It is called where there is a schedule.
	SetRate(rate float64)
	// Watched returns what the last evaluation has found of validation: its metric and its loss; NaN where there is none.
	Watched() (metric, loss float64)
}

// Options say what the loop does.
type Options struct {
	Epochs    int // in all, those before a resumption among them
	EvalEvery int // epochs between evaluations; 0: only after the last epoch
	Patience  int // evaluations without better weights before stopping; 0: never stop
	SaveEvery int // epochs between checkpoints; 0: only at the end, when interrupted, and behind slow epochs
	Schedule  Schedule
	Rate      float64 // the learning rate that the schedule begins with
	// OnTrain is called before Train, and what it returns behind it, whatever came of it; nil: nothing is.
	OnTrain func(epoch int) (done func())
}

// State is where a run stands between two epochs.
type State[M any] struct {
	Epochs    int      // done
	Loss      float64  // of the last one
	BestEpoch int      // of the best weights, −1: never evaluated
	Best      M        // of BestEpoch
	Last      M        // of the last evaluation
	Waited    int      // evaluations since the best one
	Progress  Progress `json:",omitzero"`
	Stopped   string   // OutOfPatience, Interrupted, or "": the run is not over, or has done all epochs
}

// Why a run stopped before its last epoch.
const (
	OutOfPatience = "patience"
	Interrupted   = "interrupted"
)

// ErrInterrupted says that a run is to stop inside an epoch, or in its evaluation.
var ErrInterrupted = errors.New("interrupted")

// NewState returns the state of a run that has not begun.
func NewState[M any]() State[M] { return State[M]{BestEpoch: -1} }

// Run trains until the last epoch, until patience runs out, or until ctx ends.
func Run[E, M any](ctx context.Context, t Trainer[E, M], o Options, s *State[M]) error {
	l := &loop[E, M]{t: t, o: o, s: s}
	for s.Epochs < o.Epochs && s.Stopped == "" {
		if ctx.Err() != nil {
			return l.interrupt()
		}
		if err := l.epoch(); errors.Is(err, ErrInterrupted) {
			return l.interrupt()
		} else if err != nil {
			return err
		}
	}
	if s.BestEpoch < 0 {
		if err := l.evaluate(s.Epochs-1, new(E)); errors.Is(err, ErrInterrupted) {
			return l.interrupt()
		} else if err != nil {
			return err
		}
	}
	return t.Save()
}

// loop is one call of Run.
type loop[E, M any] struct {
	t     Trainer[E, M]
	o     Options
	s     *State[M]
	saved struct { // the last checkpoint of a planned or slow epoch
		at   time.Time
		took time.Duration
	}
}

// interrupt saves a state that can be resumed.
func (l *loop[E, M]) interrupt() error {
	err := l.t.Save()
	l.s.Stopped = Interrupted
	return err
}

// epoch runs one epoch with everything that belongs to it.
func (l *loop[E, M]) epoch() error {
	s, epoch, start := l.s, l.s.Epochs, time.Now()
	if l.o.Schedule.Kind != Unchanged {
		l.t.SetRate(l.o.Schedule.Rate(l.o.Rate, epoch, l.o.Epochs, s.Progress))
	}
	var report E
	loss, err := l.train(epoch, &report)
	if err != nil {
		return err
	}
	before := s.Loss
	s.Epochs, s.Loss = epoch+1, loss
	last := s.Epochs == l.o.Epochs
	if last || due(l.o.EvalEvery, s.Epochs) {
		if err := l.evaluate(epoch, &report); errors.Is(err, ErrInterrupted) {
			s.Epochs, s.Loss = epoch, before
			return err
		} else if err != nil {
			return fmt.Errorf("evaluate after epoch %d: %w", epoch, err)
		}
	}
	if err := l.t.Report(report); err != nil {
		return err
	}
	if last {
		return nil
	}
	save := due(l.o.SaveEvery, s.Epochs)
	if !save {
		if save, err = l.t.SaveNow(l.overdue(time.Since(start))); err != nil {
			return err
		}
	}
	if save {
		return l.save()
	}
	return nil
}

// train trains an epoch.
func (l *loop[E, M]) train(epoch int, report *E) (loss float64, err error) {
	if l.o.OnTrain != nil {
		defer l.o.OnTrain(epoch)()
	}
	return l.t.Train(epoch, report)
}

// due reports whether something happens behind so many epochs that happens every few of them.
func due(every, epochs int) bool { return every > 0 && epochs%every == 0 }

// slowEpoch is how long an epoch may take before a checkpoint follows it: who interrupts a run does not wait for the end of a
// slower one, and should not lose more than that epoch.
const slowEpoch = time.Second

// overdue reports whether a checkpoint is to follow an epoch that took so long. Checkpoints take a tenth of the time at most.
func (l *loop[E, M]) overdue(epoch time.Duration) bool {
	return epoch > slowEpoch && time.Since(l.saved.at) >= 10*l.saved.took
}

// save writes a checkpoint and notes how long that took.
func (l *loop[E, M]) save() error {
	start := time.Now()
	err := l.t.Save()
	l.saved.at, l.saved.took = time.Now(), time.Since(start)
	return err
}

// evaluate measures the weights, and keeps them if they are the best.
func (l *loop[E, M]) evaluate(epoch int, report *E) error {
	m, err := l.t.Evaluate(epoch, report)
	if err != nil {
		return err
	}
	s := l.s
	s.Last = m
	if w := l.o.Schedule; w.Kind == Plateau {
		value, loss := l.t.Watched()
		if !w.ByMetric {
			value = loss
		}
		s.Progress = w.Watch(s.Progress, l.o.Rate, epoch, value)
	}
	if s.BestEpoch >= 0 && !l.t.Better(m, s.Best) {
		s.Waited++
		if l.o.Patience > 0 && s.Waited >= l.o.Patience {
			s.Stopped = OutOfPatience
		}
		return nil
	}
	s.Best, s.BestEpoch, s.Waited = m, epoch, 0
	return l.t.KeepBest(epoch)
}
