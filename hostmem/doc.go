// Package hostmem manages host memory: arenas, page-locked memory, shared regions, memory-mapped arrays, byte views
// of numbers, and the amount of free memory.
//
// Its nouns: an Arena hands out Blocks, counts them and enforces a capacity; Pinned is page-locked memory, and a Pinner locks
// it; a Region is page-locked memory of fixed capacity that all devices share, cut into Versioned blocks, which may be
// read while they are refreshed; a MapArray is a numeric array in a read-only mapped file. Bytes and Of view one slice as another.
//
// # Contract
//
// Lifetimes. Block.Bytes is valid until Block.Free or Arena.Close, and MapArray.Data until Close. A view is valid as long as the
// slice that it views, and does not keep a mapping open. Who reads MapArray.Data after Close, or writes to it at any time, ends
// the process with a memory fault that cannot be caught. So the owner closes last, after all goroutines that read have ended. The
// same fault happens if another process shortens a mapped file and somebody reads beyond its new end: replace mapped files by
// renaming, do not rewrite them. To read a Block's bytes after Free is a bug, but a harmless one: the garbage collector
// frees the memory when the last slice is gone.
//
// A slice of page-locked memory (Pinned.Bytes, the results of Versioned.Begin and Reading.Rows) is valid until its Pinned or Region
// is closed. After Close every method returns nil bytes, or an error that is os.ErrClosed; so does a second Close. The
// memory of a process that dies goes back to the system: shared regions have no name under which they could stay.
//
// Ownership. An Arena, a Pinned and a Region belong to one owner each (a device, the trainer), which their errors name. Several
// goroutines may use an Arena or a Region at the same time, and a MapArray, because it is read-only. A Versioned block has one
// writer and any number of readers.
//
// Versions. The writer calls Begin(epoch), fills the rows and calls Publish. A reader calls Read(epoch), uses the rows and calls
// Check; if Check returns a *VersionFault, it discards all that it computed from the rows. Refresh k writes generation k mod 2. A
// barrier of the caller ensures that nobody still reads refresh k−2 when refresh k begins. The stamps detect it if the barrier
// is broken: always on amd64; on other processors a few rows may be read after the check, so a fault may stay unseen. Publish
// happens before a Read that finds the epoch, so rows need no other synchronisation. The race detector sees only the Go heap: set
// LockOptions.Heap in tests that run under it.
//
// Limits. Before memory is taken, free memory (of the machine and of the control group) and the right to lock (ulimit -l,
// CAP_IPC_LOCK) are checked; a *Limit says the need, what is left and the command that raises the limit. With
// LockOptions.Optional memory that cannot be locked is used unlocked, and Unlocked says why. Locking touches all pages at once, and
// the first use of unlocked memory has to do that too. So it costs little: per GiB on one Zen 5 core Pinned takes 0.47 s, and 0.44
// without a lock; a Region 0.96 s, and 0.78 without (medians of 7; go test -bench Lock).
//
// Alignment. Blocks begin at multiples of 64 bytes (a cache line, and one AVX-512 register), and page-locked memory at a
// page. A mapped array must begin at a multiple of its element size in its file.
//
// Blocking. No call waits, except for the disk when a mapped page is read for the first time.
//
// # Source
//
// The paper has a global cache in a shared-memory block, a page-locked region for each device, and optimistic locks on cached
// rows (§4.2). Here readers never retry: the schedule says which epoch a reader gets, and any other epoch is a fault. The epochs
// of rows are stored beside the region, in the Go heap, since one process runs all devices. Capacities come from the paper's
// Algorithm 1; this package takes them as given.
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
