// Package pipeline trains one model on several devices, exactly and repeatably.
//
// Its nouns: a Problem is what to learn; a Trainer runs it on one worker per part of the graph; an exchange moves halo
// rows between workers, behind gnn.Halo; a Checkpoint is a run frozen between two epochs; a Simulation is what a run is
// predicted to take.
//
// # Contract
//
// One goroutine per worker enqueues a whole epoch on its device's compute queue and returns; devices wait for each other
// only through events. Every wait of one worker for another has a deadline and is left when any worker fails. Bytes are
// counted by the copy routines of the devices. The order of every sum is fixed by the partition: gradients are added in
// part order, updated at part 0, and broadcast. So a run is a function of its options, and a run that was killed and
// resumed gives the same bits as one that was not.
//
// Evaluation runs between epochs, without dropout, over every row and with fresh full exchanges; it changes no training
// bit (DESIGN.md 6).
//
// Parts may do without halo replicas (Options.Dropped): all layers of training but the first then run on what is left of the
// graph, in both directions, with sums rescaled; the first layer and evaluation keep all of it. A device holds both, in one
// numbering, so they share all but the halo rows.
//
// # Source
//
// DESIGN.md 7; the paper's §4.2. The synchronous exact exchange here is the paper's "none" baseline: one contiguous send
// per (owner, reader, layer, direction), peer copies where devices reach each other, else through page-locked host
// memory.
//
// # Usage
//
//	t, err := pipeline.New(ctx, problem, pipeline.Options{Model: cfg, Devices: devices, Part: plan.Part, Epochs: 200, ...})
//	defer t.Close()
//	result, err := t.Run(ctx)
package pipeline
