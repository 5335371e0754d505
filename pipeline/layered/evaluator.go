package layered

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"slices"

	"capgnn/gnn"
	"capgnn/gpu"
	"capgnn/graph"
	"capgnn/hostmem"
	"capgnn/internal/learn"
	"capgnn/internal/meet"
	"capgnn/internal/memory"
)

// Evaluator computes the logits of all vertices, or of those that are wanted, exactly.
type Evaluator struct {
	p       *learn.Problem
	o       Options
	plan    gnn.Plan
	tasks   []task
	need    *needed
	scaling gnn.Scaling
	workers []*worker
	places  []*places // of the rows of layers but the last
	sums    *places   // of those of ÂX
	ax      Memory    // ÂX of own vertices; nil: not made yet
	tables  [2]Memory // rows of layers; layers take turns
	broken  error     // that a device has not come to an end with
}

// plan decides all that an evaluation does.
func plan(p *learn.Problem, o Options) (*Evaluator, []partition, error) {
	if err := o.validate(p); err != nil {
		return nil, nil, err
	}
	o.complete()
	e := &Evaluator{p: p, o: o}
	e.o.Devices = slices.Clone(o.Devices)
	least := o.pieceBytes(0)
	for i := range o.Devices {
		least = min(least, o.pieceBytes(i))
	}
	e.need = neededOf(p, &o)
	e.plan, e.tasks = planTasks(p, &e.o, e.need, least)
	weights := gnn.NewWeights(o.Model)
	params := gnn.Bind(weights, gpu.Vec{Len: len(weights.Flat)})
	inner := members(o.Part, len(o.Devices), p.Vertices())
	parts := make([]partition, len(o.Devices))
	for i, dev := range o.Devices {
		if dev == nil {
			inner[i] = nil
		}
	}
	e.sums = placesOf(p, -1, inner, e.need)
	for l := range o.Model.Layers - 1 {
		x := placesOf(p, l, inner, e.need)
		if slices.Contains(o.Devices, nil) {
			x.withOthers(p, l, o.Part, inner, e.need)
		}
		e.places = append(e.places, x)
	}
	graph.EachBlock(len(parts), 1, func(i, _ int) {
		parts[i] = divideAll(e.need, e.tasks, e.need.rows(e.tasks, inner[i]), o.chunkBytes(i), o.pieceBytes(i), params)
		parts[i].inner = inner[i]
	})
	return e, parts, nil
}

// weightBytes is what the weights take of a device.
func (e *Evaluator) weightBytes() gpu.Bytes {
	return memory.Block(4 * gpu.Bytes(gnn.FlatLen(e.o.Model)))
}

// New places an evaluator on its devices. What it takes there is Bounds; a vertex whose in-neighbours take more
// than is left is a *TooLarge, other lack of memory a *gpu.OutOfMemory.
func New(ctx context.Context, p *learn.Problem, o Options) (*Evaluator, error) {
	p, err := p.For(o.Model)
	if err != nil {
		return nil, err
	}
	e, parts, err := plan(p, o)
	if err != nil {
		return nil, err
	}
	if o.Scaling != nil {
		e.scaling = *o.Scaling
	} else if o.Model.ScalesRows() {
		e.scaling = scalingOf(p, o.Model)
	}
	for i := range parts {
		w, err := e.newWorker(i, &parts[i])
		if w != nil {
			e.workers = append(e.workers, w)
		}
		if err := errors.Join(err, ctx.Err()); err != nil {
			return nil, errors.Join(err, e.Close())
		}
	}
	return e, e.give()
}

// take has all parts take what chunks need.
func (e *Evaluator) take() error {
	for _, w := range e.workers {
		if err := w.take(); err != nil {
			return errors.Join(err, e.give())
		}
	}
	return nil
}

// give gives back what calls alone need, if the evaluator shares its room.
func (e *Evaluator) give() error {
	if !e.o.Shares || e.broken != nil {
		return nil
	}
	for _, w := range e.workers {
		if w.dev != nil && w.dev.Info().Kind == gpu.CPU {
			w.give()
		}
	}
	if e.o.Complete != nil { // other processes may still read them
		return nil
	}
	return e.closeTables()
}

func (e *Evaluator) closeTables() error {
	var errs []error
	for i, m := range e.tables {
		if m != nil {
			errs, e.tables[i] = append(errs, m.Close()), nil
		}
	}
	return errors.Join(errs...)
}

// hubOf begins something that all parts do.
func (e *Evaluator) hubOf(ctx context.Context) *meet.Hub {
	h := meet.NewHub(ctx, e.o.WaitDeadline)
	for _, w := range e.workers {
		if w.dev != nil {
			w.waits = meet.Waits{Hub: h, Part: w.index, Device: w.dev.Info().Name}
		} else {
			w.waits = meet.Waits{Hub: h, Part: w.index}
		}
	}
	return h
}

// each runs f for every part at once, and beside them on the caller's goroutine, if it is given. The first error
// ends all.
func (e *Evaluator) each(h *meet.Hub, f func(w *worker) error, beside func() error) error {
	done := make(chan struct{}, len(e.workers))
	errs := make([]error, len(e.workers))
	for i, w := range e.workers {
		// Owned by this call, which waits for it; whatever it waits for ends with the hub.
		go func() {
			defer func() { done <- struct{}{} }()
			if errs[i] = f(w); errs[i] != nil {
				h.Fail(fmt.Errorf("part %d stopped: %w", w.index, errs[i]))
			}
		}()
	}
	var err error
	if beside != nil {
		if err = beside(); err != nil {
			h.Fail(err)
		}
	}
	for range e.workers {
		<-done
	}
	cause := meet.RootCause(errs, 0, func(error) bool { return false })
	if slices.ContainsFunc(e.workers, func(w *worker) bool { return w.stuck }) {
		e.broken = cause
	}
	if err != nil && (cause == nil || errors.Is(cause, context.Canceled)) { // of emit, which has stopped the parts
		return err
	}
	return cause
}

// Aggregated returns ÂX, a row for every vertex of this process's parts: see Places. It is made by the first call,
// lies in one of Options.Tables and is valid until Close. Only with Options.Precomputed.
func (e *Evaluator) Aggregated(ctx context.Context) (ax []float32, err error) {
	if !e.o.Precomputed {
		return nil, errors.New("aggregated features are not precomputed")
	}
	if err := e.usable(ctx); err != nil {
		return nil, err
	}
	if e.ax == nil {
		if err := e.take(); err != nil {
			return nil, err
		}
		defer func() { err = errors.Join(err, e.give()) }()
		mem, err := e.o.Tables("aggregated features", e.sumBytes())
		if err != nil {
			return nil, err
		}
		h := e.hubOf(ctx)
		defer h.Fail(errDone)
		if err := e.each(h, func(w *worker) error {
			in, to := rows{x: hostmem.Bytes(e.p.Features.Dense)}, w.toTable(mem.Bytes(), 4*e.o.Model.In, e.sums)
			return w.run(&e.tasks[0], 0, in, to)
		}, nil); err != nil {
			return nil, errors.Join(err, mem.Close())
		}
		e.ax = mem
	}
	return hostmem.Of[float32](e.ax.Bytes()), nil
}

// Sums returns ÂX of all vertices, which these devices make, a row at each of places. It lies in a table that the
// caller closes.
func Sums(ctx context.Context, p *learn.Problem, o Options) (table Memory, places []int32, err error) {
	part := o.Part
	o.Part = make([]int32, p.Vertices())
	for v, k := range part { // of other processes, too
		o.Part[v] = k % int32(len(o.Devices))
	}
	o.Tables = func(name string, size int64) (Memory, error) {
		table, err = TablesIn(os.TempDir(), 0)(name, size)
		return lasting{table}, err
	}
	e, err := New(ctx, p, o)
	if err == nil {
		_, err = e.Aggregated(ctx)
		places, err = e.Places(), errors.Join(err, e.Close())
	}
	if err != nil && table != nil {
		err = errors.Join(err, table.Close())
	}
	return table, places, err
}

// lasting is a table that outlives its evaluator.
type lasting struct{ Memory }

// Close implements Memory.
func (lasting) Close() error { return nil }

// errDone ends the context of a hub that is not used any more.
var errDone = errors.New("done")

// usable reports why nothing can be computed.
func (e *Evaluator) usable(ctx context.Context) error {
	if e.broken != nil {
		return fmt.Errorf("evaluate after an earlier failure: %w", e.broken)
	}
	return ctx.Err()
}

// Logits computes the logits of every vertex of this process's parts, or of those that are wanted, with these weights
// and passes them to emit: row i belongs to vertex ids[i]. Every such vertex is emitted once, in an order that is the
// same in every call. emit must not keep its slices. It runs on the caller's goroutine; its error ends the
// evaluation. Equal weights give equal bits. ctx is checked for every chunk.
func (e *Evaluator) Logits(ctx context.Context, w *gnn.Weights,
	emit func(ids []graph.NodeID, rows []float32) error) (err error) {
	if int64(len(w.Flat)) != gnn.FlatLen(e.o.Model) {
		return errors.New("the weights are of another model")
	}
	in := rows{x: hostmem.Bytes(e.p.Features.Dense)}
	first := 0
	if e.o.Precomputed {
		ax, err := e.Aggregated(ctx)
		if err != nil {
			return err
		}
		in.ax, first = hostmem.Bytes(ax), 1
	}
	if err := e.usable(ctx); err != nil {
		return err
	}
	if err := e.take(); err != nil {
		return err
	}
	defer func() { err = errors.Join(err, e.give()) }()
	h := e.hubOf(ctx)
	defer h.Fail(errDone)
	for i := first; i < len(e.tasks); i++ {
		t := &e.tasks[i]
		upload := func(x *worker) {
			if i == first && x.compute != nil {
				x.compute.Upload(x.weights, 0, hostmem.Bytes(w.Flat))
			}
		}
		if i == len(e.tasks)-1 {
			m := newMerge(e.workers, i)
			return e.each(h, func(w *worker) error {
				upload(w)
				return w.run(t, i, in, w.toMerge(m))
			}, func() error { return m.run(h, emit) })
		}
		table, err := e.table(t)
		if err != nil {
			return err
		}
		err = e.each(h, func(w *worker) error {
			upload(w)
			return w.run(t, i, in, w.toTable(table.mem, table.Row, table.places))
		}, nil)
		if err == nil && e.o.Complete != nil {
			err = e.o.Complete(h, t.layer, table)
		}
		if err != nil {
			return err
		}
		in = rows{x: table.mem, placed: true}
	}
	return nil
}

// table returns the memory for what a layer makes. Layers take turns with two.
func (e *Evaluator) table(t *task) (*Table, error) {
	m := &e.tables[t.layer%2]
	if *m == nil {
		mem, err := e.o.Tables(fmt.Sprintf("rows of layer %d", t.layer), e.tableBytes(t.layer%2))
		if err != nil {
			return nil, err
		}
		*m = mem
	}
	row, x := t.out*t.outType.Size(), e.places[t.layer]
	return &Table{Row: row, mem: (*m).Bytes()[:int64(x.rows)*int64(row)], places: x}, nil
}

// tableBytes is the size of the table that even layers write (0), or odd ones (1).
func (e *Evaluator) tableBytes(turn int) (n int64) {
	for i := range e.tasks {
		if t := &e.tasks[i]; t.layer >= 0 && t.layer%2 == turn && t.layer < e.o.Model.Layers-1 {
			n = max(n, int64(t.out)*int64(t.outType.Size())*int64(e.places[t.layer].rows))
		}
	}
	return n
}

func (e *Evaluator) sumBytes() int64 { return 4 * int64(e.sums.rows) * int64(e.o.Model.In) }

// Close gives back what the evaluator has taken, devices apart.
func (e *Evaluator) Close() error {
	var errs []error
	for _, w := range e.workers {
		errs = append(errs, w.close(e.broken != nil))
	}
	e.workers = nil
	if e.broken == nil { // else devices may still read and write tables
		errs = append(errs, e.closeTables())
		if e.ax != nil {
			errs, e.ax = append(errs, e.ax.Close()), nil
		}
	}
	e.broken = cmp.Or(e.broken, error(errClosed))
	return errors.Join(errs...)
}

var errClosed = errors.New("the evaluator is closed")

// scalingOf returns the weights of a model's entries.
func scalingOf(p *learn.Problem, m gnn.Config) gnn.Scaling {
	in, out := p.Loops.Degrees(p.Graph)
	return p.Scaling(m, in, out)
}
