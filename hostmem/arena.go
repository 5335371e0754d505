package hostmem

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"sync"
	"unsafe"
)

const (
	// Alignment of every block, in bytes: a cache line, and the width of an AVX-512 register.
	Alignment = 64
	// MapFrom is the size in bytes from which a block is mapped from the system instead of taken from the Go heap: such a
	// block returns to the system when it is freed and costs the collector nothing.
	MapFrom = 64 << 10
	// maxBlock is the largest request that is tried at all, in bytes: what an address space of 46 bits holds.
	maxBlock = 1 << 46
)

// OutOfMemory is returned by Alloc when a request exceeds the arena's capacity. All amounts are in bytes.
type OutOfMemory struct {
	Owner    string // owner of the arena
	Name     string // what the block was for
	Need     int64  // size of the request
	Left     int64  // what was left
	Capacity int64  // what the arena may hold
}

// Error gives one line: owner, block and amounts.
func (e *OutOfMemory) Error() string {
	return fmt.Sprintf("%s: allocate %q: needs %d bytes, %d of %d left", e.Owner, e.Name, e.Need, e.Left, e.Capacity)
}

// Usage says how much of an arena is in use, in bytes.
type Usage struct {
	Used      int64 // blocks rounded up to Alignment
	HighWater int64 // largest Used so far
	Capacity  int64 // math.MaxInt64: no limit
}

// Arena hands out blocks of host memory up to a capacity. The zero Arena is not usable; see NewArena.
type Arena struct {
	// Poison fills every new block with 0xFF, which is NaN as float32 and float64 and -1 as an integer. So tests notice a read
	// of memory that was not written. Set it before the first Alloc.
	Poison bool

	owner string
	mu    sync.Mutex
	usage Usage
	live  map[*Block]struct{}
}

// Block is a piece of an arena.
type Block struct {
	arena  *Arena
	name   string
	cost   int64  // what it takes of the capacity: size rounded up to Alignment
	bytes  []byte // size bytes
	mapped []byte // what goes back to the system, nil for a block of the Go heap
}

// NewArena returns an empty arena. owner names it in errors. capacity is in bytes; 0 = no limit.
func NewArena(owner string, capacity int64) *Arena {
	if capacity <= 0 {
		capacity = math.MaxInt64
	}
	return &Arena{owner: owner, usage: Usage{Capacity: capacity}, live: map[*Block]struct{}{}}
}

// Alloc returns a block of size bytes that begins at a multiple of Alignment. It is zeroed, unless Poison is set. name
// says what it is for, in errors and lists. Fails with *OutOfMemory. size must not be negative.
func (a *Arena) Alloc(size int64, name string) (*Block, error) {
	if size < 0 {
		panic(fmt.Sprintf("hostmem: allocate %q: negative size %d", name, size))
	}
	b := &Block{arena: a, name: name}
	a.mu.Lock()
	left := a.usage.Capacity - a.usage.Used
	oom := &OutOfMemory{Owner: a.owner, Name: name, Need: size, Left: left, Capacity: a.usage.Capacity}
	if size > left || size > maxBlock {
		a.mu.Unlock()
		return nil, oom
	}
	b.cost = min(left, (size+Alignment-1)/Alignment*Alignment)
	a.usage.Used += b.cost
	a.mu.Unlock()

	err := b.take(int(size))
	a.mu.Lock()
	defer a.mu.Unlock()
	if err != nil {
		a.usage.Used -= b.cost
		return nil, oom
	}
	a.usage.HighWater = max(a.usage.HighWater, a.usage.Used)
	a.live[b] = struct{}{}
	return b, nil
}

// take gets n bytes from the system or the heap.
func (b *Block) take(n int) error {
	if n < MapFrom {
		b.bytes = aligned(n)
	} else {
		mem, err := mapAnonymous(n)
		if err != nil {
			return err
		}
		b.mapped, b.bytes = mem, mem[:n:n]
	}
	if b.arena.Poison {
		poison(b.bytes)
	}
	return nil
}

// poison fills b with 0xFF: a little byte by byte, the rest in copies, which move many at once.
func poison(b []byte) {
	done := min(len(b), Alignment)
	for i := range b[:done] {
		b[i] = 0xff
	}
	for done < len(b) {
		done += copy(b[done:], b[:min(done, 4<<10)])
	}
}

// aligned returns n zero bytes of the Go heap that begin at a multiple of Alignment.
func aligned(n int) []byte {
	raw := make([]byte, n+Alignment-1)
	skip := int(-uintptr(unsafe.Pointer(unsafe.SliceData(raw))) % Alignment)
	return raw[skip : skip+n : skip+n]
}

// Bytes returns the block's memory; nil after Free.
func (b *Block) Bytes() []byte { return b.bytes }

// Streamed announces that the block will be read in order. Call it before the first write. The block then gets no huge pages. Huge
// pages save address translation for reads at random places, but where memory is fragmented the kernel has to assemble them
// first: that took up to 2 s per GiB, small pages take 0.3 s.
func (b *Block) Streamed() {
	if b.mapped != nil && !b.arena.Poison {
		smallPages(b.mapped)
	}
}

// Name returns what the block is for.
func (b *Block) Name() string { return b.name }

// Free returns the block to its arena. Freeing twice, or after the arena was closed, panics.
func (b *Block) Free() {
	a := b.arena
	a.mu.Lock()
	defer a.mu.Unlock()
	if _, ok := a.live[b]; !ok {
		panic(fmt.Sprintf("hostmem: block %q of %s is freed twice", b.name, a.owner))
	}
	delete(a.live, b)
	a.usage.Used -= b.cost
	b.drop()
}

// drop gives the memory back.
func (b *Block) drop() {
	if b.mapped != nil {
		unmap(b.mapped)
	}
	b.bytes, b.mapped = nil, nil
}

// Usage returns the current amounts.
func (a *Arena) Usage() Usage {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.usage
}

// Live returns name and size in bytes of the blocks in use, the largest first, equal ones by name.
func (a *Arena) Live() []LiveBlock {
	a.mu.Lock()
	defer a.mu.Unlock()
	out := make([]LiveBlock, 0, len(a.live))
	for b := range a.live {
		out = append(out, LiveBlock{b.name, int64(len(b.bytes))})
	}
	slices.SortFunc(out, func(x, y LiveBlock) int {
		return cmp.Or(cmp.Compare(y.Bytes, x.Bytes), cmp.Compare(x.Name, y.Name))
	})
	return out
}

// LiveBlock is one line of Live.
type LiveBlock struct {
	Name  string
	Bytes int64
}

// Close frees every block. The arena stays usable, empty, with its high-water mark.
func (a *Arena) Close() {
	a.mu.Lock()
	defer a.mu.Unlock()
	for b := range a.live {
		b.drop()
	}
	clear(a.live)
	a.usage.Used = 0
}
