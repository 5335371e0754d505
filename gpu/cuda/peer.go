//go:build cuda

package cuda

import (
	"gorgonia.org/cu"

	"capgnn/gpu"
)

// CanCopyFrom reports whether this queue's device reaches the memory of src: it is the same GPU, or the driver gives access
// from one to the other, which the first call asks for.
func (q *queue) CanCopyFrom(src gpu.Device) bool {
	from, ok := src.(*device)
	return ok && q.dev.reaches(from)
}

// reaches reports whether d's copies read the memory of from.
func (d *device) reaches(from *device) bool {
	if d.primary.ordinal == from.primary.ordinal {
		return true
	}
	d.mu.Lock()
	can, known := d.peers[from]
	d.mu.Unlock()
	if known {
		return can
	}
	d.do(func() { can = d.enablePeer(from) })
	d.mu.Lock()
	d.peers[from] = can
	d.mu.Unlock()
	return can
}

// enablePeer maps the memory of from into d's context.
func (d *device) enablePeer(from *device) bool {
	if can, err := d.primary.ordinal.CanAccessPeer(from.primary.ordinal); err != nil || can == 0 {
		return false
	}
	err := named("cuCtxEnablePeerAccess", from.primary.context.EnablePeerAccess(0))
	return err == nil || coded(err, codePeerEnabled)
}

// CopyFrom copies src, in the memory of another GPU, to dst. Counted as peer traffic. It is a bug to call it where
// CanCopyFrom says no.
func (q *queue) CopyFrom(dst, src gpu.Matrix) {
	c := q.check("CopyFrom")
	if dst.Rows != src.Rows || dst.Cols != src.Cols || dst.Type != src.Type {
		c.Fail("dst is %d×%d %v, src %d×%d %v", dst.Rows, dst.Cols, dst.Type, src.Rows, src.Cols, src.Type)
	}
	if dst.Empty() {
		return
	}
	from, ok := src.Buf.(*buffer)
	if !ok {
		c.Fail("src has no buffer of a GPU")
	}
	c.Matrix("dst", dst)
	c.In(from.dev).Matrix("src", src)
	if !q.dev.reaches(from.dev) {
		c.Fail("%s has no access to the memory of %s", q.dev.info.Name, from.dev.info.Name)
	}
	size := dst.Type.Size()
	to := area{ptr: matPtr(dst), context: q.dev.ctx, pitch: dst.LD * size}
	source := area{ptr: matPtr(src), context: from.dev.ctx, pitch: src.LD * size}
	q.enqueue(command{op: "CopyFrom", phase: gpu.PhaseTransfer, timed: true, moves: gpu.Usage{Peer: gpu.Bytes(dst.Rows * dst.Cols * size)},
		run: func() error { return q.copyPeer(to, source, dst.Cols*size, dst.Rows) }})
}

// copyPeer copies rows of width bytes, in one piece if there is nothing between them.
func (q *queue) copyPeer(dst, src area, width, rows int) error {
	if rows > 1 && (dst.pitch != width || src.pitch != width) {
		return copyRows(dst, src, width, rows, q.stream)
	}
	if dst.context == src.context {
		return named("cuMemcpyDtoDAsync", cu.MemcpyDtoDAsync(cu.DevicePtr(dst.ptr), cu.DevicePtr(src.ptr), int64(width*rows), q.stream))
	}
	return copyPiece(dst, src, width*rows, q.stream)
}
