package pipeline

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"runtime"
	"time"

	"capgnn/gnn"
	"capgnn/gpu"
	"capgnn/graph"
	"capgnn/hostmem"
	"capgnn/internal/fit"
	"capgnn/internal/meet"
	"capgnn/jaca"
	"capgnn/reduce"
)

// Trainer is a run: one worker per part, all buffers in place. Not safe for use by several goroutines.
type Trainer struct {
	p        *Problem
	o        Options
	cut      *graph.Cut
	shape    gnn.Shape
	plan     gnn.Plan
	weights  *gnn.Weights // layout, and the last weights on the host
	workers  []*worker
	hub      *meet.Hub
	reduce   *reduce.Reduction
	cancel   context.CancelCauseFunc
	terms    int // of the loss
	state    state
	layout   *Layout
	traffic  []*traffic      // of training
	caches   *jaca.Plan      // nil: none
	periods  *periods        // schedules of exchanges
	region   *hostmem.Region // the global cache, nil: none
	stuck    bool            // a device does not answer
	dynamic  *dynamicCaches  // of a dynamic policy's caches; nil: slots stay with their rows
	replaced bool            // newExact made it
}

// New validates everything, cuts the graph, plans the order of operations, and puts every part on its device. Errors of
// input are plain; a part that does not fit its device is a *gpu.OutOfMemory. Close must be called on success. Graph and
// features of p are not read any more once New has returned.
func New(ctx context.Context, p *Problem, o Options) (*Trainer, error) {
	if err := o.validate(p); err != nil {
		return nil, err
	}
	if o.Log == nil {
		o.Log = slog.New(slog.DiscardHandler)
	}
	if o.WaitDeadline == 0 {
		o.WaitDeadline = 5 * time.Minute
	}
	t := &Trainer{p: p, o: o, periods: new(periods), weights: gnn.NewWeights(o.Model), terms: p.lossTerms()}
	t.weights.Init(o.Model.Seed)
	if o.Init != nil {
		if err := t.weights.LoadStateDict(o.Init); err != nil {
			return nil, fmt.Errorf("load initial weights: %w", err)
		}
	}
	if err := t.planRun(); err != nil {
		return nil, err
	}
	runCtx, cancel := context.WithCancelCause(context.WithoutCancel(ctx))
	t.cancel = cancel
	t.hub = meet.NewHub(runCtx, o.WaitDeadline)
	t.newWorkers()
	if err := t.settleAging(); err != nil {
		t.Close()
		return nil, err
	}
	if err := t.place(t.build, t.trafficOfTraining); err != nil {
		t.Close()
		if t.lacksMemoryToAge(err) {
			return newExact(ctx, p, o)
		}
		return nil, err
	}
	t.reduce = t.newReduction(t.weights.Layers())
	t.lockHost()
	t.state = state{State: fit.NewState[Metrics](), Bypass: t.newBypass()}
	if o.Resume {
		if err := t.restore(); err != nil {
			t.Close()
			return nil, err
		}
	}
	return t, nil
}

// validate reports all problems of o and p at once.
func (o *Options) validate(p *Problem) error {
	errs := []error{p.Validate(), o.Model.Validate(), o.Optimizer.Validate()}
	bad := func(format string, a ...any) { errs = append(errs, fmt.Errorf(format, a...)) }
	if len(o.Devices) == 0 {
		bad("no device")
	}
	if len(o.Part) != p.Vertices() {
		bad("%d part entries for %d vertices", len(o.Part), p.Vertices())
	}
	if len(o.Dropped) > 0 && len(o.Dropped) != len(o.Devices) {
		bad("dropped replicas of %d parts for %d devices", len(o.Dropped), len(o.Devices))
	}
	errs = append(errs, o.Cache.validate(len(o.Devices)))
	if o.Epochs < 0 || o.EvalEvery < 0 || o.Patience < 0 || o.CheckpointEvery < 0 {
		bad("epochs, evaluation interval, patience and checkpoint interval must not be negative")
	}
	if o.Model.In != p.Features.Cols {
		bad("the model reads %d features, the data has %d", o.Model.In, p.Features.Cols)
	}
	if o.Storage != gpu.FP32 && o.Model.Kind == gnn.GAT {
		bad("storage %v: GAT stores fp32 only", o.Storage)
	}
	if o.Model.Out != p.Classes || o.Model.Multi != (p.Targets != nil) {
		bad("the model has %d outputs (multi-label: %t), the data %d classes", o.Model.Out, o.Model.Multi, p.Classes)
	}
	return errors.Join(errs...)
}

// planRun cuts the graph and decides the order of operations; where nothing ages, settleAging decides it anew.
func (t *Trainer) planRun() error {
	o, p := &t.o, t.p
	if t.layout = o.Layout; t.layout == nil {
		var err error
		if t.layout, err = newLayout(p, o, len(o.Devices)); err != nil {
			return err
		}
	}
	t.cut = t.layout.cut
	t.shape = t.layout.shape(&p.Features, p.Features.Sparse() && !o.Savings.NoSparse, o.Model)
	t.chooseOrder()
	return nil
}

// chooseOrder decides the order of operations.
func (t *Trainer) chooseOrder() {
	o := &t.o
	t.plan = gnn.Choose(o.Model, t.shape, gnn.Choice{NoPrecompute: o.Savings.NoPrecompute,
		NoTransformFirst: o.Savings.NoTransformFirst, NoFuse: o.Savings.NoFuse, Period: o.Cache.period(), Storage: o.Storage})
	o.Log.Info("planned", "input", t.plan.Input.String(), "layers", fmt.Sprintf("%+v", t.plan.Layers))
}

// newWorkers makes one worker per part.
func (t *Trainer) newWorkers() {
	for i, dev := range t.o.Devices {
		w := &worker{dev: dev, part: t.cut.Parts[i], localOf: t.cut.LocalOf, endpoint: endpoint{index: i, waits: meet.Waits{Hub: t.hub, Part: i, Device: dev.Info().Name},
			compute: dev.NewQueue("compute"), local: dev.NewQueue("local"), prefetch: dev.NewQueue("prefetch"), out: dev.NewQueue("out")}, reduce: dev.NewQueue("reduce")}
		w.ld = newLoader(dev, w.compute, w.local)
		t.workers = append(t.workers, w)
	}
	connect(t.workers, t.o.Cache.NoPeer)
}

// place puts the parts on their devices: build uploads everything that does not change, then plan says what parts exchange.
func (t *Trainer) place(build func(*worker, weighting) error, plan func() (training, evaluation []*traffic, err error)) error {
	if t.o.Cache.Pipeline && t.plan.Mixed() {
		for _, w := range t.workers {
			w.fresh = [2]gpu.Queue{w.dev.NewQueue("soon"), w.dev.NewQueue("soon out")}
		}
	}
	scale := weightingOf(t.o.Model.Kind, t.layout, !t.o.NoRescale)
	if err := t.each(func(w *worker) error { return build(w, scale) }); err != nil {
		return err
	}
	if len(t.workers) > 1 {
		training, evaluation, err := plan()
		if err != nil {
			return err
		}
		if err := t.each(func(w *worker) error { return t.attach(w, scale, training, evaluation) }); err != nil {
			return err
		}
	}
	t.releaseLayout()
	t.p = t.p.answers()
	return nil
}

// trafficOfTraining plans what training and evaluation exchange.
func (t *Trainer) trafficOfTraining() (training, evaluation []*traffic, err error) {
	training, err = t.planTraffic()
	return training, evaluationTraffic(t.layout, t.o.Model, t.plan, t.o.Model.Layers), err
}

// attach puts a worker's side of the exchanges on its device.
func (t *Trainer) attach(w *worker, scale weighting, training, evaluation []*traffic) error {
	a := &attachment{w: w, hub: t.hub, host: t.lock(), bound: t.o.Cache.Staleness.Bound, seed: t.o.Model.Seed}
	train, eval := a.halos(training, evaluation, &w.stats)
	w.trainHalo, w.evalHalo = train, eval
	if t.periods.controller != nil {
		w.watch(train, t.periods.controller, t.o.Model.Seed)
	}
	if t.caches != nil && w.ld.err == nil {
		t.builder(w, scale).address(train, w.layers)
	}
	if w.ld.err != nil {
		return w.ld.err
	}
	err := w.compute.Sync()
	w.ld.seen = nil // host arrays may go
	runtime.KeepAlive(a)
	return err
}

// builder returns what puts one part on its device.
func (t *Trainer) builder(w *worker, scale weighting) *builder {
	return &builder{worker: w, p: t.p, model: t.o.Model, plan: t.plan, kept: t.layout.kept.Parts[w.index], scale: scale, fold: !t.o.Savings.NoFoldScale,
		picks: map[picked][]float32{}, loops: map[*graph.CSR][]float32{},
		prepared: t.o.Prepared, aggregateKey: t.aggregateKey(w),
		sparse: t.p.Features.Sparse() && !t.o.Savings.NoSparse && t.plan.Input != gnn.Precomputed}
}

// build puts one part on its device.
func (t *Trainer) build(w *worker, scale weighting) error {
	o, model := &t.o, t.o.Model
	b := t.builder(w, scale)
	train, eval := b.graphs()
	if w.ld.err != nil {
		return w.ld.err
	}
	in := b.input(eval[0], w.part.Rows[0], w.part.Rows[1])
	b.answers()
	w.layers = train
	n := len(t.weights.Flat)
	params := upload(w.ld, "weights", t.weights.Flat)
	grads := gpu.Vec{Buf: w.ld.alloc(4*gpu.Bytes(n), "gradients"), Len: n}
	if w.index == 0 {
		w.owner = reduce.NewOwner(w.ld.alloc, w.compute, o.Optimizer, n, len(t.workers), t.weights.Layers())
	}
	if w.ld.err != nil {
		return w.ld.err
	}
	w.params, w.grads = gnn.Bind(model, t.weights, params), gnn.Bind(model, t.weights, grads)
	w.ws = gnn.NewWorkspace(!o.Savings.NoReuse)
	w.train = gnn.NewPass(model, t.plan, train, in, w.params, w.grads, w.ws)
	w.eval = gnn.NewPass(model, t.plan, eval, in, w.params, nil, w.ws)
	if err := w.ws.Alloc(w.dev); err != nil {
		return err
	}
	return w.compute.Sync()
}

// newReduction returns the reduction of workers that have their gradients.
func (t *Trainer) newReduction(layers [][]gnn.Range) *reduce.Reduction {
	var parts []reduce.Part
	for _, w := range t.workers {
		parts = append(parts, reduce.Part{Compute: w.compute, Reduce: w.reduce, Waits: &w.waits, Weights: w.params.Flat, Gradients: w.grads.Flat,
			Same: w.peers, Reach: w.reach, Owner: w.owner})
	}
	return reduce.New(t.hub, parts, layers)
}

// lockHost has the driver page-lock the memory that every epoch copies the loss, gradients and weights through: a GPU's queue is
// parked while it copies to other memory. Without a driver, or where it refuses, the memory stays what it is.
func (t *Trainer) lockHost() {
	o := t.lock()
	if o.Pinner == nil {
		return
	}
	for i, w := range t.workers {
		lock := func(mem []byte) []byte {
			if len(mem) == 0 {
				return mem
			}
			p, err := hostmem.NewPinned(w.dev.Info().Name, "loss, gradients and weights", int64(len(mem)), o)
			if err != nil {
				return mem
			}
			w.pinned = append(w.pinned, p)
			return p.Bytes()
		}
		w.lossHost = lock(w.lossHost)
		t.reduce.Lock(i, lock)
	}
}

// each runs f for every worker, in a goroutine of its own, and waits for all. The first error stops the others' waits; who
// does not come back some time after it is left behind, with its memory.
func (t *Trainer) each(f func(w *worker) error) error {
	type outcome struct {
		part int
		err  error
	}
	outcomes := make(chan outcome, len(t.workers))
	for i, w := range t.workers {
		// Owned by this call, which waits for it; it ends at the latest when the hub does, unless its device does not answer.
		go func() { outcomes <- outcome{i, f(w)} }()
	}
	errs := make([]error, len(t.workers))
	var patience <-chan time.Time
	for range t.workers {
		select {
		case o := <-outcomes:
			if errs[o.part] = o.err; o.err != nil {
				t.cancel(fmt.Errorf("part %d stopped: %w", o.part, o.err))
				if patience == nil {
					patience = time.After(2 * t.hub.Grace())
				}
			}
		case <-patience:
			t.stuck = true
			return meet.RootCause(errs, readOthers)
		}
	}
	return meet.RootCause(errs, readOthers)
}

// readOthers reports whether an error says that rows of another part were not there: that part's own error counts before it.
func readOthers(err error) bool {
	var version *hostmem.VersionFault
	return errors.As(err, &version)
}

// Close waits for all queues and releases all memory. Devices stay open. What a device that does not answer may still write to
// is not released.
func (t *Trainer) Close() error {
	t.cancel(errors.New("closed"))
	for _, w := range t.workers {
		var echo *meet.Echo
		if t.stuck = t.stuck || errors.As(w.sync(), &echo); t.stuck { // another fault has been reported already
			t.workers, t.region = nil, nil
			return nil
		}
	}
	for _, w := range t.workers {
		if w.ws != nil {
			w.ws.Free()
		}
		w.ld.close()
		for _, p := range w.pinned {
			p.Close()
		}
	}
	t.workers = nil
	if t.region != nil {
		t.region.Close()
		t.region = nil
	}
	t.releaseLayout()
	return nil
}

// releaseLayout gives up the edges on the host, unless somebody else owns them. Every queue that uploads them is idle.
func (t *Trainer) releaseLayout() {
	if t.o.Layout == nil && t.layout != nil {
		t.layout.Release()
	}
}
