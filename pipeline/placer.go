package pipeline

import (
	"errors"

	"capgnn/gnn"
	"capgnn/gpu"
	"capgnn/graph"
	"capgnn/hostmem"
	"capgnn/internal/trainer"
	"capgnn/pipeline/halo"
)

func (t *Trainer) newWorkers() {
	var ends []*halo.Endpoint
	for i, dev := range t.o.Devices {
		part := t.o.First + i
		w := &worker{loader: &loader{Worker: trainer.NewWorker(t.Hub, part, dev), accounts: keepsAccounts(dev),
			drops: dropsContent(dev), seen: map[any]gpu.Buffer{}}}
		if !t.o.phased() {
			w.part = t.cut.Parts[part]
		}
		w.ep = halo.Endpoint{Part: part, Device: dev, Waits: &w.Waits, Compute: w.Compute,
			Local: w.Queue("local"), Prefetch: w.Queue("prefetch"), Out: w.Queue("out")}
		w.side = w.ep.Local
		t.Employ(&w.Worker)
		w.ep.Memory, w.ep.Accounts = partMemory{w.loader, t.o.unlocked()}, w.accounts
		t.workers, ends = append(t.workers, w), append(ends, &w.ep)
	}
	t.Crew.Follows = readOthers
	halo.Connect(ends, t.o.Parts, t.o.Cache.NoPeer)
	t.stream()
}

// partMemory is a worker's memory as its exchanges ask for it.
type partMemory struct {
	*loader
	host hostmem.LockOptions
}

var _ halo.Memory = partMemory{}

func (m partMemory) Upload(name string, list []int32) gpu.Ints { return upload(m.loader, name, list) }

// Pin implements halo.Memory: devices that keep accounts only need none.
func (m partMemory) Pin(name string, size gpu.Bytes) []byte {
	if m.accounts {
		return nil
	}
	return m.Worker.Pin(name, size, m.host)
}

// place puts the parts on their devices: build uploads everything that does not change, then plan says what parts exchange.
func (t *Trainer) place(build func(*worker, gnn.Scaling) error, plan func() (*halo.Plan, error)) error {
	if t.o.Cache.Pipeline && t.plan.Mixed() {
		for _, w := range t.workers {
			w.ep.Fresh = [2]gpu.Queue{w.Queue("soon"), w.Queue("soon out")}
		}
	}
	var scale gnn.Scaling
	if !t.o.phased() {
		scale = t.layout.scaling(t.o.Model)
	}
	if err := t.layers(t.Hub.Context()); err != nil {
		return err
	}
	if err := t.agree(t.each(t.inTurn(func(w *worker) error { return build(w, scale) }))); err != nil {
		return err
	}
	if t.o.Parts > 1 {
		halo, err := plan()
		if err != nil {
			return err
		}
		t.halo = halo
		attach := func(w *worker) error { return t.attach(w, scale) }
		if t.o.Stream {
			t.halo.Tabulate()
			attach = t.inTurn(attach)
		}
		if err := t.each(attach); err != nil {
			return err
		}
	}
	if err := t.reach(); err != nil {
		return err
	}
	t.releaseLayout()
	if t.isolation == nil {
		t.p = t.p.Answers()
	}
	return nil
}

// inTurn lets f run for the parts of one device one after another, in part order: f takes memory for a while that it gives back, so the device's
// peak would depend on which parts are at it together.
func (t *Trainer) inTurn(f func(*worker) error) func(*worker) error {
	begin, end := map[*worker]chan struct{}{}, map[*worker]chan struct{}{}
	last := map[gpu.Device]chan struct{}{}
	for _, w := range t.workers {
		begin[w], end[w] = last[w.Device], make(chan struct{})
		last[w.Device] = end[w]
	}
	return func(w *worker) error {
		defer close(end[w])
		if before := begin[w]; before != nil {
			<-before
		}
		return f(w)
	}
}

func (t *Trainer) planExchanges() (*halo.Plan, error) {
	c, err := t.exchangeFacts()
	if err != nil {
		return nil, err
	}
	if t.o.phased() { // nothing
		return &halo.Plan{Config: halo.Config{Facts: c.Facts}}, nil
	}
	if t.isolation != nil {
		return halo.NewEvaluation(c, t.o.Model.Layers), nil
	}
	return halo.NewPlan(c)
}

// attach puts a worker's side of the exchanges on its device. Parts that take turns exchange nothing.
func (t *Trainer) attach(w *worker, scale gnn.Scaling) error {
	if t.o.phased() {
		return nil
	}
	var places []halo.Placement
	if w.turns != nil {
		train, eval := t.halo.AttachStreamed(w.Index, w.turns)
		w.trainHalo, w.evalHalo, places = train, eval, train.Placements()
	} else {
		train, eval := t.halo.Attach(w.Index)
		if w.evalHalo = eval; w.hold == nil {
			w.trainHalo, places = train, train.Placements()
		}
	}
	if w.Failed == nil {
		t.builder(w, scale).address(places, w.layers)
	}
	if w.Failed != nil {
		return w.Failed
	}
	err := w.Compute.Sync()
	w.seen = nil // host arrays may go
	return errors.Join(err, w.settle(), t.record(w))
}

func (t *Trainer) builder(w *worker, scale gnn.Scaling) *builder {
	return &builder{contents: contents{w, t.p, t.o.Model, t.Task, t.plan}, kept: t.layout.kept.Parts[w.Index], scale: scale,
		picks: map[picked][]float32{}, values: map[*graph.CSR][][]float32{}, weights: map[*graph.Block]weights{},
		prepared: t.o.Prepared, aggregateKey: t.aggregateKey(w),
		sparse: t.p.Features.Sparse() && t.plan.Input != gnn.Precomputed}
}

func (t *Trainer) build(w *worker, scale gnn.Scaling) error {
	b := t.builder(w, scale)
	if t.isolation != nil {
		return t.buildIsolated(b)
	}
	train, eval := b.graphs()
	if w.Failed != nil {
		return w.Failed
	}
	in := b.input(eval[0], w.part.Rows[0], w.part.Rows[1])
	train[0].Stored = int(in.X.SparseT.Entries)
	b.targets()
	w.layers = train
	if err := t.buildPasses(w, train, eval, in, in); err != nil {
		return err
	}
	return w.settle()
}

// buildPasses puts weights, gradients and the optimiser of a part on its device, and the buffers of training and evaluation, whose layers and inputs are given;
// nil layers: parts evaluate nothing, or train nothing.
func (t *Trainer) buildPasses(w *worker, train, eval []gnn.LayerGraph, in, evalIn gnn.Input) error {
	space := w.space
	w.space = nil // weights and gradients stay on the device
	var params gpu.Array[float32]
	first := t.partsOf(w.Device)[0] // whose weights others can read that take turns, if none is changed
	shared := t.o.Stream && train == nil && first != w
	if shared {
		w.Failed = first.Failed
	} else {
		params = upload(w.loader, "weights", t.Weights.Flat)
	}
	if train != nil {
		t.Equip(&w.Worker, params.Buf)
	}
	w.space = space
	if w.Failed != nil {
		return w.Failed
	}
	w.Workspace = gnn.NewWorkspace(w.Device.Info())
	if train != nil {
		w.Pass = gnn.NewPass(t.o.Model, t.plan, train, in, w.Params, w.Grads, w.Workspace)
	} else if w.Params = first.Params; !shared {
		w.Params = gnn.Bind(t.Weights, params)
	}
	if eval != nil {
		w.eval = gnn.NewPass(t.o.Model, t.plan, eval, evalIn, w.Params, nil, w.Workspace)
	}
	if err := w.Workspace.Alloc(w.within()); err != nil {
		return err
	}
	if w.space == nil { // else parts that follow each other there fill the gaps
		w.Workspace.ClearGaps(w.Compute)
	}
	return w.Compute.Sync()
}
