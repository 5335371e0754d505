//go:build cuda

package cuda

import (
	"slices"
	"unsafe"

	"gorgonia.org/cu"

	"capgnn/gpu"
)

// Upload copies src to dst from byte off on. Counted as H2D.
func (q *queue) Upload(dst gpu.Buffer, off gpu.Bytes, src []byte) {
	q.check("Upload").Bytes("dst", dst, int(off), len(src), 1)
	to := ptrOf(dst, int64(off))
	if q.direct(src) {
		q.enqueue(command{op: "Upload", phase: gpu.PhaseTransfer, timed: true, moves: gpu.Usage{H2D: gpu.Bytes(len(src))},
			run: func() error { return q.toDevice(to, src) }})
		return
	}
	q.Call("Upload", func() error { return nil }) // the host reads src: what the queue waits for must have come
	pieces(len(src), func(i, lo, hi int) {
		q.enqueue(q.stageUpload("Upload", to+word(lo), hi-lo, func(half []byte) { copy(half, src[lo:hi]) }, i))
	})
}

// worthCopying is how many bytes a copy from page-locked memory should have, so that starting it is not what it costs: 1 µs
// is 12 KiB at 12 GB/s.
const worthCopying = 32 << 10

// run is rows that lie together.
type run struct{ first, count int }

// runsOf returns the rows as runs, in their order.
func runsOf(rows []int32) (runs []run) {
	for _, r := range rows {
		if n := len(runs); n > 0 && runs[n-1].first+runs[n-1].count == int(r) {
			runs[n-1].count++
			continue
		}
		runs = append(runs, run{int(r), 1})
	}
	return runs
}

// copyRuns hands a copy for each run to the driver.
func (q *queue) copyRuns(to word, src []byte, runs []run, row int) error {
	for _, r := range runs {
		if err := q.toDevice(to, src[r.first*row:][:r.count*row]); err != nil {
			return err
		}
		to += word(r.count * row)
	}
	return nil
}

// UploadRows copies row rows[k] of src to row k of dst: straight from page-locked memory where the rows come in long runs,
// else through staging. Counted as H2D.
func (q *queue) UploadRows(dst gpu.Matrix, src []byte, rows []int32) {
	c := q.check("UploadRows")
	if dst.Rows != len(rows) || dst.LD != dst.Cols {
		c.Fail("dst has %d rows %d elements apart, of %d elements: want %d without gaps", dst.Rows, dst.LD, dst.Cols, len(rows))
	}
	c.Matrix("dst", dst)
	if dst.Empty() {
		return
	}
	row := dst.Type.Size() * dst.Cols
	if top := len(src) / row; slices.ContainsFunc(rows, func(r int32) bool { return r < 0 || int(r) >= top }) {
		c.Fail("src has %d rows", top)
	}
	to := matPtr(dst)
	if runs := runsOf(rows); q.direct(src) && len(rows)*row >= len(runs)*worthCopying {
		q.enqueue(command{op: "UploadRows", phase: gpu.PhaseTransfer, timed: true, moves: gpu.Usage{H2D: gpu.Bytes(len(rows) * row)},
			run: func() error { return q.copyRuns(to, src, runs, row) }})
		return
	}
	if row > stagingHalf {
		for k, r := range rows {
			q.Upload(dst.Buf, gpu.Bytes(dst.Type.Size()*dst.Off+k*row), src[int(r)*row:][:row])
		}
		return
	}
	q.Call("UploadRows", func() error { return nil }) // the host reads src: what the queue waits for must have come
	step := stagingHalf / row
	for lo := 0; lo < len(rows); lo += step {
		part := rows[lo:min(lo+step, len(rows))]
		q.enqueue(q.stageUpload("UploadRows", to+word(lo*row), len(part)*row, func(half []byte) {
			for k, r := range part {
				copy(half[k*row:(k+1)*row], src[int(r)*row:])
			}
		}, lo/step%2))
	}
}

// Download copies len(dst) bytes of src from byte off on. Counted as D2H. Through staging, one piece is drained while the
// next is on its way.
func (q *queue) Download(dst []byte, src gpu.Buffer, off gpu.Bytes) {
	q.check("Download").Bytes("src", src, int(off), len(dst), 1)
	from := ptrOf(src, int64(off))
	if q.direct(dst) {
		q.enqueue(command{op: "Download", phase: gpu.PhaseTransfer, timed: true, moves: gpu.Usage{D2H: gpu.Bytes(len(dst))},
			run: func() error { return q.toHost(dst, from) }})
		return
	}
	var drain *command
	pieces(len(dst), func(i, lo, hi int) {
		q.enqueue(q.stageDownload(from+word(lo), hi-lo, i))
		if drain != nil {
			q.enqueue(*drain)
		}
		c := q.drain(dst[lo:hi], i)
		drain = &c
	})
	if drain != nil {
		q.enqueue(*drain)
	}
}

// direct reports whether the device copies from and to mem by itself; nothing to copy is direct.
func (q *queue) direct(mem []byte) bool { return len(mem) == 0 || q.dev.driver.pinned.hold(mem) }

// toDevice hands a copy from page-locked memory to the driver.
func (q *queue) toDevice(dst word, src []byte) error {
	if len(src) == 0 {
		return nil
	}
	err := cu.MemcpyHtoDAsync(cu.DevicePtr(dst), unsafe.Pointer(unsafe.SliceData(src)), int64(len(src)), q.stream)
	return named("cuMemcpyHtoDAsync", err)
}

// toHost hands a copy to page-locked memory to the driver.
func (q *queue) toHost(dst []byte, src word) error {
	if len(dst) == 0 {
		return nil
	}
	err := cu.MemcpyDtoHAsync(unsafe.Pointer(unsafe.SliceData(dst)), cu.DevicePtr(src), int64(len(dst)), q.stream)
	return named("cuMemcpyDtoHAsync", err)
}
