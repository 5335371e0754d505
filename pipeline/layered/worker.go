package layered

import (
	"cmp"

	"capgnn/gnn"
	"capgnn/gpu"
	"capgnn/graph"
	"capgnn/internal/meet"
)

// worker evaluates the vertices of one part on its device.
type worker struct {
	e       *Evaluator
	index   int
	dev     gpu.Device
	part    *partition
	waits   meet.Waits
	compute gpu.Queue
	copies  gpu.Queue // uploads inputs

	bufs    []gpu.Buffer // none: a call has to take them
	ws      *gnn.Workspace
	passes  []*gnn.Pass // by task, nil for ÂX
	weights gpu.Buffer
	sums    gpu.Buffer // rows of ÂX, nil if they are not made
	kept    Kept
	direct  bool // such rows are written to the device, which has the host's memory
	stuck   bool // its device has not come to an end
	indexer *indexer
	slots   []slot
}

// slot is a chunk from its block on the host to its rows.
type slot struct {
	block
	rowScale, colScale []float32
	ratios             []float32 // of rows that read a sample
	weights            []float32 // of the block's entries
	values             graph.CSR // sparse features of ids
	dense              []float32 // rows of features that do not lie by vertex
	numbers            []int32   // of the chunk's own rows among those that are kept, where these have gaps
	at                 []int32   // where the rows of ids lie in what the task reads
	room               []int32   // for at
	dev                [inputs]gpu.Buffer

	out  []byte    // what the chunk made, where it does not go straight to a table
	done gpu.Event // behind all that the chunk enqueued; nil: the slot is free
}

// direct reports whether the host may write to the memory of a device.
func direct(dev gpu.Device) bool {
	_, resident := dev.(gpu.Resident)
	return resident && dev.Info().Kind == gpu.CPU
}

// Kept is rows of a part's own vertices, ascending, that lie on its device: of ÂX and of X. What is empty does not
// lie there.
type Kept struct{ AX, X gpu.Matrix }

// Keep has layer 0 read rows of ÂX, and those of X beside them, from where they lie on the device of a part, until
// Close. Bits stay what they are.
func (e *Evaluator) Keep(part int, k Kept) { e.workers[part].kept = k }

// rows is what a task reads: X by vertex, or the rows of a layer, which have their places, and ÂX, which has too.
type rows struct {
	x, ax  []byte
	placed bool // x
}

// newWorker puts a part on its device. It returns a worker to be closed, whatever the error.
func (e *Evaluator) newWorker(index int, part *partition) (*worker, error) {
	w := &worker{e: e, index: index, dev: e.o.Devices[index], part: part, slots: make([]slot, part.slots)}
	if len(part.inner) == 0 {
		return w, nil
	}
	if m := w.dev.Memory(); part.vertex >= 0 && part.chunks+e.weightBytes() > m.Budget-m.Used {
		v := part.vertex
		return w, &TooLarge{Vertex: v, Neighbours: len(e.p.Graph.Row(v)),
			Memory: &gpu.OutOfMemory{Device: w.dev.Info().Name, Name: "evaluation",
				Need: part.chunks + e.weightBytes(), Have: m.Budget - m.Used}}
	}
	w.compute, w.copies = w.dev.NewQueue("evaluation"), w.dev.NewQueue("evaluation copies")
	_, writes := w.copies.(gpu.HostWriter)
	w.direct = writes && direct(w.dev)
	w.indexer = &indexer{make([]word, (e.p.Vertices()+63)/64)}
	weights := gnn.NewWeights(e.o.Model)
	var err error
	if w.weights, err = w.dev.Alloc(4*gpu.Bytes(len(weights.Flat)), "weights"); err != nil {
		return w, err
	}
	params := gnn.Bind(weights, gpu.Vec{Buf: w.weights, Len: len(weights.Flat)})
	w.ws = gnn.NewWorkspace(gpu.Info{})
	for i := range e.tasks {
		var pass *gnn.Pass
		if t := &e.tasks[i]; t.layer >= 0 {
			pass = t.over(part.divisions[i].most, w.ws, params)
		}
		w.passes = append(w.passes, pass)
	}
	return w, w.take()
}

// take allocates what chunks need, if the worker has not got it.
func (w *worker) take() (err error) {
	if w.compute == nil || len(w.bufs) > 0 {
		return nil
	}
	alloc := func(n gpu.Bytes, name string) gpu.Buffer {
		if err != nil || n == 0 {
			return nil
		}
		var b gpu.Buffer
		if b, err = w.dev.Alloc(n, name); err == nil {
			w.bufs = append(w.bufs, b)
		}
		return b
	}
	for i := range w.slots {
		for k, n := range w.part.input {
			w.slots[i].dev[k] = alloc(n, inputNames[k])
		}
	}
	if w.e.o.Precomputed {
		w.sums = alloc(4*gpu.Bytes(w.part.divisions[0].most.rows)*gpu.Bytes(w.e.o.Model.In), "aggregated features")
	}
	if err == nil {
		err = w.ws.Alloc(w.dev)
	}
	if err != nil {
		w.give()
	}
	return err
}

// give frees what take allocated. The device is done with it.
func (w *worker) give() {
	if w.ws != nil {
		w.ws.Free()
	}
	for _, b := range w.bufs {
		b.Free()
	}
	w.bufs = nil
}

// target is where the rows of a chunk go.
type target struct {
	// place returns memory for the rows of these vertices in their order; nil: the slot's own, which done takes
	// them from.
	place func(ids []graph.NodeID) []byte
	done  func(ids []graph.NodeID, rows []byte) error
}

// toTable writes rows of so many bytes to their places in a table.
func (w *worker) toTable(table []byte, row int, places *places) target {
	return target{
		place: func(ids []graph.NodeID) []byte {
			if !places.joined(ids) {
				return nil
			}
			return table[places.at(ids[0])*row:][:len(ids)*row]
		},
		done: func(ids []graph.NodeID, rows []byte) error {
			for i, v := range ids {
				copy(table[places.at(v)*row:][:row], rows[i*row:])
			}
			return nil
		},
	}
}

// run goes through a task chunk by chunk: while the device computes one, the block of the next is made and uploaded.
// When it returns, nothing of it is in use any more, unless the device does not answer.
func (w *worker) run(t *task, index int, in rows, to target) (err error) {
	d, rows := &w.part.divisions[index], w.part.rows[index]
	if d.chunks() == 0 {
		return nil
	}
	defer func() {
		if err != nil {
			w.settle()
		}
	}()
	for k := range d.chunks() {
		s := &w.slots[k%len(w.slots)]
		if err := w.finish(s, to); err != nil {
			return err
		}
		if err := w.waits.Hub.Context().Err(); err != nil {
			return err
		}
		w.fill(s, t, rows[d.begin[k]:d.begin[k+1]])
		g, x := w.load(s, t, in, d.begin[k])
		w.compute.Wait(w.copies.Record())
		m, err := w.forward(t, index, g, x)
		if err != nil {
			return err
		}
		w.download(s, m, to)
	}
	for k := range w.slots {
		if err := w.finish(&w.slots[(d.chunks()+k)%len(w.slots)], to); err != nil {
			return err
		}
	}
	return nil
}

// settle waits for what was enqueued before a failure, and drops it.
func (w *worker) settle() {
	for _, q := range []gpu.Queue{w.copies, w.compute} {
		w.stuck = w.stuck || w.waits.Await(q.Record()) != nil
	}
	for k := range w.slots {
		w.slots[k].done = nil
	}
}

// finish waits for the chunk that a slot has, and hands its rows on.
func (w *worker) finish(s *slot, to target) error {
	if s.done == nil {
		return nil
	}
	if err := w.waits.Await(s.done); err != nil {
		return err
	}
	if err := cmp.Or(w.copies.Fault(), w.compute.Fault()); err != nil {
		return err
	}
	s.done = nil
	ids := s.ids[:s.rows]
	if to.place(ids) != nil {
		return nil
	}
	return to.done(ids, s.out)
}

// fill makes the block of a chunk on the host, with the weights of its entries.
func (w *worker) fill(s *slot, t *task, own []graph.NodeID) {
	p := w.e.p
	if t.given {
		s.rows, s.ids = len(own), append(s.ids[:0], own...)
	} else {
		w.indexer.build(w.e.need, t.layer, own, &s.block)
	}
	if t.given {
		s.at = w.e.sums.of(s.ids, &s.room)
	} else if t.layer > 0 {
		s.at = w.e.places[t.layer-1].of(s.ids, &s.room)
	}
	if t.given && t.some {
		s.numbers = numbered(s.numbers, own, w.part.inner)
	}
	var ratios []float32
	if w.e.need.scaled(t.layer) {
		s.ratios = w.e.need.ratios(s.ratios, t.layer, own)
		ratios = s.ratios
	}
	if s.weights = s.weights[:0]; t.weighted {
		at := func(r int) graph.NodeID { return s.ids[r] }
		s.weights = p.WeighAll(s.weights, s.begin, s.indices, at, s.ids, false)
		if t.loops {
			gnn.KeepLoops(s.weights, s.begin, s.indices, s.ratios)
		}
	}
	if s.rowScale = s.rowScale[:0]; t.rowScales {
		s.rowScale = w.e.scaling.BlockRows(s.rowScale, s.ids[:s.rows], ratios)
	}
	if s.colScale = s.colScale[:0]; t.colScales {
		s.colScale = w.e.scaling.BlockCols(s.colScale, s.ids)
	}
	switch {
	case t.sparse:
		p.SparseFeatures(&s.values, s.ids)
		p.Rest()
	case t.dense && !w.direct && !(t.given && !w.kept.X.Empty()):
		s.dense = resized(s.dense, len(s.ids)*t.in)
		w.features(s.dense, s.ids, t.in)
	}
}

// forward enqueues the task over what a chunk reads, and returns its rows.
func (w *worker) forward(t *task, index int, g gnn.LayerGraph, in gnn.Input) (gpu.Matrix, error) {
	if t.layer < 0 {
		ax := gpu.Matrix{Buf: w.sums, Rows: g.Rows, Cols: t.out, LD: t.out}
		gnn.AggregateInput(w.compute, g.Forward, in.X.Dense, gpu.Matrix{}, ax)
		return ax, nil
	}
	if err := w.passes[index].Bind([]gnn.LayerGraph{g}, in); err != nil {
		return gpu.Matrix{}, err
	}
	return w.passes[index].Forward(w.compute, nil, 0), nil
}

// download copies the rows of a chunk to where they go.
func (w *worker) download(s *slot, m gpu.Matrix, to target) {
	n := m.Rows * m.Cols * m.Type.Size()
	at := to.place(s.ids[:s.rows])
	if at == nil {
		s.out = resized(s.out, n)
		at = s.out
	}
	w.compute.Download(at[:n], m.Buf, gpu.Bytes(m.Off*m.Type.Size()))
	s.done = w.compute.Record()
}

// close gives a part's memory back, unless its device has not answered.
func (w *worker) close(broken bool) error {
	if w.compute == nil || broken {
		return nil
	}
	w.copies.Sync() // a fault has been reported by whom it stopped
	w.compute.Sync()
	w.give()
	if w.weights != nil {
		w.weights.Free()
	}
	return nil
}
