package minibatch

import (
	"slices"
	"time"

	"capgnn/gnn"
	"capgnn/gpu"
	"capgnn/graph"
	"capgnn/hostmem"
	"capgnn/internal/learn"
	"capgnn/minibatch/sample"
)

// sampledUnit is a unit of a part in a step as its samplers leave it: blocks, answers and, where the device cannot
// fetch them, rows, all in one piece of page-locked memory.
type sampledUnit struct {
	step    int
	unit    int
	time    int    // step of the unit: see roots.timeStep
	group   *group // of the step
	roots   []graph.NodeID
	stack   sample.Stack
	extent  extent
	layout  layout
	mem     *hostmem.Pinned
	host    []byte // where it is written: mem or, with stage.shares, the input itself
	counts  Counts
	linked  gpu.Bytes // of rows and ids: what crosses links that the host emulates
	kept    []int32   // with stage.whole: by vertex of another part, the slot that keeps its row
	missing []int32   // with stage.resident: which of the ids, ascending, have rows that the device does not keep
}

// stage makes sampledUnits for one part. It is read-only, and used by all of the part's samplers.
type stage struct {
	part      int
	device    string
	p         *learn.Problem
	parts     int // of the run
	targets   []learn.Targets
	roots     *roots
	scaling   *gnn.Scaling
	blockUses []blockUse // by layer
	sums      bool       // layer 0 reads rows of ÂX
	drops     bool       // features are dropped
	tables    []table    // dense rows: ÂX, X, or both
	gathers   bool       // they are gathered on the host; else the device is given their ids
	resident  *resident  // of them: the device gathers those; nil: it keeps none
	apart     bool       // the units of a step fetch their rows apart
	fetches   bool       // they are put behind fill, by fetcher
	near      bool       // and the device copies own rows from where they lie
	whole     *fetcher   // and those of other parts from this one's cache, which keeps all; nil: they are staged
	lookahead *lookahead // has drawn some steps already; nil: nobody has
	home      []int32    // of every vertex; nil: all are at home
	pair      *pair      // of an isolated part; nil: it is none
	weighs    bool       // and its roots weigh differently
	idle      bool       // rows are copied by all cores
	shares    bool       // units have no memory but the device's input, where they are written when that is free
	lock      hostmem.LockOptions
	grown     func(what string, was, is gpu.Bytes)
}

// blockUse is what a layer reads of its block.
type blockUse struct {
	hop      int // -1: none
	spreads  bool
	loops    bool // entries (v, v) keep their weight where the row's is scaled
	rescales bool
	weighs   bool // entries weigh what the correction of isolated parts says
}

// fill is feed's.
func (g *stage) fill(s *sample.Sampler, d *sampledUnit, step int) error {
	start := time.Now()
	d.step = step
	d.time = g.roots.timeStep(step, d.unit)
	d.roots = g.roots.of(step, g.part, d.unit, d.roots)
	if g.lookahead == nil || !g.lookahead.take(step*g.roots.units+d.unit, &d.stack) {
		s.Draw(&d.stack, uint32(step), d.roots)
	}
	drawn := time.Now()
	d.counts = Counts{Roots: int64(len(d.roots)), Edges: d.stack.Edges}
	g.count(d)
	d.extent.of(&d.stack, g.sparse())
	if g.resident != nil {
		g.resident.find(d)
	}
	g.lay(&d.layout, &d.extent, nil)
	if err := g.room(d, &d.layout); err != nil {
		return err
	}
	if g.shares {
		d.counts.Time.Sample = time.Since(start)
		return nil
	}
	g.put(d)
	put := time.Now()
	d.counts.Time.Sample, d.counts.Time.Stage = drawn.Sub(start), put.Sub(drawn)
	if g.gathers && !g.fetches && g.sparse() == nil {
		g.seatOwn(d)
		took, rows := time.Since(put), d.counts.Rows.Read
		if g.resident != nil {
			rows = int64(len(d.missing))
		}
		d.counts.Time.Fetch = took * time.Duration(min(rows, d.counts.Rows.Fetched)) / time.Duration(max(1, rows))
		d.counts.Time.Stage += took - d.counts.Time.Fetch
	}
	return nil
}

// ids returns the vertices whose features the step reads.
func (d *sampledUnit) ids() []graph.NodeID { return d.stack.IDs }

// count counts the rows that the unit reads and no unit before it in its group.
func (g *stage) count(d *sampledUnit) {
	c := &d.counts
	if g.home == nil {
		c.Rows.Read = int64(len(d.ids()))
		c.Rows.Local = c.Rows.Read
		return
	}
	if d.unit == 0 || g.apart {
		d.group.reset(g.parts)
	}
	sparse, row := g.sparse(), g.rowBytes()
	for _, v := range d.ids() {
		if g.roots.units > 1 && !d.group.add(v) {
			continue
		}
		c.Rows.Read++
		home := g.home[v]
		if int(home) == g.part {
			c.Rows.Local++
			continue
		}
		if g.resident.all() {
			c.Rows.Hit++
			continue
		}
		c.Rows.Fetched++
		if d.group.ask(home) {
			c.Requests++
		}
		c.Bytes.Rows += row
		if sparse != nil {
			c.Bytes.Rows += entryBytes * gpu.Bytes(sparse.Indptr[v+1]-sparse.Indptr[v])
		}
	}
	c.Bytes.IDs = idBytes * gpu.Bytes(c.Rows.Fetched)
}

// entryBytes is the size of an entry of sparse features: column and value.
const entryBytes = 8

// rowBytes is the size of what is read of a vertex, entries of sparse features apart.
func (g *stage) rowBytes() (n gpu.Bytes) {
	for i := range g.tables {
		n += 4 * gpu.Bytes(g.tables[i].cols)
	}
	return n
}

// lay gives the arrays of a step of some extent their places, in a buffer if it is known.
func (g *stage) lay(l *layout, e *extent, buf gpu.Buffer) {
	n := len(g.blockUses)
	*l = layout{buf: buf, layers: slices.Grow(l.layers[:0], n)[:n], targets: l.targets[:0]}
	l.in.IDs = add[int32](l, e.ids)
	for i := range g.targets {
		l.targets = append(l.targets, add[uint8](l, g.targets[i].Size(e.roots)))
	}
	if g.weighs {
		l.weight = add[float32](l, e.roots)
	}
	if g.scaling.Col != nil {
		l.cols = add[float32](l, e.ids)
	}
	if g.resident != nil && g.resident.row != nil {
		l.rows = add[int32](l, e.ids)
	}
	for i := range g.blockUses {
		g.layBlock(l, &l.layers[i], &g.blockUses[i], e)
	}
	if g.sparse() != nil {
		g.laySparse(l, e)
	}
	l.size = (l.size + align - 1) &^ (align - 1)
	l.blocks = l.size
	for i := range g.tables {
		l.tables[i] = add[float32](l, e.ids*g.tables[i].cols)
		if rows := rowsIn(l.tables[i], g.tables[i].cols); g.sums && i == 0 {
			l.in.AX = rows
		} else {
			l.in.X.Dense = rows
		}
	}
	switch {
	case g.resident != nil:
		slot := layout{size: l.blocks}
		for i := range g.tables {
			l.missing[i] = add[float32](&slot, e.missing*g.tables[i].cols)
		}
		l.staged = slot.size
	case g.gathers:
		l.staged = l.size
	default:
		l.staged = l.blocks
	}
	if g.shares {
		l.staged = 0
	}
}

func (g *stage) layBlock(l *layout, x *gnn.LayerGraph, a *blockUse, e *extent) {
	*x = gnn.LayerGraph{Rows: e.ids, Src: e.ids, Central: x.Central[:0]}
	var rows gpu.Vec
	if a.hop >= 0 {
		h := e.hops[a.hop]
		x.Rows, x.Src = h.rows, h.cols
		values := g.p.Weighs()
		if a.loops && h.scaled || h.weighed || a.weighs {
			values = max(1, values)
		}
		x.Forward.Inner = l.csr(h.rows, h.cols, h.entries, values)
		if a.spreads {
			x.Backward.Inner = l.csr(h.cols, h.rows, h.entries, values)
		}
		if g.scaling.Row != nil || a.rescales && h.scaled {
			rows = add[float32](l, h.rows)
		}
	}
	cols := l.cols
	if !cols.Empty() {
		cols = cols.Slice(0, x.Src)
	}
	x.Central = append(x.Central, gnn.RowRange{Lo: 0, Hi: x.Rows})
	x.Forward.RowScale, x.Forward.ColScale, x.Backward.RowScale, x.Backward.ColScale = rows, cols, cols, rows
}

// room makes the sampledUnit's memory large enough for a layout.
func (g *stage) room(d *sampledUnit, l *layout) error {
	need, have := max(l.staged, align), gpu.Bytes(len(d.host)) // a part without roots has steps without anything
	if g.shares || need <= have {
		return nil
	}
	if d.mem != nil {
		d.mem.Close()
		d.mem = nil
		need += need / slack
		g.grown("staging", have, need)
	}
	var err error
	if d.mem, err = hostmem.NewPinned(g.device, "blocks and rows of a step", int64(need), g.lock); err == nil {
		d.host = d.mem.Bytes()
	}
	return err
}

// put writes everything but rows that come later.
func (g *stage) put(d *sampledUnit) {
	l, st, mem := &d.layout, &d.stack, d.host
	copy(on(mem, l.in.IDs), st.IDs)
	for i := range g.targets {
		g.targets[i].Fill(on(mem, l.targets[i]), d.roots, nil)
	}
	if !l.weight.Empty() {
		g.pair.weighRoots(on(mem, l.weight), d.roots)
	}
	if !l.rows.Empty() {
		g.resident.number(on(mem, l.rows), st.IDs)
	}
	g.scaling.BlockCols(on(mem, l.cols)[:0], st.IDs)
	for i := range g.blockUses {
		if a := &g.blockUses[i]; a.hop >= 0 {
			g.putBlock(&l.layers[i], a, st, mem)
		}
	}
	if g.sparse() != nil && !g.fetches {
		d.begins(ptr(mem, l.in.X.Sparse)[:0], &g.p.Features)
		g.seatOwnSparse(d)
		g.spreadSparse(d)
	}
}

// putBlock writes a layer's block, transposed too where the layer spreads gradients.
func (g *stage) putBlock(x *gnn.LayerGraph, a *blockUse, st *sample.Stack, mem []byte) {
	b, to, back := &st.Blocks[a.hop], x.Forward.Inner, x.Backward.Inner
	copy(ptr(mem, to), b.Begin)
	copy(on(mem, to.Indices), b.Indices)
	if !x.Forward.RowScale.Empty() {
		g.scaling.BlockRows(on(mem, x.Forward.RowScale)[:0], st.IDs[:b.Rows], b.Ratio)
	}
	g.putValues(on(mem, to.Val), a, b, st.IDs, b, false)
	if a.spreads {
		t := sample.Block{Begin: ptr(mem, back), Indices: on(mem, back.Indices)}
		b.Transpose(&t)
		g.putValues(on(mem, back.Val), a, &t, st.IDs, b, true)
	}
}

// putValues writes the values of the entries of a block that was drawn, or, turned, of its transpose: what edges
// weigh, what columns do, and what keeps the weight of loops that are added.
func (g *stage) putValues(val []float32, a *blockUse, b *sample.Block, ids []graph.NodeID, drawn *sample.Block,
	turned bool) {
	if len(val) == 0 {
		return
	}
	g.p.WeighAll(val, b.Begin, b.Indices, func(r int) graph.NodeID { return ids[r] }, ids, turned)
	if a.loops {
		gnn.KeepLoops(val, b.Begin, b.Indices, drawn.Ratio)
	}
	for n := len(b.Indices); len(val) > 0; val = val[n:] { // of each kind
		drawn.Weigh(val[:n], b, turned)
		if a.weighs {
			g.pair.weighEdges(val[:n], b, ids, turned)
		}
	}
}

func (d *sampledUnit) close() {
	if d.mem != nil {
		d.mem.Close()
	}
}
