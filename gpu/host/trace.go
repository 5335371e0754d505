package host

import (
	"time"

	"capgnn/gpu"
)

// tracer is told when operations ran.
type tracer struct {
	began time.Time
	f     func(gpu.Span)
}

// Trace implements gpu.Traced.
func (d *Device) Trace(began time.Time, f func(gpu.Span)) {
	if f == nil {
		d.tracer.Store(nil)
		return
	}
	d.tracer.Store(&tracer{began, f})
}

// say tells of a task that has just ended: copies took place in their link's time, all else until now.
func (tr *tracer) say(q *Queue, t *task, elapsed time.Duration) {
	end := time.Now()
	if t.copy != nil {
		end = q.due
	}
	at := end.Sub(tr.began)
	tr.f(gpu.Span{Device: q.dev.info.Name, Queue: q.name, Lane: q.lane, Op: t.op, Phase: t.phase, Start: at - elapsed, End: at, Bytes: t.moves.H2D + t.moves.D2H + t.moves.Peer})
}
