package pipeline

import (
	"capgnn/gnn"
	"capgnn/gpu"
	"capgnn/graph"
	"capgnn/pipeline/chunks"
)

// holding is the pair of an isolated part on its device. Each array has memory for the largest pair of the run, so
// a switch allocates nothing.
type holding struct {
	contents
	s     *isolation
	most  capacity
	slots map[string]gpu.Buffer
	// x and ax are rows of features and of ÂX, by row of the pair; empty: layer 0 does not read them. The base
	// chunk's stay while it is the same.
	x, ax gpu.Matrix
	base  int  // the chunk whose rows lie there, −1: none
	idle  bool // the worker has no part in the phase

	coverage chunks.Coverage // of the pair
	copied   gpu.Bytes       // by switches that no record has
}

// planned are layers of the sizes that slabs are planned for: those of the largest pair.
func (h *holding) planned() []gnn.LayerGraph {
	layers := make([]gnn.LayerGraph, h.model.Layers)
	for l := range layers {
		if layers[l] = (gnn.LayerGraph{Rows: h.most.rows, Src: h.most.rows}); l == len(layers)-1 {
			layers[l].Rows = h.most.loss
		}
	}
	if h.plan.Input == gnn.Replicated {
		layers[0].HaloRows = h.most.halo
	}
	layers[0].Stored = h.most.stored
	return layers
}

// put brings a pair to the device, in the place of the one before, and has training go on with it; nil: the worker
// has none. The device's queues are idle before and behind.
func (h *holding) put(p *pair) error {
	if h.idle = p == nil; h.idle {
		h.coverage = chunks.Coverage{Ratio: 1}
		return nil
	}
	h.coverage = p.coverage
	ld := h.loader
	ld.slots, ld.seen = h.slots, map[any]gpu.Buffer{}
	defer func() { ld.slots, ld.seen = nil, map[any]gpu.Buffer{} }() // host arrays may go
	layers := h.layers(p)
	in := h.input(p)
	layers[0].Stored = int(in.X.SparseT.Entries)
	both := h.s.Targets != chunks.Base
	h.answers(p.IDs[:p.loss], h.most.loss, func(row int) bool {
		return h.p.Trains(p.IDs[row]) && (both || row < p.Base)
	})
	h.weight = put(h.loader, "weights of losses", p.weight, len(p.weight)*h.most.loss)
	if h.Failed != nil {
		return h.Failed
	}
	if err := h.Compute.Sync(); err != nil {
		return err
	}
	h.base = p.chunks.Base
	return h.Pass.Bind(layers, in)
}

// layers puts edges and scales on the device, and returns what each layer aggregates over.
func (h *holding) layers(p *pair) []gnn.LayerGraph {
	layers := h.planned()
	for l := range layers {
		g := &layers[l]
		g.HaloRows, g.Src, g.Rows = 0, len(p.IDs), len(p.IDs)
		if l == len(layers)-1 {
			g.Rows = p.loss
		}
		if l > 0 || h.plan.Input == gnn.Exchanged {
			h.edges("pair", g, p, p.row, p.col, p.in, p.out)
		} else if h.plan.Input == gnn.Replicated {
			h.replicated(g, p)
		}
	}
	return layers
}

// edges puts the edges among the rows of a pair on the device, with scales of these rows and values of entries.
func (h *holding) edges(name string, g *gnn.LayerGraph, p *pair, rows, cols, in, out []float32) {
	n, most := h.most.rows, room{rows: h.most.rows, entries: h.most.entries}
	row := put(h.loader, name+" row scale", rows, n*min(1, len(rows)))
	col := put(h.loader, name+" column scale", cols, n*min(1, len(cols)))
	forward := h.csr(name+" forward", p.In, g.Rows, p.In.Cols, in, most)
	most.ends = n
	backward := h.csr(name+" backward", p.Out, p.Out.Rows(), g.Rows, out, most)
	g.Forward = gnn.Operand{Inner: forward, RowScale: row, ColScale: col}
	g.Backward = gnn.Operand{Inner: backward, RowScale: col, ColScale: row}
}

// replicated makes layer 0 read the features of vertices outside the pair, by all edges and with the weights of the
// whole graph.
func (h *holding) replicated(g *gnn.LayerGraph, p *pair) {
	w, col, m := &p.plain, h.s.scale.Col, h.most
	h.edges("layer 0", g, p, pick(h.s.scale.Row, p.IDs), pick(col, p.IDs), w.in, w.out)
	g.HaloRows = len(p.halo)
	most := room{rows: m.rows, entries: m.haloEdges}
	out := h.csr("layer 0 halo", p.elsewhere, g.Rows, p.elsewhere.Cols, w.elsewhere, most)
	most = room{rows: m.halo, entries: m.haloEdges, ends: m.halo}
	back := h.csr("layer 0 halo transposed", p.turned, p.turned.Rows(), g.Rows, w.turned, most)
	if halo := pick(col, p.halo); halo != nil {
		g.Forward.HaloScale = put(h.loader, "layer 0 halo scale", halo, m.halo)
	}
	if h.model.DropsEdges() {
		g.Forward.HaloIDs = put(h.loader, "layer 0 halo ids", p.halo, m.halo)
	}
	g.Forward.Halo, g.HaloBack = out, back
	if out.Entries == 0 {
		g.Forward.Halo, g.HaloBack = gpu.CSR{Rows: g.Rows, Cols: g.HaloRows}, gpu.CSR{Rows: g.HaloRows, Cols: g.Rows}
	}
}

// input puts what layer 0 reads on the device.
func (h *holding) input(p *pair) gnn.Input {
	m := h.most
	in := gnn.Input{IDs: put(h.loader, "pair vertex ids", p.IDs, m.rows)}
	if h.s.stored != nil && h.plan.Input != gnn.Precomputed {
		root, most := p.rowsOfFirst(h.model.Layers), room{rows: m.rows, entries: m.stored}
		in.X, in.RootT = h.sparseRows("pair features", p.IDs, len(p.IDs), root, most)
		if h.plan.Input == gnn.Replicated {
			n, most := len(p.halo), room{rows: m.halo, entries: m.haloStored}
			in.Halo, _ = h.sparseRows("pair halo features", p.halo, n, n, most)
		}
		return in
	}
	f := &h.p.Features
	if h.ax.Cols > 0 {
		h.fill(h.ax, p, func(dst []float32, v graph.NodeID) { copy(dst, h.s.ax[int(v)*f.Cols:][:f.Cols]) })
		in.AX = h.ax.RowRange(0, len(p.IDs))
	}
	if h.x.Cols > 0 {
		h.fill(h.x, p, f.Fill)
		in.X.Dense = h.x.RowRange(0, len(p.IDs))
	}
	if h.plan.Input == gnn.Replicated {
		cols := h.model.In
		buf := put[float32](h.loader, "pair halo features", nil, m.halo*cols).Buf
		all := gpu.Matrix{Buf: buf, Rows: m.halo, Cols: cols, LD: cols}
		h.gather(all, 0, p.halo, f.Fill)
		in.Halo.Dense = all.RowRange(0, len(p.halo))
	}
	return in
}

// rowsOfFirst returns how many rows layer 0 computes.
func (p *pair) rowsOfFirst(layers int) int {
	if layers == 1 {
		return p.loss
	}
	return len(p.IDs)
}

// fill puts rows of a pair into m: all, or those of the added chunk where the base chunk's are there.
func (h *holding) fill(m gpu.Matrix, p *pair, row func(dst []float32, v graph.NodeID)) {
	from := 0
	if h.base == p.chunks.Base {
		from = p.Base
	}
	h.gather(m, from, p.IDs[from:], row)
}
