// Package faulty wraps devices so that they go wrong on purpose: for tests of who uses them. No program imports it.
//
// Its nouns: a Device is a wrapped one; Faults is what goes wrong on it; a Point names the operation at which it does.
//
// # Contract
//
// As package gpu, and of the wrapped device in all that is not to go wrong: results, memory, usage, peer copies, clock. A
// zero Faults changes nothing. Buffers and events are those of the wrapped device, so wrapped devices work with each other
// and with their own kind.
//
// Operations are counted as they are enqueued, so the one of a Point is the same in every run if one goroutine enqueues
// on the queues that it names. Copies (Upload, UploadRows, Download, CopyFrom) are operations, Call, Record, Wait and Sync
// are none.
//
// Stalls and delays put waits into the queue of the wrapped device: they count as gpu.PhaseWait, and three tasks then stand
// in a bounded queue where one stood. A stalled queue is stalled for its Sync as well; Close releases it.
//
// # Source
//
// Ours: docs/caching.md says what must hold when a device fails (deadlines, schedules).
//
// # Usage
//
//	dev := faulty.Wrap(cpu, faulty.Faults{Stall: faulty.Point{Queue: "in", Op: "CopyFrom", At: 7}})
//	defer dev.Close()
//	options.Devices = append(options.Devices, dev)
//	_, err := trainer.Run(ctx) // part 0 waited 2s for part 1 ...
//	dev.Release()
package faulty
