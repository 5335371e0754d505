// Package trainer is what all trainers have in common, whatever their parts compute.
//
// Its nouns: a Trainer is a run, an Engine what its parts compute; a Worker is one part on its device, with queues,
// memory, weights and gradients; a Crew are the workers of a process; a Record is what a part has done in a stretch of steps; a
// Held is a section of a checkpoint that a rank has.
//
// # Contract
//
// A Worker belongs to one goroutine at a time. Each runs something for every worker in a goroutine of its own and waits
// for all: the first error ends the waits of the others by way of the hub, and the error of the part that failed first
// comes back. Who does not come back some time after that is left behind, and the crew is Stuck: what its device may
// still write to must not be given up.
//
// A Trainer calls its Engine from the goroutine of Run, one method at a time. Whatever is decided between two steps or
// epochs is decided by the records of all parts, which ranks gather, in part order.
//
// # Usage
//
//	w.Worker = trainer.NewWorker(hub, part, dev)
//	t.Employ(&w.Worker)
//	w.prefetch = w.Queue("prefetch")
//	...
//	err := crew.Each(func(i int) error { return workers[i].train() })
package trainer
