package host

import (
	"fmt"
	"sync"
	"sync/atomic"
	"unsafe"

	"capgnn/gpu"
)

const (
	// blockAlign is the alignment of every block: a cache line, and the width of an AVX-512 register.
	blockAlign = 64
	// mapFrom is the size from which a block is mapped from the system instead of taken from the Go heap: such a block
	// returns to the system when it is freed and costs the collector nothing.
	mapFrom = 64 << 10
)

// memory is a device's allocation state.
type memory struct {
	device string
	poison bool
	link   *link // the way to this memory

	mu   sync.Mutex
	now  gpu.Memory
	live map[*block]struct{}
}

// block is a piece of a device's memory; it implements gpu.Buffer.
type block struct {
	owner  *memory
	name   string
	mem    []byte // the usable bytes, 64-byte aligned
	mapped []byte // what goes back to the system, nil for a block of the Go heap
	cost   gpu.Bytes
	freed  atomic.Bool
}

func (m *memory) init(device string, budget gpu.Bytes, poison bool, l *link) {
	m.device, m.poison, m.link = device, poison, l
	m.now.Budget = budget
	m.live = make(map[*block]struct{})
}

func (m *memory) state() gpu.Memory {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.now
}

// alloc takes n bytes, rounded up to blockAlign, out of the budget.
func (m *memory) alloc(n gpu.Bytes, name string) (*block, error) {
	if n < 0 {
		panic(fmt.Sprintf("%s: allocate %q: %d bytes", m.device, name, n))
	}
	m.mu.Lock()
	have := m.now.Budget - m.now.Used
	if n > have || (n+blockAlign-1)&^(blockAlign-1) > have {
		m.mu.Unlock()
		return nil, &gpu.OutOfMemory{Device: m.device, Name: name, Need: n, Have: have}
	}
	b := &block{owner: m, name: name, cost: (n + blockAlign - 1) &^ (blockAlign - 1)}
	m.now.Used += b.cost
	m.mu.Unlock()

	if err := b.take(int(n)); err != nil {
		m.mu.Lock()
		m.now.Used -= b.cost
		m.mu.Unlock()
		return nil, &gpu.OutOfMemory{Device: m.device, Name: name, Need: n, Have: have}
	}
	if m.poison {
		for i := range b.mem {
			b.mem[i] = 0xFF // NaN as float32, float64 and bf16; -1 as an index
		}
	}
	m.mu.Lock()
	m.live[b] = struct{}{}
	m.now.HighWater = max(m.now.HighWater, m.now.Used)
	m.mu.Unlock()
	return b, nil
}

// take gets the block's n bytes from the system or the heap.
func (b *block) take(n int) error {
	if n >= mapFrom {
		mem, err := mapAnonymous(n)
		if err != nil {
			return err
		}
		b.mapped, b.mem = mem, mem[:n:n]
		return nil
	}
	raw := make([]byte, n+blockAlign-1)
	shift := 0
	if len(raw) > 0 {
		shift = int(-uintptr(unsafe.Pointer(unsafe.SliceData(raw))) % blockAlign)
	}
	b.mem = raw[shift : shift+n : shift+n]
	return nil
}

// Size is the usable size in bytes.
func (b *block) Size() gpu.Bytes { return gpu.Bytes(len(b.mem)) }

// Free returns the block to its device.
func (b *block) Free() {
	if b.freed.Swap(true) {
		panic(fmt.Sprintf("%s: block %q freed twice, or after its device was closed", b.owner.device, b.name))
	}
	m := b.owner
	m.mu.Lock()
	delete(m.live, b)
	m.now.Used -= b.cost
	m.mu.Unlock()
	b.drop()
}

func (b *block) drop() {
	if b.mapped != nil {
		unmap(b.mapped)
	}
	b.mem, b.mapped = nil, nil
}

// release frees every block that is left.
func (m *memory) release() {
	m.mu.Lock()
	defer m.mu.Unlock()
	for b := range m.live {
		b.freed.Store(true)
		b.drop()
	}
	clear(m.live)
	m.now.Used = 0
}
