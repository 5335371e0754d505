// Package pipeline trains one model on several devices, exactly and repeatably.
//
// Its nouns: a Trainer trains on a Problem (package learn), with one worker per part of its process. An
// engine trains them. Package trainer has the run, package fit
// the epoch loop, package reduce adds gradients. A Simulation is the forecast time of a run.
//
// Package halo plans, sends and caches what parts exchange. Of a worker it only sees an endpoint: its device, its
// queues, and which parts it reaches.
//
// # Contract
//
// One goroutine per worker enqueues a whole epoch on its device's queues and returns; devices wait for each other
// only through events. Every wait of one worker for another has a deadline, after which its error says who waits for
// whom, and ends when any worker fails. The copy routines of devices count bytes. The partition fixes the order of
// every sum. Which version of a halo row a worker reads does not depend on what has arrived (package halo). So a run
// is a function of its options, and a run that was killed and resumed gives the same bits as one that was not.
//
// Parts may belong to several processes (Options.Ranks). All make the same plan, gather the same record of every
// part, and decide by sums in part order; so all decide alike, and all end after the epoch in which one is asked to.
// Halo rows are sent by package halo, gradients and weights by package reduce. Weights and scores equal those of one
// process bit for bit, at staleness 0, with cache policies that keep their rows, and without checkpoints. Before the
// first epoch all ranks agree on the areas of their messages. When a rank can no longer be reached, the run ends with
// the error of Ranks, and host memory that this rank may still write to is not freed.
//
// Evaluation runs between epochs, without dropout, over every row and with fresh full exchanges; it does not
// affect training.
//
// Halo replicas may be pruned from parts (Options.Dropped). Then all layers of training but the first use the
// remaining graph, in both directions; the first layer and evaluation use the whole graph. A device has both graphs
// in one numbering, so they share everything but the edges of halo rows.
//
// # Source
//
// The caches and the pipeline of the paper (§4.2), as docs/paper.md lists; its Algorithm 1 is in package jaca. Decisions: docs/adr/0015, docs/adr/0024.
//
// # Usage
//
//	t, err := pipeline.New(ctx, problem, pipeline.Options{Training: pipeline.Training{Model: cfg, Epochs: 200, ...},
//		Devices: devices, Part: plan.Part})
//	defer t.Close()
//	result, err := t.Run(ctx)
package pipeline
