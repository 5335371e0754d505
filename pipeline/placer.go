package pipeline

import (
	"runtime"

	"capgnn/gnn"
	"capgnn/gpu"
	"capgnn/graph"
	"capgnn/hostmem"
	"capgnn/internal/meet"
	"capgnn/reduce"
)

// placer puts the parts of a planned run on their devices.
type placer struct{ *Trainer }

// newWorkers makes one worker per part.
func (t placer) newWorkers() {
	for i, dev := range t.o.Devices {
		w := &worker{dev: dev, part: t.cut.Parts[i], localOf: t.cut.LocalOf, endpoint: endpoint{index: i, waits: meet.Waits{Hub: t.hub, Part: i, Device: dev.Info().Name},
			compute: dev.NewQueue("compute"), local: dev.NewQueue("local"), prefetch: dev.NewQueue("prefetch"), out: dev.NewQueue("out")}, reduce: dev.NewQueue("reduce")}
		w.ld = newLoader(dev, w.compute, w.local)
		t.workers = append(t.workers, w)
	}
	connect(t.workers, t.o.Cache.NoPeer)
}

// place puts the parts on their devices: build uploads everything that does not change, then plan says what parts exchange.
func (t placer) place(build func(*worker, weighting) error, plan func() (training, evaluation []*traffic, err error)) error {
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
func (t placer) trafficOfTraining() (training, evaluation []*traffic, err error) {
	training, err = planner(t).planTraffic()
	return training, evaluationTraffic(t.layout, t.o.Model, t.plan, t.o.Model.Layers), err
}

// attach puts a worker's side of the exchanges on its device.
func (t placer) attach(w *worker, scale weighting, training, evaluation []*traffic) error {
	a := &attachment{w: w, hub: t.hub, host: t.o.Cache.lock(), bound: t.o.Cache.Staleness.Bound, seed: t.o.Model.Seed}
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
func (t placer) builder(w *worker, scale weighting) *builder {
	return &builder{worker: w, p: t.p, model: t.o.Model, plan: t.plan, kept: t.layout.kept.Parts[w.index], scale: scale, fold: !t.o.Savings.NoFoldScale,
		picks: map[picked][]float32{}, loops: map[*graph.CSR][]float32{},
		prepared: t.o.Prepared, aggregateKey: t.aggregateKey(w),
		sparse: t.p.Features.Sparse() && !t.o.Savings.NoSparse && t.plan.Input != gnn.Precomputed}
}

// build puts one part on its device.
func (t placer) build(w *worker, scale weighting) error {
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
func (t placer) newReduction(layers [][]gnn.Range) *reduce.Reduction {
	var parts []reduce.Part
	for _, w := range t.workers {
		parts = append(parts, reduce.Part{Compute: w.compute, Reduce: w.reduce, Waits: &w.waits, Weights: w.params.Flat, Gradients: w.grads.Flat,
			Same: w.peers, Reach: w.reach, Owner: w.owner})
	}
	return reduce.New(t.hub, parts, layers)
}

// lockHost has the driver page-lock the memory that every epoch copies the loss, gradients and weights through: a GPU's queue is
// parked while it copies to other memory. Without a driver, or where it refuses, the memory stays what it is.
func (t placer) lockHost() {
	o := t.o.Cache.lock()
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
