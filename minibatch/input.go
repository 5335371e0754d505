package minibatch

import (
	"capgnn/gpu"
	"capgnn/hostmem"
)

// input is a unit on the device.
type input struct {
	buf    gpu.Buffer // nil: evaluation has its room
	size   gpu.Bytes
	read   gpu.Event // the unit that was in it has been computed; nil: there was none
	step   int       // of the unit that is in it, as all that follows
	roots  int
	layout         // in buf
	before []int64 // gnn.Features.Before of sparse features
}

// upload enqueues a sampledUnit's way to the input, whose buffer is large enough.
func (n *input) upload(q gpu.Queue, g *stage, d *sampledUnit) {
	mem, l := d.host, &n.layout
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
		case at.Empty():
		case g.near:
			q.(gpu.HostWriter).UploadBy(n.buf, 4*gpu.Bytes(at.Off), 4*gpu.Bytes(at.Len), func(dst []byte) {
				g.collect(of[float32](dst), d, i)
			})
		default:
			q.UploadRows(rowsIn(at, t.cols), hostmem.Bytes(t.data), d.ids())
		}
	}
}

// lay gives a unit its place in the input, whose buffer is large enough.
func (n *input) lay(g *stage, d *sampledUnit) {
	n.step, n.roots = d.step, d.stack.Roots
	g.lay(&n.layout, &d.extent, n.buf)
	if g.sparse() != nil {
		n.before = d.begins(n.before[:0], &g.p.Features)
		n.in.X.Before, n.in.RootT.Entries = n.before, n.before[n.layers[0].Rows]
	}
}
