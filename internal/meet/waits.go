package meet

import (
	"context"
	"fmt"
	"time"

	"capgnn/gpu"
)

// Waits are the waits of one part: for other parts, and for its own device.
type Waits struct {
	Hub    *Hub
	Part   int
	Device string // its name

	foreign []foreign // waits for other parts that may not be over
}

// foreign is a wait of a queue for an event of another part.
type foreign struct {
	event    gpu.Event
	owner    int
	exchange fmt.Stringer
	what     string
	room     bool
}

// For makes a queue wait for an event of another part, and remembers until it has fired what is waited for: what, such as "halo rows", of
// an exchange.
func (w *Waits) For(q gpu.Queue, ev gpu.Event, owner int, exchange fmt.Stringer, what string) {
	q.Wait(ev)
	w.foreign = append(w.foreign, foreign{event: ev, owner: owner, exchange: exchange, what: what})
}

// ForRoom is For of the event that memory can be written again.
func (w *Waits) ForRoom(q gpu.Queue, ev gpu.Event, owner int, exchange fmt.Stringer, what string) {
	q.Wait(ev)
	w.foreign = append(w.foreign, foreign{event: ev, owner: owner, exchange: exchange, what: what, room: true})
}

// Owe remembers an event of the part's own device that others wait for. While it has not fired, the part is not waiting for what was asked of
// them later: they may need it for that.
func (w *Waits) Owe(ev gpu.Event) { w.foreign = append(w.foreign, foreign{event: ev, owner: w.Part}) }

// Settle waits until queues have run everything, and returns their first fault.
func (w *Waits) Settle(queues ...gpu.Queue) error {
	var first error
	for _, q := range queues {
		if err := w.Await(q.Record()); err != nil {
			return err
		}
		if err := q.Sync(); err != nil && first == nil {
			first = err
		}
	}
	w.forget()
	return first
}

// Await waits for an event of the part's own device.
func (w *Waits) Await(ev gpu.Event) error {
	h := w.Hub
	if fired(ev) {
		return nil
	}
	timer := time.NewTimer(h.deadline)
	defer timer.Stop()
	select {
	case <-ev.Done():
	case <-timer.C:
		return w.stalled()
	case <-h.ctx.Done():
		select {
		case <-ev.Done():
		case <-time.After(h.Grace()):
			return &Echo{context.Cause(h.ctx), w.stalled()}
		}
	}
	return nil
}

// stalled returns what a part whose queues do not come to an end waits for: another part, or its own device.
func (w *Waits) stalled() *Late {
	for _, f := range w.foreign {
		if !fired(f.event) && f.owner != w.Part {
			return w.Hub.late(w.Part, f.owner, fmt.Sprintf("%s of %v", f.what, f.exchange), f.room)
		} else if !fired(f.event) {
			break
		}
	}
	return &Late{Epoch: w.Hub.Epoch, Part: w.Part, For: w.Part, Deadline: w.Hub.deadline, What: "its own device " + w.Device}
}

func fired(ev gpu.Event) bool {
	select {
	case <-ev.Done():
		return true
	default:
		return false
	}
}

// forget drops the waits that are over.
func (w *Waits) forget() {
	left := w.foreign[:0]
	for _, f := range w.foreign {
		if !fired(f.event) {
			left = append(left, f)
		}
	}
	clear(w.foreign[len(left):])
	w.foreign = left
}
