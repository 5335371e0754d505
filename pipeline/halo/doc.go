// Package halo exchanges halo rows: it plans which rows of which layers move when between the parts of a run, moves them, keeps them in
// caches, and says which version of a row a part reads.
//
// Its nouns: an Endpoint describes a part to this package: device, queues, reachable parts, counters; a Plan is what all parts exchange,
// made from Options and a Config; Facts is what that asks of a part's device; an Exchange is one part's side of that, behind gnn.Halo.
//
// Parts may be of several processes, called ranks. Each plans for all of them, by the cuts and by the Facts of all, which the caller gathers: so all
// make one plan. Endpoints, sides of exchanges and the blocks of the global cache are those of the parts of this process, and of what they read.
//
// Rows go to another rank over a link.Net. They have exchanges of their own that fill the same halo matrices (relay.beyond).
// What a part sends to a rank in one exchange and epoch is a message: the rows of the blocks that are due, each once, however many parts there read it. The owner
// packs it on its device, copies it to the host in pieces on queue out, and sends each. It arrives in an area, pinned memory that all parts of that rank pick
// their rows from; rows with a global slot are copied from there into the rank's global cache, by the part that reads the message first. There is an area for each
// owner and reading rank, as large as the largest message, and with the pipeline one besides for each exchange, where rows lie until shortly before the next epoch
// uses them. It is taken when the last part has copied its rows. The number of a message
// says which epoch and exchange the rows are of; another one than is due ends the run. Waits for a network are the host's, so each has its deadline. Bytes
// that devices copy are counted, bytes of the network are the Net's to count.
//
// Parts know each other by their endpoints, which say who reaches whom, and by the lanes between them, on which an owner says where rows
// are and a reader that it has them. Rows for a reader that does not reach the owner's device lie in host memory when its lane has them.
//
// Inside: traffic is which rows one layer moves in one direction between all parts; a relay is one part's side of it, a sender and a
// receiver. A send buffer holds packed rows until all readers have copied them. A shipment is the message that tells a reader where its
// rows are; a lane carries it from owner to reader. Periods own the schedules by which rows are refreshed.
//
// # Contract
//
// Each part has one goroutine, which calls its Exchange; calls enqueue work and return. Between epochs one goroutine calls the Plan, and no
// part is at work. An Exchange waits for what another part posts. On timeout, or if a row has the wrong version (StaleError), it panics into the
// part's meet.Guard. Rows passed to Begin are read by operations that it enqueues on q; later ones on q may overwrite them. Rows from Wait are valid
// for operations enqueued before the next Begin, and until the layer's backward exchange if the model keeps halo rows.
//
// Which version of a halo row a part reads is a function of the epoch and of the row's refresh class (jaca.Schedule), never of what has
// arrived: it waits for that version. Another version, or one older than the bound, ends the run. Bytes are counted by the routine that copies.
//
// # Queues
//
// Besides the compute queue an endpoint has three: local brings halo rows to where they are kept (from their owner, or from the global
// cache); prefetch brings rows that have no slot just before they are used; out takes rows to the host: into the global cache, or to memory
// from which a reader without peer access takes them. All are bounded and in order. See Exchange for what happens when.
//
// Rows that cannot be used as they come, since they are encoded, land in memory of their own; the compute queue makes halo rows
// of them just before it reads them (fetchQueue). So queues that bring rows only copy.
//
// # Source
//
// docs/caching.md; the paper's §4.2. Without caches at staleness 0 the exchange is the paper's "none" baseline: one contiguous
// send per (owner, reader, layer, direction), peer copies where devices reach each other, else through page-locked host
// memory. Decisions: docs/adr/0015, docs/adr/0020.
//
// # Usage
//
//	c := halo.Config{Options: options, Model: model, Order: order, Cuts: cuts, Ends: ends, Hub: hub, Log: log}
//	c.Facts = c.OwnFacts()                  // and those of other processes
//	p, err := halo.NewPlan(c)
//	training, evaluation := p.Attach(part)  // of every part
//	p.Join()                                // over ranks, when all know of p.Areas
//	training.BeginEpoch(q)
//	training.Begin(q, layer, gnn.Forward, rows)
//	rows = training.Wait(q, layer, gnn.Forward)
//	training.EndEpoch(q)
//	p.EndEpoch(epoch)
package halo
