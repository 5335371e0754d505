package training

import (
	"context"
	"errors"
	"fmt"

	"capgnn/cmd/capgnn/internal/runfolder"
	"capgnn/cmd/capgnn/internal/term"
	"capgnn/internal/room"
	"capgnn/pipeline"
)

// job is a run that is placed on its devices: its trainer, and the files that grow while it trains.
type job struct {
	run     func(context.Context) (*pipeline.Result, error)
	reached func(*pipeline.Result) string // says where an interrupted run stands
	placed  func() error                  // gives up what is only needed until the run is placed
	close   func() error                  // ends the trainer
	total   int64                         // of what is counted while it trains
	unit    string
	metrics *runfolder.Metrics
	events  *runfolder.Events
}

// files returns those that grow while the run trains.
func (t *Run) files() (*runfolder.Metrics, *runfolder.Events) {
	lost := func(path string) error {
		err := t.stays()
		if err == nil {
			t.Console.Note(runfolder.Again, path)
		}
		return err
	}
	return &runfolder.Metrics{Path: t.Dir.Metrics(), Policy: t.Config.Cache, Staleness: t.Config.Staleness, Lost: lost},
		&runfolder.Events{Dir: t.Dir, Metric: string(t.metric()), Lost: lost}
}

// fullBatchJob places the run on its devices, together with other ranks if there are some.
func (t *Run) fullBatchJob(ctx context.Context) (*job, error) {
	whole := context.WithoutCancel(ctx) // an interruption is for the epochs
	metrics, events := t.files()
	opt, err := t.options(func(s pipeline.EpochStats) error {
		if err := t.keeps(); err != nil {
			return err
		}
		return errors.Join(metrics.Append(s), events.Append(s))
	})
	if err == nil {
		opt.Init, err = t.loadInitial(opt.Model)
	}
	if err := t.Ranks.Agree(whole, err); err != nil {
		return nil, err
	}
	if err := t.shareInitial(whole, opt.Model, &opt.Init); err != nil {
		return nil, err
	}
	if err := t.Ranks.Agree(whole, t.Data.Unchanged()); err != nil {
		return nil, err
	}
	room.Release() // what is left of the steps before
	trainer, err := pipeline.New(ctx, t.Data.Problem, opt)
	if err != nil {
		return nil, t.Ranks.Fail(t.BeforeTraining(term.AsUsage(t.Explain(err))))
	}
	metrics.Period = periods(trainer.Caches())
	t.layout.Release()
	t.Ranks.SayWaits(trainer.Waits)
	placed, closed := t.Data.Release, trainer.Close
	if t.Config.Isolated.Value != nil { // pairs are made of the graph and the features
		placed, closed = func() error { return nil }, func() error { return errors.Join(trainer.Close(), t.Data.Release()) }
	}
	return &job{run: trainer.Run, placed: placed, close: closed, total: int64(t.Config.Epochs), unit: "epochs", metrics: metrics, events: events,
		reached: func(r *pipeline.Result) string {
			return fmt.Sprintf("after epoch %d of %d", r.Epochs, t.Config.Epochs)
		}}, nil
}
