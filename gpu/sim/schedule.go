package sim

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"time"

	"capgnn/gpu"
)

// schedule lets the pending operations of queues take place: the discrete events of a machine whose queues work in order,
// whose engines do one thing at a time, and whose buses and processors are shared.
//
// Method: at each event, every operation whose turn has come takes its engines if they are free, those first that have been
// ready longest, then by device and queue. Copies under way get max-min fair shares of the buses they cross, and with
// computations of the processors of their host. Time goes on
// to the next end. It depends on the operations and their order alone.
type schedule struct {
	clock  *Clock
	queues []*Queue // devices in order, their queues in order
	at     []int    // first operation of each queue that has not ended
	t      float64  // seconds since the last settling
	going  []*flow
	order  []*node // as they began
	heads  []head  // of begin
}

// head is the first operation of a queue that has not ended.
type head struct {
	*node
	queue int
}

// flow is an operation under way.
type flow struct {
	*node
	queue int
	left  float64 // seconds at full speed
	speed float64 // share of full speed
	held  bool    // in its first stage: engines are taken
	slept bool    // its goroutine has slept, and goes on when there is a processor for it
	due   bool    // in its last stage: waits for that
}

// preempted is how long the Go scheduler lets a goroutine run when others are waiting (runtime, forcePreemptNS).
const preempted = 10e-3

// run returns the seconds that everything takes.
func (s *schedule) run() float64 {
	s.at = make([]int, len(s.queues))
	for {
		for s.begin() || s.wake() {
		}
		if len(s.going) == 0 {
			break
		}
		s.advance()
	}
	for i, q := range s.queues {
		if s.at[i] < len(q.pending) {
			n := q.pending[s.at[i]]
			panic(fmt.Sprintf("sim: %s: queue %s: %s waits for what never comes", q.dev.info.Name, q.name, n.op))
		}
	}
	return s.t
}

// begin starts what can start and reports whether anything ended at once.
func (s *schedule) begin() bool {
	s.heads = s.heads[:0]
	for i, q := range s.queues {
		if s.at[i] == len(q.pending) {
			continue
		}
		n := q.pending[s.at[i]]
		if !n.seen {
			n.seen, n.ready = true, s.t
		}
		if !n.going && (n.after == nil || n.after.done) {
			s.heads = append(s.heads, head{n, i})
		}
	}
	slices.SortStableFunc(s.heads, func(a, b head) int { return cmp.Compare(a.ready, b.ready) })
	ended := false
	for _, h := range s.heads {
		if slices.ContainsFunc(h.uses, func(e *engine) bool { return e.busy }) {
			continue
		}
		for _, e := range h.uses {
			e.busy = true
		}
		f := &flow{node: h.node, queue: h.queue}
		f.start(s)
		s.order = append(s.order, f.node)
		if f.left <= 0 {
			ended = s.stageDone(f) || ended
		}
		if !f.done {
			f.going, s.going = true, append(s.going, f)
		}
	}
	return ended
}

// start sets what an operation has to do, now that its turn has come.
func (f *flow) start(s *schedule) {
	f.begun, f.held, f.left = s.t, true, f.work
	switch {
	case f.waits:
		f.begun = f.ready
		switch d := f.q.dev; {
		case s.t == f.ready: // it had happened before
			f.left, f.tail = 0, 0
		default:
			f.slept = !d.costs.emulated() || !s.copiesAfter(f)
		}
	case f.link:
		if d := f.q.dev; d.faults.slowLink(s.clock.now + seconds(s.t)) {
			f.left *= d.faults.SlowBy
		}
	}
}

// copiesAfter reports whether a copy follows an operation on its queue.
func (s *schedule) copiesAfter(f *flow) bool {
	next := s.at[f.queue] + 1
	return next < len(f.q.pending) && f.q.pending[next].link
}

// stageDone frees the engines of an operation whose work is done, and ends it if nothing is to come. It reports the end.
func (s *schedule) stageDone(f *flow) bool {
	if f.held {
		f.held = false
		for _, e := range f.uses {
			e.busy = false
		}
		if f.left = f.tail; f.left > 0 {
			if f.flies {
				s.at[f.queue]++
			}
			return false
		}
		f.flies = false
	}
	if f.slept && !f.due && f.q.dev.host.taken() {
		f.due, f.left = true, preempted
		return false
	}
	f.node.end, f.node.done, f.node.after = s.t, true, nil
	if !f.flies {
		s.at[f.queue]++
	}
	return true
}

// wake ends what only waits for a processor, if there is one now, and reports whether anything ended.
func (s *schedule) wake() bool {
	n := len(s.going)
	s.going = slices.DeleteFunc(s.going, func(f *flow) bool {
		return f.due && !f.q.dev.host.taken() && s.stageDone(f)
	})
	return len(s.going) < n
}

// advance goes on to the next time at which something ends.
func (s *schedule) advance() {
	s.share()
	s.allot()
	step := math.Inf(1)
	for _, f := range s.going {
		step = min(step, f.left/f.speed)
	}
	s.t += step
	var still []*flow
	for _, f := range s.going {
		end := f.left / f.speed
		f.left -= step * f.speed
		// Rounding must not leave a remainder that takes no time.
		if end > step && s.t+f.left/f.speed > s.t || !s.stageDone(f) {
			still = append(still, f)
		}
	}
	s.going = still
}

// share gives every copy its fair share of the buses that it crosses: the fullest side first.
func (s *schedule) share() {
	open := map[lane][]*flow{}
	room := map[lane]float64{}
	var lanes []lane // in the order of first use, so that the map's order decides nothing
	for _, f := range s.going {
		f.speed = f.beside()
		if !f.held || f.work == 0 {
			continue
		}
		for _, b := range f.lanes {
			if _, ok := room[b]; !ok {
				lanes, room[b] = append(lanes, b), b.BytesPerSec
			}
			open[b] = append(open[b], f)
		}
	}
	for len(lanes) > 0 {
		tight, level := -1, 1.0 // in speeds: the side on which all that are left go slowest
		for i, b := range lanes {
			want := 0.0
			for _, f := range open[b] {
				want += f.demand()
			}
			if x := room[b] / want; x < level {
				tight, level = i, x
			}
		}
		if tight < 0 {
			return
		}
		s.fill(lanes[tight], open, room)
		lanes = slices.Delete(lanes, tight, tight+1)
		lanes = slices.DeleteFunc(lanes, func(b lane) bool { return len(open[b]) == 0 })
	}
}

// fill shares a side of a bus evenly among its copies, the slowest links first, and takes them off the others.
func (s *schedule) fill(b lane, open map[lane][]*flow, room map[lane]float64) {
	flows := slices.Clone(open[b])
	slices.SortStableFunc(flows, func(x, y *flow) int { return cmp.Compare(x.demand(), y.demand()) })
	for i, f := range flows {
		rate := min(f.demand(), room[b]/float64(len(flows)-i))
		f.speed = rate / f.demand()
		for _, other := range f.lanes {
			room[other] -= rate
			open[other] = slices.DeleteFunc(open[other], func(x *flow) bool { return x == f })
		}
	}
}

// demand returns the bytes per second of a copy that has its buses for itself.
func (f *flow) demand() float64 { return float64(f.bytes) / f.work }

// trace hands out what took place, to those who asked.
func (s *schedule) trace(base time.Duration) {
	if s.clock.Trace == nil && !slices.ContainsFunc(s.clock.devices, func(d *Device) bool { return d.tracer != nil }) {
		return
	}
	slices.SortStableFunc(s.order, func(a, b *node) int { return cmp.Compare(a.from(), b.from()) })
	for _, n := range s.order {
		span := Span{Device: n.q.dev.info.Name, Queue: n.q.name, Lane: n.q.lane, Op: n.op, Phase: n.phase, Start: base + seconds(n.from()),
			End: base + seconds(n.end)}
		if n.phase == gpu.PhaseTransfer {
			span.Bytes = n.bytes
		}
		for _, f := range []func(Span){s.clock.Trace, n.q.dev.tracer} {
			if f != nil {
				f(span)
			}
		}
	}
}
