// Package shaped makes connections between ranks slow, uneven, out of order or cut, in real time. For tests only.
//
// Its nouns: a Transport is what consumers see of the other ranks, package cluster has its contract; Local are ranks of one
// process, joined by memory; Shaped is a Transport whose traffic takes its time before another one carries it.
//
// # Contract
//
// What a rank sends to another occupies the line between them, in this direction, for bytes ÷ Rate, and is handed on Latency and a random
// share of Jitter later. Pieces of one area keep their order; areas overtake each other where the jitter says so. Taken takes the same way
// back. Gather and Broadcast wait for as long before they begin. What leads to a rank that is cut off stays until Mend.
//
// Delays are those of the seed, but real time is in them: a run of the same seed need not interleave in the same way. Results that
// depend on it are wrong.
//
// # Usage
//
//	ranks := shaped.NewLocal(2)
//	slow := shaped.Shape(ranks[0], shaped.Options{Rate: 125e6, Latency: 200 * time.Microsecond, Jitter: time.Millisecond, Seed: 1})
//	defer slow.Close()
//	slow.Send(1, 7, epoch, 0, rows, sent)
package shaped
