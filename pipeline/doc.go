// Package pipeline trains one model on several devices, exactly and repeatably.
//
// Its nouns: a Trainer learns a Problem (package learn) on one worker per part of the graph, of those of its process: a planner decides how, a placer puts the
// parts on their devices, a saver writes and reads checkpoints; package fit has the epoch loop, package reduce adds gradients. A Simulation is
// the predicted time of a run.
//
// What parts exchange is planned, moved and kept by package halo, which sees an endpoint of a worker: its device, its queues, which parts
// it reaches.
//
// # Contract
//
// One goroutine per worker enqueues a whole epoch on its device's queues and returns; devices wait for each other only
// through events. Every wait of one worker for another has a deadline, says who waits for whom when it passes, and ends when any
// worker fails. Bytes are counted by the copy routines of the devices. The order of every sum is fixed by the partition.
// Which version of a halo row a worker reads is never a matter of what has arrived (package halo). So a run is a function of
// its options, and a run that was killed and resumed gives the same bits as one that was not.
//
// Parts may be of several processes (Options.Ranks). Each makes the same plan, gathers a record of every part, and decides by their sums, which are
// made in part order: so all decide alike, and end behind the epoch in which one is asked to. Halo rows travel as package halo says, gradients and weights as
// package reduce does: weights and scores are those of one process, to the bit. That is at staleness 0, with policies that keep their rows, and without
// checkpoints; what keeps accounts only can be placed otherwise too. All ranks agree on the areas of their messages before the first epoch. When the others
// cannot be reached any more the run ends with what Ranks says; host memory that they may write to is then not given back.
//
// Evaluation runs between epochs, without dropout, over every row and with fresh full exchanges; it does not
// affect training.
//
// Halo replicas may be pruned from parts (Options.Dropped): all layers of training but the first then run on the remaining
// graph, in both directions; the first layer and evaluation keep all of it. A device holds both, in one
// numbering, so they share all but the halo rows.
//
// # Source
//
// The caches and the pipeline of the paper (§4.2), as docs/paper.md lists; its Algorithm 1 is in package jaca. Decisions: docs/adr/0015, docs/adr/0024.
//
// # Usage
//
//	t, err := pipeline.New(ctx, problem, pipeline.Options{Model: cfg, Devices: devices, Part: plan.Part, Epochs: 200, ...})
//	defer t.Close()
//	result, err := t.Run(ctx)
package pipeline
