package hostmem

import (
	"fmt"
	"sync"
)

// Region is host memory that every device copies from and to: page-locked, of fixed capacity, shared (memfd, or a file
// without a name). It is cut into versioned blocks, which are never freed one by one: Close frees all of them.
type Region struct {
	mem    *Pinned
	mu     sync.Mutex
	used   int64
	blocks []*Versioned
}

// NewRegion maps and locks capacity bytes. owner names the region in errors. Fails as NewPinned does.
func NewRegion(owner string, capacity int64, o LockOptions) (*Region, error) {
	mem, err := newPinned(owner, "shared region", capacity, o, sharedMemory, fileMemory)
	if err != nil {
		return nil, err
	}
	return &Region{mem: mem}, nil
}

// BlockCost is what a block of size bytes takes of a region's capacity: two generations, each rounded up to Alignment.
func BlockCost(size int64) int64 {
	return 2 * ((size + Alignment - 1) / Alignment * Alignment)
}

// Block cuts a block of size bytes off the region; each generation begins at a multiple of Alignment. name appears in
// faults. Fails with *OutOfMemory. size must not be negative.
func (r *Region) Block(name string, size int64) (*Versioned, error) {
	if size < 0 {
		panic(fmt.Sprintf("hostmem: block %q: negative size %d", name, size))
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.mem.closed.Load() {
		return nil, r.mem.isClosed()
	}
	capacity := int64(len(r.mem.bytes))
	if left := capacity - r.used; size > left || BlockCost(size) > left {
		return nil, &OutOfMemory{Owner: r.mem.owner, Name: name, Need: BlockCost(min(size, maxBlock)), Left: left, Capacity: capacity}
	}
	b := &Versioned{owner: r.mem.owner, name: name, last: -1}
	for i := range b.gens {
		b.gens[i].rows = r.mem.bytes[r.used : r.used+size : r.used+size]
		r.used += BlockCost(size) / 2
	}
	r.blocks = append(r.blocks, b)
	return b, nil
}

// Usage returns the current amounts.
func (r *Region) Usage() Usage {
	r.mu.Lock()
	defer r.mu.Unlock()
	return Usage{Used: r.used, HighWater: r.used, Capacity: int64(len(r.mem.bytes))}
}

// Unlocked returns nil if the region is page-locked, else the reason why it is not.
func (r *Region) Unlocked() error { return r.mem.Unlocked() }

// Close frees the region; its blocks then return os.ErrClosed. Their rows must not be used any more. Closing again is
// an error.
func (r *Region) Close() error {
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, b := range r.blocks {
		for i := range b.gens {
			b.gens[i].stamp.Store(stampClosed)
			b.gens[i].rows = nil
		}
	}
	return r.mem.Close()
}
