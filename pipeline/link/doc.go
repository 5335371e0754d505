// Package link moves rows and sums between the ranks of a run, behind the queues of devices.
//
// Its nouns: a Net is the way of a rank to the others, over a Transport; an Inbox is memory in which the messages of an
// area (cluster.Area) arrive, one after the other; a Reader is a part that waits for one.
//
// # Contract
//
// A message fills an area from its first byte on, and the next one is held back until this one was taken. Send may be
// given the pieces of a message in any order; they leave by ascending offset, each once its queue has run what it was
// given before. All pieces of a message are given before the first one of the next. Numbers of messages ascend.
//
// Parts wait for messages on the host, so each wait has its deadline and no queue waits for a network. On simulated
// machines, whose messages take virtual time (Timed), the queue that Send, Await and Taken are given stands for the
// part there: a piece leaves when the queue has come so far, the queue waits for the arrival, and the next message for
// the queue. What is sent or taken without a queue takes no virtual time.
//
// What cannot be sent ends the run of the rank. Callbacks come on goroutines of the Transport, and do not block.
//
// # Usage
//
//	net := link.Over(transport, hub)
//	in := link.NewInbox(area, memory)
//	in.Open(net, nil)
//	net.Send(queue, other, step, 0, bytes, "gradients", func() { free <- struct{}{} })
//	in.Await(link.Reader{Part: 0, Owner: 1, What: "gradients"}, step, len(bytes), queue)
//	in.Taken(queue, step, 1)
package link
