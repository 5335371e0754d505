// Package pipeline trains one model on several devices, exactly and repeatably.
//
// Its nouns: a Problem is what to learn. A Trainer runs it on one worker per part of the graph: a planner decides how, a placer puts the
// parts on their devices, a saver writes and reads checkpoints; package fit has the epoch loop, package reduce adds gradients. A Simulation is
// the predicted time of a run.
//
// Exchanges of halo rows have nouns of their own: traffic is which rows one layer moves in one direction between all parts; a relay is one
// part's side of it, a sender and a receiver; a send buffer is where packed rows wait for their readers, whom a shipment tells where
// they are; an exchange is all relays of a part, behind gnn.Halo. They see an endpoint: a worker's queues, which parts reach each other, and
// counters. Periods own the schedules by which rows are refreshed. What dynamic policies need besides is in agenda.go and dynamic.go.
//
// # Contract
//
// One goroutine per worker enqueues a whole epoch on its device's queues and returns; devices wait for each other only
// through events. Every wait of one worker for another has a deadline, says who waits for whom when it passes, and ends when any
// worker fails. Bytes are counted by the copy routines of the devices. The order of every sum is fixed by the partition.
// Which version of a halo row a worker reads is a function of the epoch and of its refresh class (jaca.Schedule), never of what has
// arrived: it waits for that version. Another version, or one older than the bound, ends the run. So a run is a function of
// its options, and a run that was killed and resumed gives the same bits as one that was not.
//
// Evaluation runs between epochs, without dropout, over every row and with fresh full exchanges; it changes no training
// bit.
//
// Halo replicas may be pruned from parts (Options.Dropped): all layers of training but the first then run on the remaining
// graph, in both directions, with sums rescaled; the first layer and evaluation keep all of it. A device holds both, in one
// numbering, so they share all but the halo rows.
//
// # Queues
//
// A worker has these queues of its device: compute; local, which brings halo rows to where they are kept (from their owner, or
// from the global cache); prefetch, which brings rows that have no slot just before they are used; out, which takes rows to
// the host: into the global cache, or to memory from which a reader without peer access takes them; those of
// package reduce. All are bounded and in order. See exchange for what happens when.
//
// # Source
//
// docs/caching.md; the paper's §4.2. Without caches at staleness 0 the exchange is the paper's "none" baseline: one contiguous
// send per (owner, reader, layer, direction), peer copies where devices reach each other, else through page-locked host
// memory. Decisions: docs/adr/0015.
//
// # Usage
//
//	t, err := pipeline.New(ctx, problem, pipeline.Options{Model: cfg, Devices: devices, Part: plan.Part, Epochs: 200, ...})
//	defer t.Close()
//	result, err := t.Run(ctx)
package pipeline
