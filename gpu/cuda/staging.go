//go:build cuda

package cuda

import (
	"capgnn/gpu"
	"capgnn/hostmem"
)

// stagingHalf is how many bytes a half of a queue's staging holds: long enough that a copy over PCIe takes several times
// what starting it does, 0.3 ms at 12 GB/s.
const stagingHalf = 4 << 20

// staging is page-locked memory through which a queue copies memory that the driver has not registered. It belongs to the
// device's thread; the bytes of a half belong to whoever uses the half.
type staging struct {
	mem  *hostmem.Pinned
	half [2]half
}

// half is one half: used is recorded behind its last use by the device.
type half struct {
	bytes []byte
	used  eventHandle
	busy  bool // used was recorded
}

// stage returns half i of the queue's staging, made at the first call.
func (q *queue) stage(i int) (*half, error) {
	if q.staging == nil {
		mem, err := hostmem.NewPinned(q.dev.info.Name, "staging of queue "+q.name, 2*stagingHalf,
			hostmem.LockOptions{Pinner: q.dev.driver.Pinner(), Optional: true})
		if err != nil {
			return nil, err
		}
		s := &staging{mem: mem}
		for k := range s.half {
			s.half[k].bytes = mem.Bytes()[k*stagingHalf : (k+1)*stagingHalf]
			if s.half[k].used, err = newEvent(false); err != nil {
				s.close()
				return nil, err
			}
		}
		q.staging = s
	}
	return &q.staging.half[i], nil
}

// release records that the device is done with the half when it gets here.
func (h *half) release(q *queue) error {
	h.busy = true
	return recordEvent(h.used, q.stream)
}

// await returns what waits until the device is done with the half; nil if it is.
func (h *half) await(d *device) func() {
	if !h.busy || eventFired(h.used) {
		return nil
	}
	ctx, used := d.ctx, h.used
	return func() { awaitEvent(ctx, used) } // an error shows at the queue's Sync
}

func (s *staging) close() {
	if s == nil {
		return
	}
	for _, h := range s.half {
		if h.used != 0 {
			freeEvent(h.used)
		}
	}
	s.mem.Close()
}

// pieces calls f for the pieces of n bytes that fit a half, and the half of each.
func pieces(n int, f func(i, lo, hi int)) {
	for lo, k := 0, 0; lo < n; lo, k = lo+stagingHalf, k+1 {
		f(k%2, lo, min(lo+stagingHalf, n))
	}
}

// stageUpload lets fill write n bytes to the half on another goroutine, when the device is done with what was there before,
// and then lets the device fetch them.
func (q *queue) stageUpload(op string, dst word, n int, fill func(half []byte), i int) command {
	var h *half
	var err error
	return command{op: op, phase: gpu.PhaseTransfer, timed: true, moves: gpu.Usage{H2D: gpu.Bytes(n)},
		wait: func() func() {
			if h, err = q.stage(i); err != nil {
				return nil
			}
			free := h.await(q.dev)
			return func() {
				if free != nil {
					free()
				}
				fill(h.bytes[:n])
			}
		},
		run: func() error {
			if err != nil {
				return err
			}
			if err := q.toDevice(dst, h.bytes[:n]); err != nil {
				return err
			}
			return h.release(q)
		}}
}

// stageDownload lets the device write src to the half. A download before it has been drained by then.
func (q *queue) stageDownload(src word, n, i int) command {
	return command{op: "Download", phase: gpu.PhaseTransfer, timed: true, moves: gpu.Usage{D2H: gpu.Bytes(n)}, run: func() error {
		h, err := q.stage(i)
		if err != nil {
			return err
		}
		if err := q.toHost(h.bytes[:n], src); err != nil {
			return err
		}
		return h.release(q)
	}}
}

// drain copies what the device has written to the half to dst. Commands after it see dst filled.
func (q *queue) drain(dst []byte, i int) command {
	return command{op: "Download", phase: gpu.PhaseTransfer, wait: func() func() {
		h, err := q.stage(i)
		if err != nil {
			return nil // stageDownload has said it
		}
		ready := h.await(q.dev)
		return func() {
			if ready != nil {
				ready()
			}
			copy(dst, h.bytes)
		}
	}}
}
