// Package hostmem is host memory with an owner: arenas, memory-mapped arrays, byte views of numbers, and how much memory
// there is.
//
// Its nouns: an Arena hands out Blocks, counts them and enforces a capacity; a MapArray is a numeric array in a read-only
// mapped file. Bytes and Of view one slice as another.
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
// Ownership. An Arena belongs to one owner (a device, the trainer), named in its errors. Arena is safe for use by several
// goroutines; a MapArray is read-only, so it is too.
//
// Alignment. Blocks begin at multiples of 64 bytes (a cache line, and one AVX-512 register). A mapped array must lie at a
// multiple of its element size in its file.
//
// Blocking. Nothing waits, except for the disk when a mapped page is read for the first time.
//
// # Source
//
// The paper keeps its global cache in a shared-memory block (§4.2); page-locked and shared regions are not part of this
// package yet. Capacities follow its Algorithm 1, which takes them as given.
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
//	x, err := hostmem.Map[float32]("x.npy", 128, rows*cols)
//	defer x.Close()
package hostmem
