package trainer

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync/atomic"

	"capgnn/gnn"
	"capgnn/gpu"
	"capgnn/internal/checkpoint"
	"capgnn/internal/fit"
	"capgnn/internal/learn"
	"capgnn/internal/meet"
	"capgnn/internal/together"
	"capgnn/reduce"
)

// Engine is what parts compute, in the steps of a run: whole parts of the graph, which train in one step of an epoch
// or, isolated ones, in one for each phase; or samples of it.
type Engine interface {
	// Stretch returns which steps of an epoch, from one on, run without a stop, one behind the other: all parts run the
	// same ones. lo = hi: none is left. Those before lo are left out.
	Stretch(epoch, from int) (lo, hi int)
	// Begin makes ready for a step, outside the time of the epoch.
	Begin(epoch, step int) error
	// Run runs steps on all parts and waits for them. It returns the step behind the last one that was run, and whether
	// a rank has been asked to end.
	Run(epoch, lo, hi int) (next int, stop bool, err error)
	// Count enters what only the engine knows of these steps in the records of the parts of this process. done is what
	// their queues have done.
	Count(own []Record, lo, next int, done []Done)
	// Share is what the loss of a step counts in that of its epoch, times the epoch's roots where these are counted.
	Share(epoch, step int) float64
	// Diverged says that a step's loss is no number: a *Diverged.
	Diverged(epoch, step int, loss float64) error
	// Describe fills in what only the engine knows of an epoch that has been trained.
	Describe(epoch int, e *EpochStats)
	// Evaluate scores the weights. It may end with ctx.
	Evaluate(ctx context.Context) (learn.Metrics, error)
	// Over is told that an epoch is over.
	Over(e *EpochStats)
	// Complete fills in what only the engine knows of a run.
	Complete(r *Result)
	// State is what checkpoints hold beside weights, moments and sections: the trainer's State among it.
	State() any
	// Save adds sections, and returns those that other ranks have; Restore reads them, and what State holds now.
	Save(c *checkpoint.File) ([]Held, error)
	Restore(c *checkpoint.File, piece []byte) error
	// Where says behind what weights have been found to be no numbers.
	Where() string
}

// Trainer is what a run has whatever its parts compute.
type Trainer struct {
	Options Options
	Engine  Engine
	Task    learn.Task
	Weights *gnn.Weights // their layout, and the first ones, or the last ones on the host
	Crew    Crew         // of the parts of this process
	Hub     *meet.Hub
	Reduce  *reduce.Reduction // nil: nothing is trained
	State   State
	Saves   bool // the run writes checkpoints

	Asked context.Context // ends when this process is to end its run
	stop  context.CancelFunc

	// Of several ranks:
	Joined bool                                       // others may send what there are areas for
	Over   bool                                       // they have sent all of it
	RankOf []int                                      // of every part
	Watch  *meet.Watch                                // for what devices wait
	Sent   func(came []together.Pair) []together.Pair // corrects what has come in an epoch; nil: as it came

	division  *reduce.Division
	counter   *together.Counter
	meetings  meetings
	gathering atomic.Pointer[string] // what is waited for beside rows, gradients and weights; nil: nothing
}

// Is makes t the trainer of a run that has not begun.
func (t *Trainer) Is(o Options, e Engine) {
	t.Options, t.Engine, t.Asked = o, e, context.Background()
	t.State.State = fit.NewState[learn.Metrics]()
}

// NewWeights makes the first weights, or their layout alone where nothing is computed.
func (t *Trainer) NewWeights(draws bool) error {
	o := &t.Options
	t.Weights = gnn.NewWeights(o.Model)
	t.division = o.Division(t.Weights.Layers())
	if draws {
		t.Weights.Init(o.Model.Seed)
	}
	if o.Init != nil {
		if err := t.Weights.LoadStateDict(o.Init); err != nil {
			return fmt.Errorf("load initial weights: %w", err)
		}
	}
	return nil
}

// Division returns who owns which elements of layers: of the parts of this process, which package reduce counts from 0.
func (o *Options) Division(layers [][]gnn.Range) *reduce.Division {
	at := reduce.Rank{First: o.First, Clips: o.Optimizer.Clip > 0}
	if o.Several() {
		at.Index, at.Count = o.Ranks.Rank(), o.Ranks.Ranks()
	}
	return reduce.DivideRank(layers, HomesOf(o.Devices), at)
}

// HomesOf returns the first part on the device of each part.
func HomesOf(devices []gpu.Device) []int {
	homes := make([]int, len(devices))
	for i, dev := range devices {
		homes[i] = slices.Index(devices, dev)
	}
	return homes
}

// Employ makes a worker one of the crew: the first one on its device owns elements.
func (t *Trainer) Employ(w *Worker) {
	w.At = len(t.Crew.Workers)
	w.Reduce = reduce.NewQueues(w.Device, slices.Index(t.Options.Devices, w.Device) == w.At)
	t.Crew.Workers = append(t.Crew.Workers, w)
}

// Equip gives a worker its weights, which lie in a buffer, gradients, and the optimiser of what it owns.
func (t *Trainer) Equip(w *Worker, weights gpu.Buffer) {
	n := len(t.Weights.Flat)
	w.Params = gnn.Bind(t.Weights, gpu.Vec{Buf: weights, Len: n})
	w.Grads = gnn.Bind(t.Weights, gpu.Vec{Buf: w.Alloc(4*gpu.Bytes(n), "gradients"), Len: n})
	w.Owner = t.division.NewOwner(w.Alloc, w.Compute, t.Options.Optimizer, w.At)
}

// Reduces begins the reduction of workers that have their gradients, and has the driver page-lock what steps copy
// through. reach says from which of them a part can copy.
func (t *Trainer) Reduces(reach func(i int) []bool) {
	var parts []reduce.Part
	for i, w := range t.Crew.Workers {
		parts = append(parts, reduce.Part{Compute: w.Compute, Queues: w.Reduce, Waits: &w.Waits, Weights: w.Params.Flat,
			Gradients: w.Grads.Flat, Reach: reach(i), Owner: w.Owner})
	}
	t.Reduce = reduce.New(t.Hub, parts, t.division)
	for i, w := range t.Crew.Workers {
		lock := w.Locking(t.Options.Lock)
		w.LossHost = lock(w.LossHost)
		t.Reduce.Lock(i, lock)
	}
}

// Settles waits for what workers have enqueued, and reports whether their devices answer. It comes at the end, for which
// there are no workers any more.
func (t *Trainer) Settles() bool {
	for _, w := range t.Crew.Workers {
		echo := new(meet.Echo) // another fault has been reported already
		t.Crew.Stuck = t.Crew.Stuck || errors.As(w.Sync(), &echo)
	}
	t.Crew.Workers = nil
	return !t.Crew.Stuck
}

// Start begins the run, or continues from a checkpoint if that is asked for: as rank 0 says, which has them.
func (t *Trainer) Start() error {
	type asked struct {
		Saves, Resume bool
		Steps, Every  int
	}
	o := &t.Options
	a, err := FromRank0(t, TagResume, asked{o.CheckpointDir != "", o.Resume, o.EverySteps, o.CheckpointEvery})
	if err != nil {
		return err
	}
	if t.Saves, o.EverySteps, o.CheckpointEvery = a.Saves, a.Steps, a.Every; a.Resume {
		return t.Restore()
	}
	return nil
}
