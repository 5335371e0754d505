// Package meet lets the parts of a run wait for each other, and says who waited for whom when one does not answer.
//
// Its nouns: a Hub is what the parts of a run share: when the run ends, how long a wait may take, and the epoch under way; Waits are
// those of one part, for other parts and for its own device; an Echo is what a part reports that was stopped because another one
// failed; Late is what a part reports that has waited too long; a Watch notes what parts wait for that other processes have.
//
// # Contract
//
// Parts wait in three ways. A queue of a device waits for an event of another part: Waits.For enqueues it and returns. A part waits
// for a message of another: Receive blocks. A part waits for queues of its own at the end: Waits.Settle and Waits.Await block. What
// blocks ends with the message or the event, with the deadline, or some time after the context of the hub has ended, whatever is first.
// A deadline that passes is a Late, which is a gpu.ErrDeviceLost, and names the part whose event has not fired.
//
// Receive and Stop end what the part does by a panic, which Guard turns into an error: they are called deep in a forward pass, which
// has no errors to return. Guard is on the same goroutine.
//
// RootCause tells the error of the part that failed first from those that follow from it. Parts have the numbers that they have among all
// ranks of a run; a hub is of one rank. Hub.Fail ends its run with an error that no part has made, such as a network's.
//
// Nothing here knows what parts exchange. A Waits belongs to one goroutine at a time; a Hub is read by all, and its epoch is set
// between epochs only.
//
// # Usage
//
//	h := meet.NewHub(ctx, time.Minute)
//	w := &meet.Waits{Hub: h, Part: 0, Device: "cpu:0"}
//	err := meet.Guard(func() {
//		ready := meet.Receive(h, mail, 0, 1, "halo rows of layer 1 forward")
//		w.For(queue, ready, 1, exchange, "halo rows")
//	})
//	if err == nil {
//		err = w.Settle(queue)
//	}
package meet
