// Package sim makes devices of chosen speed, memory and links, on a virtual clock: for tests, and to predict what a run takes
// on hardware that is not there.
//
// Its nouns: a Clock is the time that devices share; a Device is one of them; Rates or a Table say what its operations take;
// a Card is a device that somebody has measured; a Network joins
// machines; Faults are what goes wrong on purpose.
//
// # Contract
//
// As package gpu. Arithmetic is done by a CPU device inside, so results are its, bit for bit; or there is none (package
// ledger), and only memory and time are accounted for. Blocks, budgets and bytes are the same either way.
//
// Time. Enqueuing takes none: an operation is noted with its cost, the engines it needs (computations, each direction of the
// link) and what its queue waits for. When somebody asks for the time (Clock.Now, Queue.Usage), everything noted takes place
// as on a machine whose queues work in order, whose engines do one thing at a time and whose buses are shared fairly. So
// times do not depend on goroutines, and are equal in every rerun, with arithmetic and without; and a host that asks has
// waited for everything. Devices that wait for each other's events must share a clock.
//
// A copy between devices holds the sending side of one link and the receiving side of the other, for the time that the
// slower one takes. A copy holds its engines for its bytes, its queue for the latency too.
//
// The link of a device that is linked lies between it, with a host of its own, and other devices. Then a resident queue copies from that host at a rate of its own
// (Rates.Near), and Fetch takes the time of the links of who asks and who sends, in pieces that leave room for other copies.
//
// A Network joins machines whose devices share the clock: what a machine sends, or receives, shares the rate of its network interface fairly, and arrives a latency after its last byte
// has left. Streams are queues of the interface; a queue of a device waits for the event of an arrival.
//
// # Source
//
// Decision: docs/adr/0010. Cards: the paper's Table 1. The paper estimates by λ (Eq. 5 ff.); here the operations that the trainer
// enqueues are summed up.
//
// # Usage
//
//	card, err := sim.FindCard("rtx3090")
//	clock := sim.NewClock()
//	dev, err := sim.Open(sim.Config{Name: "sim:rtx3090", Model: card.Model, Clock: clock, Rates: card.Rates(), Memory: card.Memory})
//	q := dev.NewQueue("compute")
//	q.Gemm(gpu.GemmArgs{C: c, A: a, B: b})
//	took := clock.Now() // 2·m·n·k / the card's rate, and a launch
package sim
