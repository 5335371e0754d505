// Package gpu is the interface between training code and the devices that run it.
//
// Its nouns: a Device owns memory and runs queues; a Buffer is a block of that memory; Array and Matrix are typed views of
// a Buffer; a Queue runs operations (Ops) in order; an Event orders queues of one or of several devices.
//
// # Contract
//
// Ordering. Operations of one Queue run one after another, in the order in which they were enqueued. Queues run
// independently of each other; only Record and Wait order them. An Event may be waited for by queues of other devices. An
// Event must have been recorded before it is passed to Wait (workers hand events to each other only after Record).
// What the host does, or a network, is an event too: any type with Done may be passed to Wait, if its channel closes in the end.
//
// Ownership. A Buffer belongs to the Device that allocated it and is valid until Free. Views do not own anything. A
// Buffer may be freed only after every queue that uses it has been synchronised. Host slices handed to Upload and
// Download belong to the queue until the next Sync (or a waited Event after them).
//
// Blocking. Enqueuing does not wait for the work; it may block while a bounded queue is full. Sync blocks.
//
// Faults. Enqueue calls return nothing. The first fault of a queue stays: every later operation is a no-op and Sync
// returns the fault wrapped with device and operation. Events of a faulted queue still fire, so nobody waits for them
// forever. Wrong shapes or dtypes come from our own code and panic before anything is queued.
//
// Determinism. Every operation is a function of its operands alone: not of the number of threads, not of timing.
// Reductions are cut into blocks by shape and partial sums are added in block order (docs/determinism.md).
//
// The doc comment of each operation is the loop that it equals. Package internal/ref has these loops in float64, and
// package gpu/gputest compares every backend with them.
//
// # Source
//
// The paper leaves the device layer to PyTorch; fused operations and the explicit memory budget are ours.
//
// # Usage
//
//	buf, err := dev.Alloc(4*rows*cols, "activations")
//	z := gpu.Matrix{Buf: buf, Rows: rows, Cols: cols, LD: cols}
//	q := dev.NewQueue("compute")
//	q.Gemm(gpu.GemmArgs{C: z, A: h, B: w, TransB: true})
//	ev := q.Record()
//	copies.Wait(ev)
//	copies.Download(host, buf, 0)
//	err = copies.Sync()
package gpu
