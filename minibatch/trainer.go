package minibatch

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"math"
	"runtime"
	"slices"
	"sync"
	"time"

	"capgnn/gpu"
	"capgnn/internal/fit"
	"capgnn/internal/learn"
	"capgnn/internal/meet"
	"capgnn/internal/trainer"
	"capgnn/pipeline/layered"
)

// core is what all trainers have.
type core = trainer.Trainer

// Trainer is a run: one worker per part, all buffers in place. Not safe for use by several goroutines.
type Trainer struct {
	core
	p          *learn.Problem
	o          Options
	roots      *roots
	design     design
	workers    []*worker
	weighs     float64 // what all roots of an epoch weigh in the loss
	exact      *layered.Evaluator
	state      state
	progressed watch
	looks      time.Duration // between looks at losses
	fed        int           // samplers end before this step
	// switching is what bringing pairs to isolated parts took since the last stretch.
	switching time.Duration
	// simulated says that the steps of the run are all that is of interest: nothing is computed.
	simulated bool

	// Of several ranks:
	rows      *rows
	consensus *consensus
	fetchers  []*fetcher
	answering sync.WaitGroup
}

// state is what checkpoints have beside weights.
type state struct {
	*trainer.State
	Merging merging
	Caches  []snapshot // by part: of the run that this one goes on from, or of its newest checkpoint; nil: rows were not kept
}

// New validates everything, samples some steps to see how large they are, plans the order of operations, and puts every part on its device. Errors of input are plain; a
// part that does not fit its device is a *gpu.OutOfMemory. Close must be called on success.
func New(ctx context.Context, p *learn.Problem, o Options) (*Trainer, error) {
	return build(ctx, p, o, false)
}

// build is New, of a simulated run without what comes behind the steps of an epoch.
func build(ctx context.Context, p *learn.Problem, o Options, simulated bool) (*Trainer, error) {
	p, err := p.For(o.Model)
	if err != nil {
		return nil, err
	}
	if err := o.Validate(p); err != nil {
		return nil, err
	}
	o.setDefaults()
	t := newTrainerOf(p, o)
	t.simulated = simulated
	if err := t.NewWeights(!simulated); err != nil { // which needs shapes alone
		return nil, err
	}
	if last := int64(o.Epochs) * int64(t.roots.steps); last > math.MaxUint32 {
		return nil, fmt.Errorf("%d epochs of %d steps: a run has at most %d steps: choose a larger batch size or fewer epochs", o.Epochs, t.roots.steps, uint32(math.MaxUint32))
	}
	if t.design, err = newDesign(ctx, p, &t.o, t.roots); err != nil {
		return nil, err
	}
	t.Task, t.state.Merging = t.design.task, t.roots.merging                // which the design has decided
	times := float64(t.roots.total) / float64(max(1, p.TrainingVertices())) // that each is a root
	t.weighs = times * t.Task.Terms(p.TrainingVertices(), p.Training())
	if err := t.meetOthers(ctx); err != nil {
		return nil, err
	}
	o.Log.Info("planned", "input", t.design.plan.Input.String(), "layers", fmt.Sprintf("%+v", t.design.plan.Layers), "steps", t.roots.steps)
	t.Hub = meet.NewHub(context.WithoutCancel(ctx), o.WaitDeadline)
	if p.Shards != nil {
		p.Shards.OnFault(t.Hub.Fail)
	}
	if err = t.place(ctx); err == nil {
		err = t.join()
	}
	if err == nil {
		err = t.Start()
	}
	if err != nil {
		t.Close()
		return nil, tooLarge(ctx, p, o, err)
	}
	return t, nil
}

// newTrainerOf returns a trainer without anything on devices. Options have their defaults.
func newTrainerOf(p *learn.Problem, o Options) *Trainer {
	t := &Trainer{p: p, o: o, looks: looks, roots: newRoots(p, &o), progressed: watch{epoch: noEpoch}}
	t.Is(o.core(), engine{t})
	t.state = state{State: &t.State, Merging: t.roots.merging}
	return t
}

func (o *Options) setDefaults() {
	o.Complete()
	o.Sampling.Prefetch = cmp.Or(o.Sampling.Prefetch, 3)
	o.Sampling.Samplers = cmp.Or(o.Sampling.Samplers, o.samplers())
	if i := o.Isolated; i != nil { // whoever trains on a chunk evaluates it
		o.Part = make([]int32, len(i.Of))
		for v, k := range i.Of {
			o.Part[v] = k % int32(len(o.Devices))
		}
	}
	if len(o.Devices) == 1 {
		o.Part = nil
	}
}

// samplers returns how many goroutines sample for a part: one where CPU devices compute on the same cores, else as many as there are cores for, up to four.
func (o *Options) samplers() int {
	if !o.idle() {
		return 1
	}
	return max(1, min(4, runtime.GOMAXPROCS(0)/len(o.ownDevices())))
}

// idle reports whether the host's cores compute nothing beside sampling and staging.
func (o *Options) idle() bool {
	return !slices.ContainsFunc(o.ownDevices(), func(d gpu.Device) bool { return d.Info().Kind != gpu.CUDA })
}

// sample has the samplers of all parts go on with a step, where they have come to an end: that of the run, or that of an epoch behind which the next one's units are
// decided. Before the first one it fills caches again where the run goes on from another one.
func (t *Trainer) sample(from int) error {
	if from < t.fed {
		return nil
	}
	first := t.fed == 0
	t.fed = t.horizon(from)
	if err := t.fetch(from, first); err != nil {
		return err
	}
	for _, w := range t.workers {
		for len(w.samplers) < t.o.Sampling.Samplers {
			w.samplers = append(w.samplers, t.design.sampler(t.p))
		}
	}
	t.hold(from)
	for _, w := range t.workers {
		w.feed.start(from, t.fed, w.samplers)
	}
	return nil
}

// horizon returns the step behind the last one that may be sampled while a step is due.
func (t *Trainer) horizon(step int) int {
	if epoch := step / t.roots.steps; t.state.Merging.open(epoch) {
		return (epoch + 1) * t.roots.steps
	}
	if s := t.roots.isolation; s != nil {
		return s.horizon(step, t.roots.steps)
	}
	return t.o.Epochs * t.roots.steps
}

// each runs f for every worker, side by side.
func (t *Trainer) each(f func(w *worker) error) error {
	return t.Crew.Each(func(i int) error { return f(t.workers[i]) })
}

// Close ends the samplers, waits for all queues and releases all memory. Devices stay open. Memory that a device
// which does not answer, or another rank of an unfinished run, may still write to is not released.
func (t *Trainer) Close() error {
	t.Hub.Fail(errors.New("closed"))
	for _, w := range t.workers {
		if w.fetcher != nil && w.fetcher.lookahead != nil {
			w.fetcher.lookahead.close()
		}
		if w.feed != nil {
			w.feed.close()
		}
	}
	t.answering.Wait()
	if t.rows != nil {
		t.rows.close()
	}
	if t.Settles() {
		for _, w := range t.workers {
			w.close(!t.Joined || t.Over && t.State.Stopped != fit.Interrupted)
		}
	}
	t.workers = nil
	var err error
	if s := t.roots.isolation; s != nil {
		err = s.Close()
	}
	if t.exact != nil && !t.Crew.Stuck {
		err = errors.Join(err, t.exact.Close())
	}
	return err
}
