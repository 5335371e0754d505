package minibatch

import (
	"context"
	"errors"
	"slices"

	"capgnn/gnn"
	"capgnn/gpu"
	"capgnn/hostmem"
	"capgnn/internal/meet"
	"capgnn/internal/trainer"
	"capgnn/pipeline/layered"
)

func (t *Trainer) place(ctx context.Context) error {
	for i, dev := range t.o.Devices {
		if dev == nil {
			continue
		}
		w := &worker{Worker: trainer.NewWorker(t.Hub, i, dev)}
		if r, ok := dev.(gpu.Resident); ok { // where blocks and rows lie with it
			w.prefetch = w.Has(r.NewResidentQueue("prefetch"))
		} else {
			w.prefetch = w.Queue("prefetch")
		}
		w.reach = t.reach(w)
		t.Employ(&w.Worker)
		t.workers = append(t.workers, w)
	}
	for _, w := range t.workers {
		if err := t.build(w); err != nil {
			return err
		}
	}
	own := t.own()
	t.Reduces(func(i int) []bool { return t.workers[i].reach[own.Lo:own.Hi] })
	t.Meet(func(part int) []*gnn.Pass { return []*gnn.Pass{t.workers[part-own.Lo].Pass} })
	for _, w := range t.workers {
		if w.migrator != nil {
			w.migrator.stage = w.Locking(t.o.Lock)(w.migrator.stage)
		}
	}
	for _, w := range t.workers {
		if err := w.Sync(); err != nil {
			return err
		}
	}
	return t.evaluator(ctx)
}

// reach says from which parts' devices a worker's can copy.
func (t *Trainer) reach(w *worker) []bool {
	out := make([]bool, len(t.o.Devices))
	for i, other := range t.o.Devices {
		p, ok := w.prefetch.(gpu.PeerCopier)
		out[i] = other == w.Device || ok && other != nil && p.CanCopyFrom(other)
	}
	return out
}

func (t *Trainer) build(w *worker) error {
	d, o := &t.design, &t.o
	w.stage = d.stageOf(t.p, o, w.Index)
	w.stage.grown = func(what string, was, is gpu.Bytes) { t.grown(w, what, was, is) }
	e := d.extents[w.Index]
	var l layout
	w.stage.lay(&l, &e, nil)
	inputs, slots := d.ring(o, w.Index)
	w.inputs = slices.Repeat([]input{{size: l.size}}, inputs)
	weights := w.Alloc(4*gpu.Bytes(len(t.Weights.Flat)), "weights")
	t.Equip(&w.Worker, weights)
	w.migrator = t.newMigrator(w)
	stretch := min(t.roots.steps, longest) * t.roots.units
	w.NewLoss(t.Task, w.Alloc, o.lossRows(t.roots.total), stretch)
	if w.Failed != nil {
		return w.Failed
	}
	w.Compute.Upload(weights, 0, hostmem.Bytes(t.Weights.Flat))
	w.Workspace = gnn.NewWorkspace(gpu.Info{})
	w.Pass = gnn.NewPass(o.Model, d.plan, l.layers, l.in, w.Params, w.Grads, w.Workspace)
	if w.Device.Info().Kind != gpu.CPU { // rows that are kept have what is left
		if err := w.take(); err != nil {
			return err
		}
	}
	if err := t.keep(w); err != nil {
		return err
	}
	w.feed = newFeed(w.Index, slots, t.roots.units, w.stage.fill)
	for _, s := range w.feed.slots {
		for u := range s.units {
			e := d.units[w.Index][u].ample(t.p.Vertices(), len(s.units) > 1)
			w.stage.lay(&l, &e, nil)
			if err := w.stage.room(&s.units[u], &l); err != nil {
				return err
			}
		}
	}
	return t.fetcher(w)
}

// fetcher has the worker's feed fetch rows of other parts, where they have to be.
func (t *Trainer) fetcher(w *worker) (err error) {
	if w.fetcher, err = t.newFetcher(w); w.fetcher != nil {
		t.fetchers = append(t.fetchers, w.fetcher)
		w.feed.then, w.feed.blame = []func(*slot) error{w.fetcher.decide, w.fetcher.collect}, w.fetcher.waits
	}
	return err
}

// takeAndLoad has workers take the room of steps, and load what stays on their devices.
func (t *Trainer) takeAndLoad() error {
	if err := t.each((*worker).take); err != nil {
		return err
	}
	return t.each((*worker).load)
}

// evaluator places the evaluation beside training, and has it make ÂX where training reads that.
func (t *Trainer) evaluator(ctx context.Context) error {
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
	if t.o.Several() {
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
		if r := w.stage.resident; r != nil && r.rows >= t.p.Vertices()-remoteOf(&t.o, w.Index) {
			t.exact.Keep(w.Index, r.kept(&w.stage))
		}
	}
	return nil
}

// sums returns ÂX, and the row of each vertex: of this process's parts, or, of isolated ones, whose chunks come to all, of
// the whole graph. There is an evaluator more for that, which goes before training.
func (t *Trainer) sums(ctx context.Context) ([]float32, []int32, error) {
	if t.o.Isolated == nil || !t.o.Several() {
		sums, err := t.exact.Aggregated(ctx)
		return sums, t.exact.Places(), err
	}
	o := t.design.evaluation(t.p, &t.o)
	o.Devices, o.Rows, o.Fanout = t.o.ownDevices(), nil, nil
	table, places, err := layered.Sums(ctx, t.p, o)
	if err != nil {
		return nil, nil, err
	}
	t.roots.isolation.Table = table
	return of[float32](table.Bytes()), places, nil
}

// keep gives the rows that the worker's device keeps their memory. A device that has not got it keeps none.
func (t *Trainer) keep(w *worker) error {
	r := w.stage.resident
	if r == nil {
		return nil
	}
	err := r.alloc(w)
	if oom := new(gpu.OutOfMemory); errors.As(err, &oom) {
		t.o.Log.Warn("the device has less memory than it should have: rows stay in host memory", "part", w.Index, "wanted", int64(oom.Need), "left", int64(oom.Have))
		w.stage.resident, t.design.residents[w.Index] = nil, nil
		return nil
	}
	return err
}
