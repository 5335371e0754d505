package pipeline

import (
	"log/slog"
	"time"

	"capgnn/gnn"
	"capgnn/gpu"
	"capgnn/graph"
	"capgnn/internal/fit"
	"capgnn/internal/learn"
	"capgnn/internal/trainer"
	"capgnn/pipeline/halo"
)

// Options configures a Trainer.
type Options struct {
	Model      gnn.Config
	Optimizer  gnn.Optimizer
	Task       learn.Kind   // targets, loss and scores; nil: learn.Labels, which have no weights
	Schedule   fit.Schedule // of the learning rate, which begins with that of Optimizer
	Epochs     int          // ≥ 0
	EvalEvery  int          // epochs between evaluations; 0 = only after the last epoch
	Patience   int          // evaluations without better weights before stopping; 0 = never stop
	BestByLoss bool         // the best weights are chosen by the loss of validation, not by its score

	Devices []gpu.Device // one part each, in order; a device may appear more than once
	// First is the part of Devices[0], Parts the number of all parts, those of other processes among them; 0: as many as Devices.
	First, Parts int
	Part         []int32 // part of every vertex
	Ranks        Ranks   // the processes that have the parts; nil: this one has all
	// Rank is a preferred order of the vertices inside a part, for locality; nil: by id. Results do not depend on it but
	// for rounding.
	Rank     []int32
	everyRow bool // every layer computes every row, as a prediction asks for; otherwise those that the loss depends on
	// Dropped lists the pruned halo vertices of each part, by original id, ascending: all layers of training but the
	// first ignore the edges from them into the part (docs/adr/0009). Evaluation uses the whole graph. nil or all
	// empty: nothing is pruned.
	Dropped [][]graph.NodeID
	// Isolated has parts train without rows of each other; nil: they exchange them.
	Isolated *Isolated
	// Cache says which halo rows are kept, and how old they may get.
	Cache halo.Options
	// Storage is the element type of the rows that aggregations gather and parts exchange: see gnn.Plan.
	Storage gpu.DType
	// Prepared keeps results of the work before the first epoch for later runs; nil: nothing is kept. Results of the
	// run do not depend on it.
	Prepared Prepared
	// Layout was made by NewLayout from the same problem and options, except for devices; nil: New makes one.
	Layout *Layout

	Init gnn.StateDict // weights to start from; nil: drawn from Model.Seed

	// CheckpointDir is where checkpoints go; empty: none are written. Only rank 0 writes and reads checkpoints: other
	// ranks ignore this field, Resume and Identity.
	CheckpointDir   string
	CheckpointEvery int // epochs; 0 = only when interrupted and at the end
	CheckpointKeep  int // newest kept; 0 = 2
	// Resume continues from the newest valid checkpoint in CheckpointDir.
	Resume bool
	// Identity is stored in checkpoints and compared on resume: hash of data, model and options.
	Identity string

	// WaitDeadline bounds every wait of one worker for another; 0 = 5 minutes.
	WaitDeadline time.Duration
	Log          *slog.Logger // nil: discard
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

// own are the parts of this process.
func (o *Options) own() graph.Range { return graph.Range{Lo: o.First, Hi: o.First + len(o.Devices)} }

// What a run tells of an epoch, of all of them, and in the end.
type (
	EpochStats = trainer.EpochStats
	SuperEpoch = trainer.SuperEpoch
	Totals     = trainer.Totals
	Result     = trainer.Result
)

// core is what package trainer has to know.
func (o *Options) core() trainer.Options {
	return trainer.Options{Model: o.Model, Optimizer: o.Optimizer, Schedule: o.Schedule, Epochs: o.Epochs,
		EvalEvery: o.EvalEvery, Patience: o.Patience, BestByLoss: o.BestByLoss, Devices: o.Devices, First: o.First,
		Parts: o.Parts, Ranks: o.Ranks, Init: o.Init, CheckpointDir: o.CheckpointDir, CheckpointEvery: o.CheckpointEvery,
		CheckpointKeep: o.CheckpointKeep, Resume: o.Resume, Identity: o.Identity, WaitDeadline: o.WaitDeadline,
		Lock: o.Cache.Lock(), Log: o.Log, OnTrain: o.OnTrain, Meter: o.Meter, OnEpoch: o.OnEpoch, OnBest: o.OnBest}
}
