// Package host makes devices out of CPU threads: the default backend, and the one every other backend is compared with.
//
// Its nouns: a Spec says how many threads, how much memory and how slow a device is to be; a Device owns memory of its
// own and a pool of threads; a Queue runs operations in order on a goroutine of its own.
//
// # Contract
//
// As package gpu. In particular: memory of a device is separate from host memory and from that of other devices, so
// Upload, Download and CopyFrom are real copies, counted where they are made. The queues of one device share its
// threads: one operation computes at a time, on all of them; copies run beside it on the goroutine of their queue. An
// operation that panics (a wrong index in a device array, a fault of ours) becomes the fault of its queue.
//
// Every result is a function of the operands alone, never of Threads: work is cut by shape, each row or block is computed
// by one thread in one order, and partial sums are added in block order. Scratch memory (panels, partial sums, masks) is
// reused and lies outside the budget; it is bounded by threads × 128 rows, by 256 blocks × row width, and by 64 MiB for
// the panels of products with an adjacency.
//
// Slow, Link and Latency make a device behave like a weaker one, for tests and for trying heterogeneous plans: after an
// operation the device sleeps, holding its threads but no core; a copy occupies its direction of the device's link
// until a busy clock has passed. Copies of a resident queue cross no link, but for what it fetches from other devices.
//
// # Source
//
// Exact operations and their loops: package gpu. The paper has no CPU devices; they are ours.
//
// # Usage
//
//	dev, err := host.Open(host.Spec{Name: "cpu:0", Threads: 2, Memory: 8 << 30})
//	if err != nil {
//		return err
//	}
//	defer dev.Close()
//	buf, err := dev.Alloc(4*rows*cols, "features")
//	if err != nil {
//		return err
//	}
//	q := dev.NewQueue("compute")
//	q.Fill(gpu.Matrix{Buf: buf, Rows: rows, Cols: cols, LD: cols}, 1)
//	err = q.Sync()
package host
