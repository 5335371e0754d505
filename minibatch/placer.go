package minibatch

import (
	"context"
	"errors"
	"slices"

	"capgnn/gnn"
	"capgnn/gpu"
	"capgnn/internal/layered"
	"capgnn/internal/meet"
	"capgnn/reduce"
)

// placer puts the parts of a designed run on their devices.
type placer struct{ *Trainer }

// place puts the parts on their devices.
func (t placer) place(ctx context.Context) error {
	for i, dev := range t.o.Devices {
		if dev == nil {
			continue
		}
		w := &worker{index: i, dev: dev, waits: meet.Waits{Hub: t.hub, Part: i, Device: dev.Info().Name}, compute: dev.NewQueue("compute")}
		if r, ok := dev.(gpu.Resident); ok { // where blocks and rows lie with it
			w.prefetch = r.NewResidentQueue("prefetch")
		} else {
			w.prefetch = dev.NewQueue("prefetch")
		}
		w.queues = reduce.NewQueues(dev, slices.Index(t.o.Devices, dev) == i)
		w.reach = t.reach(w)
		t.workers = append(t.workers, w)
	}
	division := t.o.division(t.weights)
	for _, w := range t.workers {
		if err := t.build(w, division); err != nil {
			return err
		}
	}
	own := t.own()
	var parts []reduce.Part
	for _, w := range t.workers {
		parts = append(parts, reduce.Part{Compute: w.compute, Queues: w.queues, Waits: &w.waits, Weights: w.params.Flat, Gradients: w.grads.Flat, Reach: w.reach[own.Lo:own.Hi], Owner: w.owner})
	}
	t.reduce = reduce.New(t.hub, parts, division)
	for i, w := range t.workers {
		lock := w.locking(t.o.Lock)
		w.lossHost = lock(w.lossHost)
		t.reduce.Lock(i, lock)
		if w.migrator != nil {
			w.migrator.stage = lock(w.migrator.stage)
		}
	}
	for _, w := range t.workers {
		if err := w.sync(); err != nil {
			return err
		}
	}
	return t.evaluator(ctx)
}

// reach says from which parts' devices a worker's can copy.
func (t placer) reach(w *worker) []bool {
	out := make([]bool, len(t.o.Devices))
	for i, other := range t.o.Devices {
		p, ok := w.prefetch.(gpu.PeerCopier)
		out[i] = other == w.dev || ok && other != nil && p.CanCopyFrom(other)
	}
	return out
}

// build puts one part on its device.
func (t placer) build(w *worker, division *reduce.Division) error {
	d, o := &t.design, &t.o
	w.stage = d.stageOf(t.p, o, w.index)
	w.stage.grown = func(what string, was, is gpu.Bytes) { t.grown(w, what, was, is) }
	e := d.extents[w.index]
	var l layout
	w.stage.lay(&l, &e)
	inputs, slots := d.ring(o, w.index)
	w.inputs = slices.Repeat([]input{{size: l.size}}, inputs)
	n := len(t.weights.Flat)
	params := gpu.Vec{Buf: w.alloc(4*gpu.Bytes(n), "weights"), Len: n}
	grads := gpu.Vec{Buf: w.alloc(4*gpu.Bytes(n), "gradients"), Len: n}
	w.migrator = t.newMigrator(w)
	w.owner = division.NewOwner(w.alloc, w.compute, o.Optimizer, t.at(w))
	stretch := min(t.roots.steps, longest) * t.roots.units
	w.sums = gpu.Array[float64]{Buf: w.alloc(8*gpu.Bytes(stretch), "loss"), Len: stretch}
	w.loss = d.task.On(w.alloc, w.compute, func() gpu.Queue { return w.dev.NewQueue("loss") }, o.lossRows(t.roots.total))
	if w.failed != nil {
		return w.failed
	}
	w.lossHost = make([]byte, 8*stretch)
	w.upload(params, t.weights.Flat)
	w.params, w.grads = gnn.Bind(t.weights, params), gnn.Bind(t.weights, grads)
	w.ws = gnn.NewWorkspace(gpu.Info{})
	w.pass = gnn.NewPass(o.Model, d.plan, e.layers(d.blockUses), d.input(), w.params, w.grads, w.ws)
	if w.dev.Info().Kind != gpu.CPU { // rows that are kept have what is left
		if err := w.take(); err != nil {
			return err
		}
	}
	if err := t.keep(w); err != nil {
		return err
	}
	w.feed = newFeed(w.index, slots, t.roots.units, w.stage.fill)
	for _, s := range w.feed.slots {
		for u := range s.units {
			e := d.units[w.index][u].ample(t.p.Vertices(), len(s.units) > 1)
			w.stage.lay(&l, &e)
			if err := w.stage.room(&s.units[u], &l); err != nil {
				return err
			}
		}
	}
	return t.fetcher(w)
}

// fetcher has the worker's feed fetch rows of other parts, where they have to be.
func (t placer) fetcher(w *worker) (err error) {
	if w.fetcher, err = t.newFetcher(w); w.fetcher != nil {
		t.fetchers = append(t.fetchers, w.fetcher)
		w.feed.then, w.feed.blame = []func(*slot) error{w.fetcher.decide, w.fetcher.collect}, w.fetcher.waits
	}
	return err
}

// takeAndLoad has workers take the room of steps, and load what stays on their devices.
func (t placer) takeAndLoad() error {
	if err := t.each((*worker).take); err != nil {
		return err
	}
	return t.each((*worker).load)
}

// evaluator places the evaluation beside training, and has it make ÂX where training reads that.
func (t placer) evaluator(ctx context.Context) error {
	if t.simulated {
		for _, w := range t.workers {
			if t.design.sums { // of the same size
				w.stage.tables[0].data = t.p.Features.Dense
			}
		}
		return t.takeAndLoad()
	}
	var err error
	o := t.design.evaluation(t.p, &t.o)
	if t.o.several() {
		o.Complete = func(h *meet.Hub, layer int, table *layered.Table) error { return t.rows.complete(h, layer, table) }
	}
	if t.exact, err = layered.New(ctx, t.p, o); err != nil {
		return err
	}
	if t.design.sums {
		sums, places, err := t.sums(ctx)
		if err != nil {
			return err
		}
		for _, w := range t.workers {
			w.stage.tables[0].data, w.stage.tables[0].place = sums, places
		}
		if t.p.Files != nil { // who reads sums may read no features
			t.p.Files.Rest()
		}
	}
	if err := t.takeAndLoad(); err != nil {
		return err
	}
	for _, w := range t.workers {
		if r := w.stage.resident; r != nil && r.rows >= t.p.Vertices()-remoteOf(&t.o, w.index) {
			t.exact.Keep(w.index, r.kept(&w.stage))
		}
	}
	return nil
}

// sums returns ÂX, and the row of each vertex: of this process's parts, or, of isolated ones, whose chunks come to all, of
// the whole graph. There is an evaluator more for that, which goes before training.
func (t placer) sums(ctx context.Context) ([]float32, []int32, error) {
	if t.o.Isolated == nil || !t.o.several() {
		sums, err := t.exact.Aggregated(ctx)
		return sums, t.exact.Places(), err
	}
	o := t.design.evaluation(t.p, &t.o)
	o.Devices, o.Rows, o.Fanout = t.o.ownDevices(), nil, nil
	table, places, err := layered.Sums(ctx, t.p, o)
	if err != nil {
		return nil, nil, err
	}
	t.roots.isolation.table = table
	return of[float32](table.Bytes()), places, nil
}

// keep gives the rows that the worker's device keeps their memory. A device that has not got it keeps none.
func (t placer) keep(w *worker) error {
	r := w.stage.resident
	if r == nil {
		return nil
	}
	bufs, err := r.alloc(w.dev, w.stage.tables)
	if oom := new(gpu.OutOfMemory); errors.As(err, &oom) {
		t.o.Log.Warn("the device has less memory than it should have: rows stay in host memory", "part", w.index, "wanted", int64(oom.Need), "left", int64(oom.Have))
		w.stage.resident, t.design.residents[w.index] = nil, nil
		return nil
	}
	w.bufs = append(w.bufs, bufs...)
	return err
}
