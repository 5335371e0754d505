package pipeline

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"sync/atomic"
	"time"

	"capgnn/gnn"
	"capgnn/graph"
	"capgnn/hostmem"
	"capgnn/internal/fit"
	"capgnn/internal/layered"
	"capgnn/internal/learn"
	"capgnn/internal/meet"
	"capgnn/internal/trainer"
	"capgnn/pipeline/halo"
	"capgnn/reduce"
)

// Trainer is a run: one worker per part, all buffers in place. Not safe for use by several goroutines.
type Trainer struct {
	p        *learn.Problem
	task     learn.Task
	o        Options
	cut      *graph.Cut
	shape    gnn.Shape
	plan     gnn.Plan
	weights  *gnn.Weights // layout, and the last weights on the host
	workers  []*worker    // of the parts of this process, in part order
	crew     trainer.Crew // the same
	hub      *meet.Hub
	reduce   *reduce.Reduction // nil: nothing is trained
	terms    float64           // of the loss
	state    state
	layout   *Layout
	halo     *halo.Plan // what parts exchange
	replaced bool       // newExact made it
	saves    bool       // the run writes checkpoints
	joined   bool       // other ranks may send rows, gradients and weights
	over     bool       // they have sent all of them
	pairs    *pairs     // what they have sent; nil: there are none
	// isolation is what isolated parts share; nil: parts are not isolated.
	isolation *isolation
	exact     *layered.Evaluator // of parts that take turns, at rank 0; nil: parts evaluate themselves
	watch     *meet.Watch
	// gathering is what this process waits for of others beside rows and gradients; nil: nothing.
	gathering atomic.Pointer[string]
	// asked ends when this one of several processes is to end its run, stop ends that of all; nil: there is one process.
	asked context.Context
	stop  context.CancelFunc
}

// New validates everything, cuts the graph, plans the order of operations, and puts every part on its device. Errors of
// input are plain; a part that does not fit its device is a *gpu.OutOfMemory. Close must be called on success. Graph and
// features of p are not read any more once New has returned.
func New(ctx context.Context, p *learn.Problem, o Options) (*Trainer, error) {
	o.Parts = cmp.Or(o.Parts, len(o.Devices))
	p, err := p.For(o.Model)
	if err != nil {
		return nil, err
	}
	task, err := o.validate(p)
	if err != nil {
		return nil, err
	}
	if o.Log == nil {
		o.Log = slog.New(slog.DiscardHandler)
	}
	if o.WaitDeadline == 0 {
		o.WaitDeadline = 5 * time.Minute
	}
	t := &Trainer{p: p, o: o, task: task, halo: new(halo.Plan), weights: gnn.NewWeights(o.Model),
		terms: task.Terms(p.TrainingVertices(), p.Training())}
	if !slices.ContainsFunc(o.Devices, dropsContent) { // plans need shapes alone
		t.weights.Init(o.Model.Seed)
	}
	if o.Init != nil {
		if err := t.weights.LoadStateDict(o.Init); err != nil {
			return nil, fmt.Errorf("load initial weights: %w", err)
		}
	}
	plan, put := planner{t}, placer{t}
	if err := plan.planRun(); err != nil {
		return nil, err
	}
	t.hub = meet.NewHub(context.WithoutCancel(ctx), o.WaitDeadline)
	put.newWorkers()
	if err := plan.settleAging(); err != nil {
		t.Close()
		return nil, err
	}
	if err := put.place(put.build, put.planExchanges); err != nil {
		t.Close()
		if plan.lacksMemoryToAge(err) {
			return newExact(ctx, p, o)
		}
		return nil, err
	}
	t.reduce = put.newReduction(put.division(t.weights.Layers()))
	put.lockHost()
	if err := put.join(); err != nil {
		t.Close()
		return nil, err
	}
	t.state = state{State: fit.NewState[learn.Metrics]()}
	if err := t.begin(); err != nil {
		t.Close()
		return nil, err
	}
	if err := t.hold(t.state.Epochs, 0); err != nil {
		t.Close()
		return nil, err
	}
	return t, nil
}

// begin settles whether the run writes checkpoints, and continues from one if that is asked for.
func (t *Trainer) begin() error {
	type asked struct {
		Saves, Resume bool
		Every         int
	}
	a, err := fromRank0(t.hub.Context(), t, tagResume, asked{t.o.CheckpointDir != "", t.o.Resume, t.o.CheckpointEvery})
	if err != nil {
		return err
	}
	if t.saves, t.o.CheckpointEvery = a.Saves, a.Every; a.Resume {
		return saver{t}.restore()
	}
	return nil
}

// validate reports all problems of o and p at once.
func (o *Options) validate(p *learn.Problem) (learn.Task, error) {
	task, err := p.Check(o.Task, o.Model, o.Storage)
	errs := append([]error{err, o.Optimizer.Fits(o.Model)}, o.checkParts(p)...)
	errs = append(errs, o.checkIsolated(p.Vertices())...)
	errs = append(errs, o.Cache.Validate(o.Parts, len(o.Devices)))
	if o.Epochs < 0 || o.EvalEvery < 0 || o.Patience < 0 || o.CheckpointEvery < 0 {
		errs = append(errs, errors.New("epochs, evaluation interval, patience and checkpoint interval must not be negative"))
	}
	if err == nil && !task.Even() && o.phased() {
		errs = append(errs, errors.New("class weights: isolated parts that take turns have means over targets, whatever these weigh"))
	}
	if errors.Join(errs...) == nil && task.Terms(p.TrainingVertices(), p.Training()) == 0 {
		errs = append(errs, errors.New("class weights: no training vertex has one above 0"))
	}
	return task, errors.Join(errs...)
}

func (o *Options) checkParts(p *learn.Problem) (errs []error) {
	bad := func(format string, a ...any) { errs = append(errs, fmt.Errorf(format, a...)) }
	if len(o.Devices) == 0 {
		bad("no device")
	}
	if len(o.Part) != p.Vertices() {
		bad("%d part entries for %d vertices", len(o.Part), p.Vertices())
	}
	if own := o.own(); own.Lo < 0 || own.Hi > o.Parts {
		bad("devices for parts %d to %d of %d", own.Lo, own.Hi-1, o.Parts)
	} else if len(o.Devices) < o.Parts && (o.Ranks == nil || o.Ranks.Ranks() == 1) {
		bad("devices for %d of %d parts: this process does not reach the others", len(o.Devices), o.Parts)
	}
	if s := p.Shards; s != nil && (len(s.In) != o.Parts || len(o.Dropped) > 0 || o.Isolated != nil) {
		bad("shards of %d parts, %d are wanted: nothing is dropped of them, and none is isolated", len(s.In), o.Parts)
	}
	if len(o.Dropped) > 0 && len(o.Dropped) != o.Parts {
		bad("dropped replicas of %d parts for %d", len(o.Dropped), o.Parts)
	}
	return errs
}

// worker returns that of a part of this process.
func (t *Trainer) worker(part int) *worker { return t.workers[part-t.o.First] }

// at returns the place of a worker among those of this process.
func (t *Trainer) at(w *worker) int { return w.Index - t.o.First }

// each runs f for every worker, side by side.
func (t *Trainer) each(f func(w *worker) error) error {
	return t.crew.Each(func(i int) error { return f(t.workers[i]) })
}

// readOthers reports whether an error says that rows of another part were not there: that part's own error counts before it.
func readOthers(err error) bool {
	var version *hostmem.VersionFault
	return errors.As(err, &version)
}

// Close waits for all queues and releases all memory. Devices stay open. What a device that does not answer may still write to
// is not released, nor, where a run of several ranks is not over, host memory that the others may write to.
func (t *Trainer) Close() error {
	t.hub.Fail(errors.New("closed"))
	for _, w := range t.workers {
		var echo *meet.Echo
		if t.crew.Stuck = t.crew.Stuck || errors.As(w.Sync(), &echo); t.crew.Stuck { // another fault has been reported already
			t.isolation.wait()
			t.workers, t.halo = nil, new(halo.Plan)
			return nil
		}
	}
	for _, w := range t.workers {
		if w.Workspace != nil {
			w.Workspace.Free()
		}
		w.ld.close()
		for _, p := range w.Pinned {
			if !t.joined || t.over {
				p.Close()
			}
		}
	}
	t.workers = nil
	t.halo.Close()
	t.releaseLayout()
	var err error
	if t.exact != nil {
		err = t.exact.Close()
	}
	return errors.Join(err, t.isolation.close())
}

// releaseLayout gives up the edges on the host, unless somebody else owns them. Every queue that uploads them is idle.
func (t *Trainer) releaseLayout() {
	if t.o.Layout == nil && t.layout != nil {
		t.layout.Release()
	}
}
