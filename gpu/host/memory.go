package host

import (
	"errors"
	"fmt"

	"capgnn/gpu"
	"capgnn/hostmem"
)

// memory is a device's memory: an arena, and the way to it.
type memory struct {
	device string
	arena  *hostmem.Arena
	link   *link
}

// block is a piece of a device's memory; it implements gpu.Buffer.
type block struct {
	owner *memory
	name  string
	mem   []byte // the usable bytes, 64-byte aligned; nil after Free
	block *hostmem.Block
}

func (m *memory) init(device string, budget gpu.Bytes, poison bool, l *link) {
	m.device, m.link = device, l
	m.arena = hostmem.NewArena(device, int64(budget))
	m.arena.Poison = poison
}

func (m *memory) state() gpu.Memory {
	u := m.arena.Usage()
	return gpu.Memory{Used: gpu.Bytes(u.Used), HighWater: gpu.Bytes(u.HighWater), Budget: gpu.Bytes(u.Capacity)}
}

// alloc takes n bytes out of the budget.
func (m *memory) alloc(n gpu.Bytes, name string) (*block, error) {
	b, err := m.arena.Alloc(int64(n), name)
	var oom *hostmem.OutOfMemory
	if errors.As(err, &oom) {
		return nil, &gpu.OutOfMemory{Device: m.device, Name: name, Need: n, Have: gpu.Bytes(oom.Left)}
	}
	if err != nil {
		return nil, fmt.Errorf("%s: allocate %q: %w", m.device, name, err)
	}
	return &block{owner: m, name: name, mem: b.Bytes(), block: b}, nil
}

// Size is the usable size in bytes.
func (b *block) Size() gpu.Bytes { return gpu.Bytes(len(b.mem)) }

// Streamed implements gpu.Streamer.
func (b *block) Streamed() { b.block.Streamed() }

// Free returns the block to its device.
func (b *block) Free() {
	b.block.Free()
	b.mem = nil
}

// release frees every block that is left.
func (m *memory) release() { m.arena.Close() }
