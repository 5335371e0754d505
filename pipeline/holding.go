package pipeline

import (
	"fmt"

	"capgnn/chunks"
	"capgnn/gnn"
	"capgnn/gpu"
	"capgnn/graph"
	"capgnn/hostmem"
	"capgnn/internal/learn"
)

// holding is the pair of an isolated part on its device. Each array has memory for the largest pair of the run, so a switch allocates nothing.
type holding struct {
	*worker
	s     *isolation
	model gnn.Config
	plan  gnn.Plan
	task  learn.Task
	most  capacity
	slots map[string]gpu.Buffer
	// x and ax are rows of features and of ÂX, by row of the pair; empty: layer 0 does not read them. The base chunk's stay while it is the same.
	x, ax gpu.Matrix
	base  int  // the chunk whose rows lie there, −1: none
	idle  bool // the worker has no part in the phase

	coverage chunks.Coverage // of the pair
	record   chunkRecord     // of the newest epoch
}

// slot puts an array where those of its name lie, which has memory for as many elements as most. Without any it is empty.
func slot[T gpu.Element](h *holding, name string, host []T, most int) gpu.Array[T] {
	if most == 0 || h.ld.err != nil {
		return gpu.Array[T]{}
	}
	if len(host) > most {
		panic(fmt.Sprintf("pipeline: %s: %d elements, planned %d", name, len(host), most))
	}
	b, ok := h.slots[name]
	if !ok {
		var one [1]T
		if b = h.ld.alloc(gpu.Bytes(len(hostmem.Bytes(one[:])))*gpu.Bytes(most), name); b == nil {
			return gpu.Array[T]{}
		}
		streamed(b)
		h.slots[name] = b
	}
	if len(host) > 0 {
		h.ld.send(b, 0, hostmem.Bytes(host))
	}
	return gpu.Array[T]{Buf: b, Len: len(host)}
}

// placed is a CSR on the device, beside the one on the host that it was made of.
type placed struct {
	host    *graph.CSR
	ptr     gpu.Array[int64]
	indices gpu.Ints
	val     gpu.Vec
}

// csr puts a CSR of at most so many rows and entries on the device.
func (h *holding) csr(name string, c *graph.CSR, rows, entries int) placed {
	return placed{host: c, ptr: slot(h, name+" rows", c.Indptr, rows+1), indices: slot(h, name+" indices", c.Indices, entries)}
}

// head returns the first rows.
func (p placed) head(rows int) gpu.CSR {
	out := gpu.CSR{Rows: rows, Cols: p.host.Cols, Indices: p.indices, Val: p.val, Entries: p.host.Indptr[rows]}
	if p.ptr.Len > 0 {
		out.Begin, out.End = p.ptr.Slice(0, rows), p.ptr.Slice(1, rows+1)
	}
	return out
}

// before returns all rows, each cut before the first column ≥ cols. most bounds the rows of any pair's.
func (h *holding) before(name string, p placed, cols, most int) gpu.CSR {
	out := p.head(p.host.Rows())
	if cols >= p.host.Cols { // other pairs may have more columns
		slot(h, name+" row ends", []int64{}, most)
		return out
	}
	ends, entries := rowEnds(p.host, p.host.Rows(), cols)
	out.Cols, out.Entries, out.End = cols, entries, slot(h, name+" row ends", ends, most)
	return out
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

// put brings a pair to the device, in the place of the one before, and has training go on with it; nil: the worker has none. The device's queues are idle before
// and behind.
func (h *holding) put(p *pair) error {
	if h.idle = p == nil; h.idle {
		h.coverage = chunks.Coverage{Ratio: 1}
		return nil
	}
	h.coverage = p.coverage
	layers := h.layers(p)
	in := h.input(p)
	layers[0].Stored = int(in.X.SparseT.Entries)
	h.targets(p)
	h.weight = slot(h, "weights of losses", p.weight, len(p.weight)*h.most.loss)
	if h.ld.err != nil {
		return h.ld.err
	}
	if err := h.Compute.Sync(); err != nil {
		return err
	}
	h.base = p.chunks.Base
	return h.train.Bind(layers, in)
}

// layers puts edges and scales on the device, and returns what each layer aggregates over.
func (h *holding) layers(p *pair) []gnn.LayerGraph {
	n, e := h.most.rows, h.most.entries
	forward := h.csr("pair forward", p.In, n, e)
	bare := forward
	backward := forward
	if p.Out != p.In {
		backward = h.csr("pair backward", p.Out, n, e)
	}
	back := backward
	if h.s.valued() {
		forward.val = slot(h, "pair forward values", p.in, e)
		if backward.val = forward.val; p.Out != p.In || h.s.weighsRows() {
			backward.val = slot(h, "pair backward values", p.out, e)
		}
	}
	row, col := slot(h, "pair row scale", p.row, n*min(1, len(p.row))), slot(h, "pair column scale", p.col, n*min(1, len(p.col)))
	layers := h.planned()
	for l := range layers {
		g := &layers[l]
		g.HaloRows, g.Src, g.Rows = 0, len(p.IDs), len(p.IDs)
		if l == len(layers)-1 {
			g.Rows = p.loss
		}
		if l == 0 && h.plan.Input == gnn.Precomputed {
			continue
		}
		if l == 0 && h.plan.Input == gnn.Replicated {
			h.replicated(g, p, bare, back)
			continue
		}
		g.Forward = gnn.Operand{Inner: forward.head(g.Rows), RowScale: row, ColScale: col}
		g.Backward = gnn.Operand{Inner: h.before("pair backward", backward, g.Rows, n), RowScale: col, ColScale: row}
	}
	return layers
}

// weighsRows reports whether the value of an entry depends on who reads.
func (s *isolation) weighsRows() bool { return s.Correction == chunks.LongRun || s.p.Weighted() }

// replicated makes layer 0 read the features of vertices outside the pair, by all edges and with the weights of the whole graph.
func (h *holding) replicated(g *gnn.LayerGraph, p *pair, forward, backward placed) {
	n, m := h.most.rows, h.most
	rows, cols, halo := pick(h.s.scale.Row, p.IDs), pick(h.s.scale.Col, p.IDs), pick(h.s.scale.Col, p.halo)
	row, col := slot(h, "layer 0 row scale", rows, n*min(1, len(rows))), slot(h, "layer 0 column scale", cols, n*min(1, len(cols)))
	out := h.csr("layer 0 halo", p.elsewhere, n, m.haloEdges)
	turned := h.csr("layer 0 halo transposed", p.turned, m.halo, m.haloEdges)
	if h.s.p.Weighted() {
		w := &p.plain
		forward.val, backward.val = slot(h, "layer 0 values", w.in, m.entries), slot(h, "layer 0 backward values", w.out, m.entries)
		out.val, turned.val = slot(h, "layer 0 halo values", w.elsewhere, m.haloEdges), slot(h, "layer 0 halo transposed values", w.turned, m.haloEdges)
	}
	g.HaloRows = len(p.halo)
	g.Forward = gnn.Operand{Inner: forward.head(g.Rows), RowScale: row, ColScale: col}
	g.Backward = gnn.Operand{Inner: h.before("layer 0 backward", backward, g.Rows, n), RowScale: col, ColScale: row}
	if g.HaloRows == 0 || p.elsewhere.Indptr[g.Rows] == 0 {
		g.Forward.Halo, g.HaloBack = gpu.CSR{Rows: g.Rows, Cols: g.HaloRows}, gpu.CSR{Rows: g.HaloRows, Cols: g.Rows}
		return
	}
	g.Forward.Halo = out.head(g.Rows)
	g.Forward.HaloScale = slot(h, "layer 0 halo scale", halo, m.halo*min(1, len(halo)))
	g.HaloBack = h.before("layer 0 halo transposed", turned, g.Rows, m.halo)
}

// input puts what layer 0 reads on the device.
func (h *holding) input(p *pair) gnn.Input {
	in := gnn.Input{IDs: slot(h, "pair vertex ids", p.IDs, h.most.rows)}
	if h.s.stored != nil && h.plan.Input != gnn.Precomputed {
		in.X = h.sparse("pair features", p.IDs, h.most.rows, h.most.stored)
		in.RootT = in.X.SparseT
		if rows := p.rowsOfFirst(h.model.Layers); rows < len(p.IDs) {
			_, t := h.sparseRows(p.IDs)
			ends, entries := rowEnds(t, t.Rows(), rows)
			in.RootT.Cols, in.RootT.Entries, in.RootT.End = rows, entries, slot(h, "root features row ends", ends, h.model.In)
		}
		if h.plan.Input == gnn.Replicated {
			in.Halo = h.sparse("pair halo features", p.halo, h.most.halo, h.most.haloStored)
		}
		return in
	}
	f := &h.s.p.Features
	if h.ax.Cols > 0 {
		h.fill(h.ax, p, func(dst []float32, v graph.NodeID) { copy(dst, h.s.ax[int(v)*f.Cols:][:f.Cols]) })
		in.AX = h.ax.RowRange(0, len(p.IDs))
	}
	if h.x.Cols > 0 {
		h.fill(h.x, p, f.Fill)
		in.X.Dense = h.x.RowRange(0, len(p.IDs))
	}
	if h.plan.Input == gnn.Replicated {
		m := h.matrix("pair halo features", h.most.halo)
		h.ld.gather(m, 0, p.halo, f.Fill)
		in.Halo.Dense = m.RowRange(0, len(p.halo))
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
	h.ld.gather(m, from, p.IDs[from:], row)
}

// matrix returns rows as wide as features, in the slot of a name.
func (h *holding) matrix(name string, rows int) gpu.Matrix {
	cols := h.model.In
	return gpu.Matrix{Buf: slot(h, name, []float32{}, rows*cols).Buf, Rows: rows, Cols: cols, LD: cols}
}

// sparseRows returns the sparse features of vertices, and their transpose.
func (h *holding) sparseRows(ids []graph.NodeID) (rows, turned *graph.CSR) {
	rows, val := h.s.p.Features.Rows(ids)
	turned, _ = transposeValues(rows, val, len(ids))
	return rows, turned
}

// sparse puts the sparse features of vertices on the device, and their transpose.
func (h *holding) sparse(name string, ids []graph.NodeID, most, entries int) gnn.Features {
	rows, val := h.s.p.Features.Rows(ids)
	turned, tval := transposeValues(rows, val, len(ids))
	a, b := h.csr(name, rows, most, entries), h.csr(name+" transposed", turned, h.model.In, entries)
	a.val, b.val = slot(h, name+" values", val, entries), slot(h, name+" transposed values", tval, entries)
	f := gnn.Features{Sparse: a.head(len(ids)), SparseT: b.head(turned.Rows()), Before: rows.Indptr}
	if h.model.DropsFeatures() {
		n, nt := entryNumbers(ids, rows, turned)
		f.Numbers, f.NumbersT = slot(h, name+" numbers", n, entries), slot(h, name+" transposed numbers", nt, entries)
	}
	return f
}

// targets puts on the device what the loss reads of its rows, of which it counts those of training vertices.
func (h *holding) targets(p *pair) {
	both := h.s.Targets != chunks.Base
	counts := func(row int) bool { return h.s.p.Trains(p.IDs[row]) && (both || row < p.Base) }
	h.compared = h.compared[:0]
	for _, t := range h.task.Targets(false) {
		h.compared = append(h.compared, slot(h, t.Name, t.Made(p.IDs[:p.loss], counts), t.Size(h.most.loss)))
	}
}
