package pipeline

import (
	"log/slog"
	"time"

	"capgnn/gnn"
	"capgnn/gpu"
	"capgnn/graph"
	"capgnn/internal/fit"
	"capgnn/internal/learn"
	"capgnn/jaca"
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

// EpochStats is one line of metrics.jsonl.
type EpochStats struct {
	Epoch int      // 0-based
	Loss  float64  // training loss before this epoch's update
	Rate  *float64 // learning rate by a schedule; nil: there is none
	// GradNorm is the norm of the gradient before it was clipped, mean over the steps of the epoch; nil: nothing is clipped.
	GradNorm *float64
	Eval     bool // metrics were taken after this epoch's update
	Metrics  learn.Metrics
	Train    time.Duration // wall time of the epoch without evaluation; on the devices' clock if they share one; over ranks the longest
	EvalT    time.Duration // wall time of the evaluation
	Usage    gpu.Usage     // summed over devices, training only
	Parts    []gpu.Usage   // the same by part
	// Gradients is the part of Usage that moves gradients and new weights between devices, sums gradients and takes
	// optimiser steps; zero with one part.
	Gradients gpu.Usage
	// Halo counts halo rows: lookups, hits, bytes by route and ages, over all parts and exchanges of training.
	Halo      jaca.Stats
	HaloParts []jaca.Stats // the same by part
	// CheckCache is the time in which workers look schedules and versions up, mean over parts.
	CheckCache time.Duration
	CheckParts []time.Duration // the same by part
	// Reduce is the time from the end of the last backward pass until all parts have the new weights: the rest of the
	// reduction, the optimiser step, and the broadcast. Over ranks the longest of them, including waits for others.
	Reduce time.Duration
	// Isolated describes the chunks of isolated parts; nil: parts are not isolated.
	Isolated *SuperEpoch
	// Pairs is what ranks sent each other in training, by receiver and then by sender, without pairs that sent
	// nothing; nil: there is one process.
	Pairs []RankPair
	CPU   time.Duration // processor time of this process, or of all ranks, everything included, in training
	// Meters is what devices of all ranks consumed since the last reading; nil: not read.
	Meters []gpu.Metered
}

// Totals is the sum over all epochs of a run, those before a resumption among them.
type Totals struct {
	Usage      gpu.Usage // training only
	Gradients  gpu.Usage // of it, as in EpochStats
	Halo       jaca.Stats
	CheckCache time.Duration
	EvalTime   time.Duration
	ReduceTime time.Duration
	CPU        time.Duration `json:",omitempty"`
	// Switches counts changes of chunks, or of the parts of a worker, and SwitchTime is their time, which is in no
	// epoch's.
	Switches   int           `json:",omitempty"`
	SwitchTime time.Duration `json:",omitempty"`
	Covered    float64       `json:",omitempty"` // sum over epochs of what isolated parts' targets have seen of their in-neighbours
}

// add adds an epoch's training.
func (t *Totals) add(e *EpochStats) {
	t.Usage = t.Usage.Add(e.Usage)
	t.Gradients = t.Gradients.Add(e.Gradients)
	t.Halo.Add(e.Halo)
	t.CheckCache += e.CheckCache
	t.ReduceTime += e.Reduce
	t.CPU += e.CPU
	if s := e.Isolated; s != nil {
		t.SwitchTime += s.Switch
		t.Covered += s.Coverage.Ratio
		t.Switches += s.Switches
	}
}

// Result is the outcome of a run.
type Result struct {
	Epochs     int // epochs done in all, resumed ones included
	FinalLoss  float64
	Best       learn.Metrics   // at BestEpoch
	Last       learn.Metrics   // at the last evaluation
	BestEpoch  int             // epoch of the best validation metric (the last one without validation), -1: never evaluated
	MetricName string          // a learn.Metric that the problem has
	Stopped    string          // "", "patience" or "interrupted"
	EpochTime  []time.Duration // of the epochs since the run was resumed, if it was
	Totals
	Caches      *jaca.Plan // of training; nil: none
	HaloRows    int64      // Σ_i |H_i| of what training exchanges: without replicas that are dropped, which evaluation still reads
	HaloPairs   [][]int64  // the same from part to part: [i][j] are the rows of part j that part i reads; nil beyond MaxPairParts
	PeakHost    gpu.Bytes  // of the process with most
	PeakDevice  []gpu.Bytes
	WeightsSHA  string       // hex SHA-256, see gnn.Weights.SHA256
	Weights     *gnn.Weights // last weights
	BestWeights *gnn.Weights // weights at BestEpoch
}
