package meet

import (
	"context"
	"fmt"
	"time"

	"capgnn/gpu"
)

// Hub is what the parts of a run share.
type Hub struct {
	Epoch int // that is being enqueued

	ctx      context.Context // ends when any part fails
	cancel   context.CancelCauseFunc
	deadline time.Duration
	watch    *Watch // nil: nobody asks
}

// NewHub returns the hub of a run that is over when ctx ends, and in which no wait may take longer than deadline.
func NewHub(ctx context.Context, deadline time.Duration) *Hub {
	h := &Hub{deadline: deadline}
	h.ctx, h.cancel = context.WithCancelCause(ctx)
	return h
}

// Fail ends the run for all of its parts with an error that is no part's own, such as that of a network. The first one counts.
func (h *Hub) Fail(err error) { h.cancel(err) }

// Context ends when any part fails.
func (h *Hub) Context() context.Context { return h.ctx }

// Grace is how long others may take to stop once the run has failed.
func (h *Hub) Grace() time.Duration { return min(h.deadline, 10*time.Second) }

// Receive takes one value from ch, which the part owner sends to waiter. It ends the waiter's Guard when the run is over, or with a
// Late when the deadline has passed.
func Receive[T any](h *Hub, ch <-chan T, waiter, owner int, what string) T {
	return receive(h, ch, waiter, owner, what, false)
}

// ReceiveRoom is Receive of the message that memory can be written again, such as "to take halo rows".
func ReceiveRoom[T any](h *Hub, ch <-chan T, waiter, owner int, what string) T {
	return receive(h, ch, waiter, owner, what, true)
}

func receive[T any](h *Hub, ch <-chan T, waiter, owner int, what string, room bool) T {
	select {
	case v := <-ch:
		return v
	default:
	}
	timer := time.NewTimer(h.deadline)
	defer timer.Stop()
	end := h.watch.begin(waiter, owner, what)
	select {
	case v := <-ch:
		end()
		return v
	case <-h.ctx.Done():
		panic(stop{&Echo{context.Cause(h.ctx), h.late(waiter, owner, what, room)}})
	case <-timer.C:
		panic(stop{h.late(waiter, owner, what, room)})
	}
}

// late is the error of a part that has waited too long for another.
func (h *Hub) late(waiter, owner int, what string, room bool) *Late {
	return &Late{Epoch: h.Epoch, Part: waiter, For: owner, Room: room, Deadline: h.deadline, What: fmt.Sprintf("part %d: %s", owner, what)}
}

// Late says who waits for whom. It is a gpu.ErrDeviceLost.
type Late struct {
	Epoch    int  // that was enqueued last
	Part     int  // that waits
	For      int  // the part that it waits for; Part: its own device
	Room     bool // it waits until the other has read what it wrote before
	Deadline time.Duration
	What     string // such as "part 1: halo rows of layer 1 forward"
}

func (e *Late) Error() string {
	return fmt.Sprintf("epoch %d: part %d waited %v for %s: %v", e.Epoch, e.Part, e.Deadline, e.What, gpu.ErrDeviceLost)
}

func (e *Late) Unwrap() error { return gpu.ErrDeviceLost }
