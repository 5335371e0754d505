package window

import "capgnn/gpu"

// queue computes with the blocks of a space. It implements gpu.Queue.
type queue struct {
	s  *Space
	to gpu.Queue
}

var _ gpu.Queue = (*queue)(nil)

// Queue returns the queue that computes with the blocks of the space.
func (s *Space) Queue() gpu.Queue { return &queue{s, s.q} }

// fired is an event of operations that are recorded.
type fired struct{}

var closed = func() chan struct{} { c := make(chan struct{}); close(c); return c }()

// Done implements gpu.Event.
func (fired) Done() <-chan struct{} { return closed }

// Upload implements gpu.Queue. Outside of scripts it changes the copy of a block.
func (q *queue) Upload(dst gpu.Buffer, off gpu.Bytes, src []byte) {
	b, mine := dst.(*block)
	lo, hi, s := off, off+gpu.Bytes(len(src)), q.s
	switch {
	case !mine:
		q.to.Upload(dst, off, src)
	case s.notes != nil:
		s.notes.note(nil, set{b: spans{{lo, hi}}})
	case s.script != nil:
		q.to.Upload(s.w.buf, b.at+off, src)
	default:
		if mem := s.copyOf(b); mem != nil {
			copy(mem[lo:hi], src)
		}
		b.full = b.full.add(lo, hi)
		s.here.cut(b, lo, hi)
		s.dirty.cut(b, lo, hi)
	}
}

// Download implements gpu.Queue.
func (q *queue) Download(dst []byte, src gpu.Buffer, off gpu.Bytes) {
	b, mine := src.(*block)
	lo, hi, s := off, off+gpu.Bytes(len(dst)), q.s
	switch {
	case !mine:
		q.to.Download(dst, src, off)
	case s.notes != nil:
		s.notes.note(set{b: spans{{lo, hi}}}, nil)
	case s.script != nil || len(s.dirty[b].within(lo, hi)) > 0:
		q.to.Download(dst, s.w.buf, b.at+off)
	case b.mem != nil:
		copy(dst, b.mem[lo:hi])
	}
}

// UploadRows implements gpu.Queue.
func (q *queue) UploadRows(dst gpu.Matrix, src []byte, rows []int32) {
	q.op(func() { q.to.UploadRows(dst, src, rows) }, []any{&dst}, over(&dst))
}

// Call implements gpu.Queue.
func (q *queue) Call(op string, f func() error) {
	if q.s.notes == nil {
		q.to.Call(op, f)
	}
}

// Record implements gpu.Queue.
func (q *queue) Record() gpu.Event {
	if q.s.notes != nil {
		return fired{}
	}
	return q.to.Record()
}

// Wait implements gpu.Queue.
func (q *queue) Wait(ev gpu.Event) {
	if q.s.notes == nil {
		q.to.Wait(ev)
	}
}

// Sync implements gpu.Queue.
func (q *queue) Sync() error {
	if q.s.err != nil {
		return q.s.err
	}
	return q.to.Sync()
}

// Fault implements gpu.Queue.
func (q *queue) Fault() error { return q.to.Fault() }

// Usage implements gpu.Queue.
func (q *queue) Usage() gpu.Usage { return q.to.Usage() }
