package pipeline

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"capgnn/gnn"
	"capgnn/gpu/window"
	"capgnn/graph"
	"capgnn/hostmem"
	"capgnn/internal/learn"
	"capgnn/internal/meet"
	"capgnn/internal/trainer"
	"capgnn/pipeline/halo"
	"capgnn/pipeline/layered"
)

// core is what all trainers have.
type core = trainer.Trainer

// Trainer is a run: one worker per part, all buffers in place. Not safe for use by several goroutines.
type Trainer struct {
	core
	p        *learn.Problem
	o        Options
	cut      *graph.Cut
	shape    gnn.Shape
	plan     gnn.Plan
	workers  []*worker // of the parts of this process, in part order
	terms    float64   // of the loss
	layout   *Layout
	halo     *halo.Plan // what parts exchange
	replaced bool       // newExact made it
	// isolation is what isolated parts share; nil: parts are not isolated.
	isolation *isolation
	windows   []*window.Window   // of devices whose parts take turns
	switching time.Duration      // of the pairs of phases that no record has
	exact     *layered.Evaluator // of parts that take turns, at rank 0; nil: parts evaluate themselves
}

// newTrainerOf returns a trainer without anything on devices. It completes the options.
func newTrainerOf(p *learn.Problem, o Options) *Trainer {
	o.Complete()
	o.Parts = cmp.Or(o.Parts, len(o.Devices))
	t := &Trainer{p: p, o: o, halo: new(halo.Plan)}
	t.Is(o.core(), engine{t})
	return t
}

// New validates everything, cuts the graph, plans the order of operations, and puts every part on its device. Errors of
// input are plain; a part that does not fit its device is a *gpu.OutOfMemory. Close must be called on success. Graph and
// features of p are not read any more once New has returned.
func New(ctx context.Context, p *learn.Problem, o Options) (*Trainer, error) {
	p, err := p.For(o.Model)
	if err != nil {
		return nil, err
	}
	o.Parts, o.Optimizer = cmp.Or(o.Parts, len(o.Devices)), o.Optimizer.Sparing(o.Model)
	task, err := o.validate(p)
	if err != nil {
		return nil, err
	}
	t := newTrainerOf(p, o)
	t.Task, t.terms = task, task.Terms(p.TrainingVertices(), p.Training())
	if err := t.NewWeights(!slices.ContainsFunc(o.Devices, dropsContent)); err != nil { // plans need shapes alone
		return nil, err
	}
	if err := t.planRun(); err != nil {
		return nil, err
	}
	t.Hub = meet.NewHub(context.WithoutCancel(ctx), t.o.WaitDeadline)
	t.newWorkers()
	if err := t.settleAging(); err != nil {
		t.Close()
		return nil, err
	}
	if err := t.place(t.build, t.planExchanges); err != nil {
		t.Close()
		if t.lacksMemoryToAge(err) {
			return newExact(ctx, p, o)
		}
		return nil, err
	}
	t.Reduces(func(i int) []bool { return t.workers[i].ep.Reach[o.First:] })
	t.Meet(t.passes)
	err = t.join()
	if err == nil {
		err = t.Start()
	}
	if err == nil {
		err = t.hold(t.State.Epochs, 0)
	}
	if err != nil {
		t.Close()
		return nil, err
	}
	t.switching = 0 // the first pairs are no switch
	for _, w := range t.workers {
		if w.hold != nil {
			w.hold.copied = 0
		}
	}
	return t, nil
}

func (o *Options) validate(p *learn.Problem) (learn.Task, error) {
	task, errs := o.Check(p)
	weighs := errs[0] == nil && !task.Even()
	errs = append(errs, o.checkParts(p)...)
	errs = append(errs, o.checkIsolated(p.Vertices())...)
	errs = append(errs, o.Cache.Validate(o.Parts, len(o.Devices)), o.checkStream())
	if errs[0] == nil && o.Model.Messages() {
		if o.Cache.Period() > 0 {
			errs = append(errs, errors.New("stale rows: the model compares rows of both ends of edges, which have to be of one epoch"))
		}
		if o.Cache.HaloType != halo.FP32 {
			errs = append(errs, errors.New("encoded rows: the model compares rows of both ends of edges, which have to be exact"))
		}
	}
	if weighs && o.phased() {
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

func (t *Trainer) worker(part int) *worker { return t.workers[part-t.o.First] }

// each runs f for every worker, side by side.
func (t *Trainer) each(f func(w *worker) error) error {
	return t.Crew.Each(func(i int) error { return f(t.workers[i]) })
}

// readOthers reports whether an error says that rows of another part were not there: that part's own error counts before it.
func readOthers(err error) bool {
	var version *hostmem.VersionFault
	return errors.As(err, &version)
}

// Close waits for all queues and releases all memory. Devices stay open. What a device that does not answer may still write to
// is not released, nor, where a run of several ranks is not over, host memory that the others may write to.
func (t *Trainer) Close() error {
	t.Hub.Fail(errors.New("closed"))
	if !t.Settles() {
		if t.isolation != nil {
			t.isolation.Wait()
		}
		t.workers, t.halo = nil, new(halo.Plan)
		return nil
	}
	for _, w := range t.workers {
		w.Release(!t.Joined || t.Over)
	}
	t.workers = nil
	for _, w := range t.windows {
		w.Free()
	}
	t.halo.Close()
	t.releaseLayout()
	var err error
	if t.exact != nil {
		err = t.exact.Close()
	}
	if t.isolation != nil {
		err = errors.Join(err, t.isolation.Close())
	}
	return err
}

// releaseLayout gives up the edges on the host, unless somebody else owns them. Every queue that uploads them is idle.
func (t *Trainer) releaseLayout() {
	if t.o.Layout == nil && t.layout != nil {
		t.layout.Release()
	}
}
