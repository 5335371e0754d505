// Package hostmem is host memory with an owner: arenas, page-locked memory, shared regions, memory-mapped
// arrays, byte views of numbers, and how much memory there is.
//
// Its nouns: an Arena hands out Blocks, counts them and enforces a capacity; Pinned is page-locked memory, a Pinner locks
// it; a Region is shared memory of fixed capacity, cut into Versioned
// blocks that are read while they are refreshed; a MapArray is a numeric array in a read-only mapped file. Bytes and Of view
// one slice as another.
//
// # Contract
//
// Lifetimes. Block.Bytes is valid until Block.Free or Arena.Close, MapArray.Data until Close, a view as long as the slice
// it views; a view does not keep a mapping open. Reading MapArray.Data after Close, or writing to it at any time, ends the
// process with a memory fault that cannot be caught, so the owner closes last: after every goroutine that reads has been
// waited for. So does reading beyond the end of a file that another process cut short while it was mapped: replace mapped
// files by renaming, do not rewrite them. Reading a Block's bytes after Free is a bug, but a harmless one: the garbage
// collector frees the memory when the last slice is gone.
//
// A slice of page-locked memory (Pinned.Bytes, what Versioned.Begin and Reading.Rows return) ends with the
// Close of its Pinned or Region, like a mapped array's. Every method called after Close returns an error that is
// os.ErrClosed, or nil bytes; so does a second Close. The memory of a process that dies goes back to the system: shared
// regions have no name that could stay.
//
// Ownership. An Arena belongs to one owner (a device, the trainer), named in its errors; so do Pinned and Region.
// Arena and Region are safe for use by several goroutines; a MapArray is read-only, so it is too. A Versioned block has one
// writer, and any number of readers.
//
// Versions. The writer calls Begin(epoch), fills the rows, calls Publish; a reader calls Read(epoch), uses the rows, calls
// Check, and uses nothing of them if that is a *VersionFault. Refresh k writes generation k mod 2. The caller's barrier
// keeps a reader of refresh k−2 from meeting refresh k; the stamps find out if it does not: always on amd64; other
// processors may read a few rows after the check. Publish happens before a Read that finds the epoch, so rows need no other
// synchronisation. The race detector follows the Go heap alone: give LockOptions.Heap in tests that run under it.
//
// Limits. Free memory (the machine's, the control group's) and the right to lock (ulimit -l, CAP_IPC_LOCK) are looked at
// before memory is taken; a *Limit says the need, what is left and the command that raises it. With LockOptions.Optional
// memory that cannot be locked is used as it is, and Unlocked says why.
// Locking needs the pages at once, which the first use of unlocked memory needs too: per GiB of one Zen 5 core 0.47 s, 0.44
// without a lock, for Pinned; 0.96 s, 0.78 without, for a Region (medians of 7; go test -bench Lock).
//
// Alignment. Blocks begin at multiples of 64 bytes (a cache line, and one AVX-512 register), page-locked memory at a
// page. A mapped array must lie at a multiple of its element size in its file.
//
// Blocking. Nothing waits, except for the disk when a mapped page is read for the first time.
//
// # Source
//
// The paper keeps its global cache in a shared-memory block, a page-locked region per device, and optimistic locks on cached
// rows (§4.2). Our locks need no retry: the schedule says which epoch a reader gets, so another one is a fault. The epochs
// lie beside the region, in the Go heap, since one process runs all devices. Capacities follow its Algorithm 1, which takes
// them as given.
//
// # Usage
//
//	arena := hostmem.NewArena("cpu:0", 8<<30)
//	defer arena.Close()
//	block, err := arena.Alloc(4*rows*cols, "activations")
//	if err != nil {
//		return err // a *hostmem.OutOfMemory says what was asked for and what was left
//	}
//	h := hostmem.Of[float32](block.Bytes())
//	region, err := hostmem.NewRegion("global cache", hostmem.BlockCost(size), hostmem.LockOptions{Optional: true})
//	defer region.Close()
//	cached, err := region.Block("layer 1 forward, class 0", size)
//	rows, err := cached.Begin(epoch) // fill them, then cached.Publish()
//	reading, err := cached.Read(epoch) // use reading.Rows(), then reading.Check()
package hostmem
