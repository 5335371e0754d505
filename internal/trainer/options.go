package trainer

import (
	"cmp"
	"errors"
	"log/slog"
	"time"

	"capgnn/gnn"
	"capgnn/gpu"
	"capgnn/hostmem"
	"capgnn/internal/fit"
	"capgnn/internal/learn"
	"capgnn/internal/together"
)

// Training is what every run is told, whatever its parts compute.
type Training struct {
	Model      gnn.Config
	Optimizer  gnn.Optimizer
	Task       learn.Kind   // targets, loss and scores; nil: learn.Labels, which have no weights
	Schedule   fit.Schedule // of the learning rate, which begins with that of Optimizer
	Epochs     int          // ≥ 0
	EvalEvery  int          // epochs between evaluations; 0 = only after the last epoch
	Patience   int          // evaluations without better weights before stopping; 0 = never stop
	BestByLoss bool         // the best weights are chosen by the loss of validation, not by its score

	Ranks   together.Ranks // the processes that have the parts; nil: this one has all
	Storage gpu.DType      // element type of the rows that aggregations gather and parts exchange: see gnn.Plan
	Init    gnn.StateDict  // weights to start from; nil: drawn from Model.Seed

	// CheckpointDir is where checkpoints go; empty: none are written. Only rank 0 writes and reads checkpoints: other
	// ranks ignore this field, Resume and Identity.
	CheckpointDir   string
	CheckpointEvery int    // epochs; 0 = only when interrupted, behind slow epochs, and at the end
	CheckpointKeep  int    // newest kept; 0 = 2
	Resume          bool   // continue from the newest valid checkpoint in CheckpointDir
	Identity        string // stored in checkpoints and compared on resume: hash of data, parts, model and options

	WaitDeadline time.Duration // bounds every wait of one worker for another, and for its samplers; 0 = 5 minutes
	Log          *slog.Logger  // nil: discard
	// OnTrain is called before an epoch trains; the function that it returns is called after training, before
	// evaluation. May be nil.
	OnTrain func(epoch int) (done func())
	// Meter is called after the training of every epoch and returns what devices consumed since the last call; nil:
	// not measured.
	Meter func(epoch int) []gpu.Metered
	// OnEpoch is called after every epoch, from the goroutine that called Run; an error ends the run.
	OnEpoch func(EpochStats) error
	// OnBest is called when an evaluation has the best validation metric so far, with the weights by name.
	OnBest func(epoch int, w *gnn.Weights) error
}

// Several reports whether the run has other processes.
func (o *Training) Several() bool { return o.Ranks != nil && o.Ranks.Ranks() > 1 }

// Leads reports whether the process is rank 0.
func (o *Training) Leads() bool { return o.Ranks == nil || o.Ranks.Rank() == 0 }

// Complete fills in what is left open.
func (o *Training) Complete() {
	if o.Log == nil {
		o.Log = slog.New(slog.DiscardHandler)
	}
	o.WaitDeadline = cmp.Or(o.WaitDeadline, 5*time.Minute)
}

// Check returns the task of a problem, and what is wrong with the options.
func (o *Training) Check(p *learn.Problem) (task learn.Task, errs []error) {
	task, err := p.Check(o.Task, o.Model, o.Storage)
	errs = []error{err, o.Optimizer.Fits(o.Model)}
	if o.Epochs < 0 || o.EvalEvery < 0 || o.Patience < 0 || o.CheckpointEvery < 0 {
		errs = append(errs, errors.New("epochs, evaluation interval, patience and checkpoint interval must not be negative"))
	}
	return task, errs
}

// Options are Training, and what a process has of the run.
type Options struct {
	Training
	Devices    []gpu.Device // of the parts of this process
	First      int          // the first one's part
	Parts      int          // of all processes
	EverySteps int          // steps between checkpoints inside epochs, counted from the epoch's first; 0: none
	Lock       hostmem.LockOptions
}
