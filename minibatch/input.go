package minibatch

import (
	"capgnn/gnn"
	"capgnn/gpu"
	"capgnn/hostmem"
	"capgnn/internal/learn"
)

// input is a unit on the device.
type input struct {
	buf     gpu.Buffer // nil: evaluation has its room
	size    gpu.Bytes
	read    gpu.Event // the unit that was in it has been computed; nil: there was none
	step    int       // of the unit that is in it, as all that follows
	roots   int
	targets []gpu.Array[uint8]
	weight  gpu.Vec // of the losses of roots; empty: 1
	layers  []gnn.LayerGraph
	in      gnn.Input
	before  []int64 // gnn.Features.Before of sparse features
}

// upload enqueues a sampledUnit's way to the input, whose buffer is large enough.
func (n *input) upload(q gpu.Queue, g *stage, d *sampledUnit) {
	mem, l := d.host, &d.layout
	if g.resident != nil {
		q.Upload(n.buf, 0, mem[:l.blocks])
		g.resident.upload(q, n, d)
		return
	}
	size, whole := l.blocks, g.gathers && !g.near
	if whole {
		size = l.size
	}
	if g.shares {
		q.(gpu.HostWriter).UploadBy(n.buf, 0, size, func(dst []byte) {
			d.host = dst
			g.put(d)
			if whole && g.sparse() == nil {
				g.seatOwn(d)
			}
		})
	} else {
		q.Upload(n.buf, 0, mem[:size])
	}
	if whole {
		return
	}
	for i := range g.tables {
		t, at := &g.tables[i], l.tables[i]
		switch {
		case at.n == 0:
		case g.near:
			q.(gpu.HostWriter).UploadBy(n.buf, at.at, 4*gpu.Bytes(at.n), func(dst []byte) { g.collect(of[float32](dst), d, i) })
		default:
			q.UploadRows(rowsIn(at, n.buf, t.cols), hostmem.Bytes(t.data), d.ids())
		}
	}
}

// bind makes layers and in what a pass reads of the sampledUnit.
func (n *input) bind(g *stage, d *sampledUnit) {
	l := &d.layout
	n.step, n.roots, n.targets = d.step, d.stack.Roots, n.targets[:0]
	for _, t := range l.targets {
		n.targets = append(n.targets, t.in(n.buf))
	}
	n.weight = l.weights.in(n.buf)
	n.layers = n.layers[:0]
	for i := range l.layers {
		n.layers = append(n.layers, n.layer(l, &l.layers[i]))
	}
	n.in = gnn.Input{IDs: l.ids.in(n.buf)}
	switch {
	case g.sparse() != nil:
		n.sparse(d, &g.p.Features)
	case g.sums && len(g.tables) == 2:
		n.in.X.Dense = rowsIn(l.tables[1], n.buf, g.tables[1].cols)
		fallthrough
	case g.sums:
		n.in.AX = rowsIn(l.tables[0], n.buf, g.tables[0].cols)
	default:
		n.in.X.Dense = rowsIn(l.tables[0], n.buf, g.tables[0].cols)
	}
}

// layer is a layer's block.
func (n *input) layer(l *layout, s *layerSpans) gnn.LayerGraph {
	rows, cols := s.scale.in(n.buf), l.cols.in(n.buf)
	if !cols.Empty() {
		cols = cols.Slice(0, s.src)
	}
	return gnn.LayerGraph{Rows: s.rows, Src: s.src, Central: []gnn.RowRange{{Lo: 0, Hi: s.rows}},
		Forward:  gnn.Operand{Inner: s.forward.in(n.buf), RowScale: rows, ColScale: cols},
		Backward: gnn.Operand{Inner: s.backward.in(n.buf), RowScale: cols, ColScale: rows}}
}

// sparse makes sparse features what the first layer reads.
func (n *input) sparse(d *sampledUnit, f *learn.Features) {
	x := &d.layout.x
	n.before = d.begins(n.before[:0], f)
	n.in.X = gnn.Features{Sparse: x.rows.in(n.buf), SparseT: x.back.in(n.buf), Before: n.before,
		Numbers: x.numbers.in(n.buf), NumbersT: x.numbersT.in(n.buf)}
	n.layers[0].Stored = x.rows.indices.n
	own := d.layout.layers[0].rows
	n.in.RootT = n.in.X.SparseT
	if own < x.rows.rows {
		n.in.RootT.Cols, n.in.RootT.End = own, x.ends.in(n.buf)
		n.in.RootT.Entries = n.before[own]
	}
}
