//go:build cuda

package cuda

import (
	"slices"
	"time"

	"gorgonia.org/cu"

	"capgnn/gpu"
)

// trace is told when commands ran. It belongs to the device's thread.
type trace struct {
	f    func(gpu.Span)
	zero eventHandle   // of the device's time
	at   time.Duration // when that was, on the host's clock, late by what it takes to hear of an event
}

// Trace implements gpu.Traced. While the host holds a queue up, in Wait for what is no event of a GPU and in Call, nothing is told of it.
func (d *device) Trace(began time.Time, f func(gpu.Span)) {
	d.mu.Lock()
	queues := slices.Clone(d.queues)
	d.mu.Unlock()
	d.do(func() {
		for _, q := range queues {
			q.clock.collect(q)
		}
		if d.trace != nil {
			freeEvent(d.trace.zero)
			d.trace = nil
		}
		if f != nil {
			d.trace = d.newTrace(began, f)
		}
	})
}

// newTrace returns a trace that begins now; nil without an event, as there are no times then.
func (d *device) newTrace(began time.Time, f func(gpu.Span)) *trace {
	stream, err := cu.MakeStream(cu.NonBlocking)
	if err != nil {
		return nil
	}
	defer stream.Destroy()
	zero, err := newEvent(true)
	if err != nil {
		return nil
	}
	if recordEvent(zero, stream) != nil || awaitEvent(d.ctx, zero) != nil {
		freeEvent(zero)
		return nil
	}
	return &trace{f: f, zero: zero, at: time.Since(began)}
}

// say tells of the stretch that began at an event and has ended.
func (t *trace) say(q *queue, s stamp, from eventHandle) {
	if t == nil {
		return
	}
	begin, err := elapsed(t.zero, from)
	if err != nil {
		return
	}
	end, err := elapsed(t.zero, s.event)
	if err != nil {
		return
	}
	at := func(seconds float64) time.Duration { return t.at + time.Duration(seconds*float64(time.Second)) }
	t.f(gpu.Span{Device: q.dev.info.Name, Queue: q.name, Lane: q.lane, Op: s.op, Phase: s.phase, Start: at(begin), End: at(end), Bytes: s.bytes})
}
