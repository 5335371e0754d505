package training

import (
	"context"
	"errors"
	"fmt"
	"log/slog"

	"capgnn/cmd/capgnn/internal/devices"
	"capgnn/cmd/capgnn/internal/diskcache"
	"capgnn/cmd/capgnn/internal/runfolder"
	"capgnn/cmd/capgnn/internal/term"
	"capgnn/gnn"
	"capgnn/hostmem"
	"capgnn/internal/room"
	"capgnn/minibatch"
	"capgnn/pipeline"
)

// trainer trains a run that is placed on its devices.
type trainer interface {
	Run(context.Context) (*pipeline.Result, error)
	Waits() string // for what of other ranks
	Close() error
}

// job is a trainer, and what goes on beside it.
type job struct {
	trainer
	total   int64 // of what is counted while it trains
	unit    string
	reads   bool // it reads the graph and the features while it trains
	metrics *runfolder.Metrics
	events  *runfolder.Events
}

// place places the run on its devices, together with other ranks if there are some.
func (t *Run) place(ctx context.Context) (*job, error) {
	whole := context.WithoutCancel(ctx) // an interruption is for the epochs
	t.board = newBoard(&t.Forecaster)
	j := &job{}
	j.metrics, j.events = t.growing(&t.Forecaster)
	init, err := t.shareInitial(whole)
	if err == nil {
		err = t.Ranks.Agree(whole, t.Data.Unchanged())
	}
	if err != nil {
		return nil, err
	}
	place := t.placeHeld
	if t.Config.Sampled() {
		place = t.placeSampled
	}
	if j.trainer, err = place(ctx, j, init); err != nil {
		return nil, t.Ranks.Fail(t.BeforeTraining(term.AsUsage(t.explain(err))))
	}
	t.Ranks.SayWaits(j.Waits)
	return j, nil
}

// shareInitial returns the weights to start from, which rank 0 reads and gives to all; nil: they are drawn.
func (t *Run) shareInitial(ctx context.Context) (gnn.StateDict, error) {
	if t.Config.Init == "" {
		return nil, nil
	}
	model, err := t.network(&t.Config), error(nil)
	w := gnn.NewWeights(model)
	if t.Ranks.Leads() {
		path := t.Config.Init
		if t.Resume {
			path = t.Dir.Initial() // in this order already
		}
		err = t.readInitial(&t.Config, path, model)
		w = t.initial
	}
	if err := t.Ranks.Agree(ctx, err); err != nil {
		return nil, err
	}
	mine := hostmem.Bytes(w.Flat)
	got, err := t.Ranks.FirstBytes(ctx, mine)
	if err != nil {
		return nil, err
	}
	if len(got) != len(mine) {
		return nil, t.Ranks.Fail(fmt.Errorf("rank 0 sent %d bytes of weights to start from, the model has %d",
			len(got), len(mine)))
	}
	copy(mine, got)
	return w.StateDict(), nil
}

// record has a run begin with these weights, or go on, and leave what its folder has.
func (t *Run) record(j *job, o *pipeline.Training, init gnn.StateDict) {
	o.Init, o.CheckpointDir = init, t.Dir.Checkpoints()
	o.Resume, o.Identity = t.Resume, t.identity(t.began(t.Resume))
	o.Log = slog.New(&term.NoteHandler{Console: t.Console})
	o.OnTrain, o.Meter = t.tracing(&t.Forecaster, t.Dir.Trace()), t.readMeters(t.Config.Epochs)
	o.OnBest = t.keepBest(&t.Forecaster)
	o.OnEpoch = func(s pipeline.EpochStats) error {
		t.shows(&t.Forecaster, &s)
		err := t.keeps(&t.Forecaster)
		if err == nil && t.Config.Sampled() { // it reads rows while it trains
			err = t.Data.Unchanged()
		}
		if err != nil {
			return err
		}
		return errors.Join(j.metrics.Append(s), j.events.Append(s))
	}
}

// placeHeld returns what trains parts that lie on their devices.
func (t *Run) placeHeld(ctx context.Context, j *job, init gnn.StateDict) (trainer, error) {
	opt := t.ProblemOptions()
	c, err := diskcache.Open(t.Console)
	if err != nil {
		return nil, err
	}
	if c != nil {
		opt.Prepared = c
	}
	t.record(j, &opt.Training, init)
	opt.CheckpointEvery, opt.Layout, opt.Cache.Host = t.Config.CheckpointEvery.Epochs, t.layout, devices.LockFor(t.ownSpecs())
	t.here(&opt, t.Devices)
	room.Release() // what is left of the steps before
	trainer, err := pipeline.New(ctx, t.Data.Problem, opt)
	if err != nil {
		return nil, err
	}
	j.metrics.Period = periods(trainer.Caches())
	t.layout.Release()
	j.total, j.unit = int64(t.Config.Epochs), "epochs"
	j.reads = t.Config.Isolated.Value != nil // pairs are made while it trains
	return trainer, nil
}

// placeSampled returns what trains on samples.
func (t *Run) placeSampled(ctx context.Context, j *job, init gnn.StateDict) (trainer, error) {
	opt := t.sampledOptions()
	t.steps = minibatch.Steps(t.Data.Problem, opt)
	t.record(j, &opt.Training, init)
	opt.CheckpointEvery, opt.CheckpointSteps = checkpoints(t.Config.CheckpointEvery, t.steps)
	opt.OnStep = func(p minibatch.Progress) { t.step(&t.Forecaster, p) }
	trainer, err := minibatch.New(ctx, t.Data.Problem, opt)
	if err != nil {
		return nil, err
	}
	t.Console.OnStop("after this step")
	j.total, j.unit, j.reads = int64(t.Config.Epochs)*int64(t.steps), "steps", true
	return trainer, nil
}

// checkpoints returns how many epochs, and inside an epoch how many steps, lie between checkpoints.
func checkpoints(c runfolder.Cadence, stepsPerEpoch int) (epochs, steps int) {
	switch {
	case c.Steps == 0:
		return c.Epochs, 0
	case c.Steps < stepsPerEpoch:
		return 1, c.Steps
	}
	return c.Steps / stepsPerEpoch, 0
}

// TrainSamples trains on the run's open devices, calls each behind every epoch, and keeps nothing.
func (t *Run) TrainSamples(ctx context.Context, each func(minibatch.EpochStats)) (*pipeline.Result, error) {
	opt := t.sampledOptions()
	opt.OnEpoch = func(e minibatch.EpochStats) error {
		each(e)
		return nil
	}
	trainer, err := minibatch.New(ctx, t.Data.Problem, opt)
	if err != nil {
		return nil, term.AsUsage(t.explain(err))
	}
	r, err := trainer.Run(ctx)
	if err := errors.Join(err, trainer.Close()); err != nil {
		return nil, t.explain(err)
	}
	return r, nil
}
