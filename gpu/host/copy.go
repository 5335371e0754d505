package host

import (
	"slices"
	"time"

	"capgnn/gpu"
	"capgnn/gpu/host/kernel"
)

// Upload copies src to dst from byte off on. Counted as H2D.
func (q *Queue) Upload(dst gpu.Buffer, off gpu.Bytes, src []byte) {
	q.check("Upload").Bytes("dst", dst, int(off), len(src), 1)
	mem := bytesOf(dst, int(off), len(src), 1)
	q.transfer("Upload", gpu.Usage{H2D: gpu.Bytes(len(src))}, func(ready time.Time) time.Time {
		arrived := q.book(toDevice, gpu.Bytes(len(src)), ready)
		copy(mem, src)
		return arrived
	})
}

// UploadRows copies row rows[k] of src to row k of dst. Counted as H2D.
func (q *Queue) UploadRows(dst gpu.Matrix, src []byte, rows []int32) {
	c := q.check("UploadRows")
	if dst.Rows != len(rows) || dst.LD != dst.Cols {
		c.Fail("dst has %d rows %d elements apart, of %d elements: want %d without gaps", dst.Rows, dst.LD, dst.Cols, len(rows))
	}
	if dst.Empty() {
		return
	}
	row := dst.Type.Size() * dst.Cols
	if top := len(src) / row; slices.ContainsFunc(rows, func(r int32) bool { return r < 0 || int(r) >= top }) {
		c.Fail("src has %d rows", top)
	}
	c.Bytes("dst", dst.Buf, dst.Type.Size()*dst.Off, row*dst.Rows, 1)
	mem := bytesOf(dst.Buf, dst.Type.Size()*dst.Off, row*dst.Rows, 1)
	q.transfer("UploadRows", gpu.Usage{H2D: gpu.Bytes(len(mem))}, func(ready time.Time) time.Time {
		arrived := q.book(toDevice, gpu.Bytes(len(mem)), ready)
		for k, r := range rows {
			copy(mem[k*row:][:row], src[int(r)*row:])
		}
		return arrived
	})
}

// UploadBy implements gpu.HostWriter.
func (q *Queue) UploadBy(dst gpu.Buffer, off, n gpu.Bytes, f func(dst []byte)) {
	q.check("UploadBy").Bytes("dst", dst, int(off), int(n), 1)
	mem := bytesOf(dst, int(off), int(n), 1)
	q.transfer("UploadBy", gpu.Usage{H2D: n}, func(ready time.Time) time.Time {
		arrived := q.book(toDevice, n, ready)
		f(mem)
		return arrived
	})
}

// Download copies len(dst) bytes of src from byte off on. Counted as D2H.
func (q *Queue) Download(dst []byte, src gpu.Buffer, off gpu.Bytes) {
	q.check("Download").Bytes("src", src, int(off), len(dst), 1)
	mem := bytesOf(src, int(off), len(dst), 1)
	q.transfer("Download", gpu.Usage{D2H: gpu.Bytes(len(dst))}, func(ready time.Time) time.Time {
		arrived := q.book(fromDevice, gpu.Bytes(len(dst)), ready)
		copy(dst, mem)
		return arrived
	})
}

// book takes the link for n bytes that are there at ready, and returns when they have arrived.
func (q *Queue) book(d direction, n gpu.Bytes, ready time.Time) time.Time {
	if q.resident {
		return ready
	}
	return q.dev.link.book(d, n, ready)
}

// CanCopyFrom reports whether src is a CPU device of this process.
func (q *Queue) CanCopyFrom(src gpu.Device) bool {
	_, ok := src.(*Device)
	return ok
}

// CopyFrom copies src, in the memory of another CPU device, to dst. It occupies the links and buses of both. Counted as
// peer traffic.
func (q *Queue) CopyFrom(dst, src gpu.Matrix) {
	c := q.check("CopyFrom")
	if dst.Rows != src.Rows || dst.Cols != src.Cols || dst.Type != src.Type {
		c.Fail("dst is %d×%d %v, src %d×%d %v", dst.Rows, dst.Cols, dst.Type, src.Rows, src.Cols, src.Type)
	}
	if dst.Empty() {
		return
	}
	from, ok := src.Buf.(*block)
	if !ok {
		c.Fail("src has no buffer of a CPU device")
	}
	c.Matrix("dst", dst)
	c.In(from.owner).Matrix("src", src)
	d, s := eitherOf(dst), eitherOf(src)
	n := gpu.Bytes(src.Rows * src.Cols * src.Type.Size())
	q.transfer("CopyFrom", gpu.Usage{Peer: n}, func(ready time.Time) time.Time {
		sent := from.owner.link.book(fromDevice, n, ready)
		arrived := q.dev.link.book(toDevice, n, ready)
		for i := range src.Rows {
			kernel.CopyRow(d, i, s, i)
		}
		return latest(sent, arrived)
	})
}
