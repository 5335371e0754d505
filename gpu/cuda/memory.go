//go:build cuda

package cuda

import (
	"fmt"
	"math"
	"sync"

	"gorgonia.org/cu"

	"capgnn/gpu"
)

const (
	// grain is what block sizes are rounded up to, in bytes: the driver's allocator works in multiples of it.
	grain = 512
	// The budget leaves 1/reserveShare of the free memory, at most mostReserve bytes, to the driver, to cuBLAS and to scratch.
	reserveShare = 32
	mostReserve  = gpu.Bytes(1) << 30
)

// account is what a device's blocks take.
type account struct {
	mu      sync.Mutex
	state   gpu.Memory
	scratch gpu.Bytes // beside the budget, until the device is closed
}

// take books cost bytes, or says what is left.
func (a *account) take(cost gpu.Bytes) (left gpu.Bytes, ok bool) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if left := a.state.Budget - a.state.Used; cost > left {
		return left, false
	}
	a.state.Used += cost
	a.state.HighWater = max(a.state.HighWater, a.state.Used+a.scratch)
	return 0, true
}

// addScratch counts bytes of scratch.
func (a *account) addScratch(n gpu.Bytes) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.scratch += n
	a.state.HighWater = max(a.state.HighWater, a.state.Used+a.scratch)
}

func (a *account) giveBack(cost gpu.Bytes) {
	a.mu.Lock()
	a.state.Used -= cost
	a.mu.Unlock()
}

// Memory returns the current use; safe from any goroutine.
func (d *device) Memory() gpu.Memory {
	d.memory.mu.Lock()
	defer d.memory.mu.Unlock()
	return d.memory.state
}

// buffer is a block of a device's memory; it implements gpu.Buffer.
type buffer struct {
	dev   *device
	name  string
	size  gpu.Bytes
	cost  gpu.Bytes // 0: not out of the budget
	ptr   cu.DevicePtr
	freed bool // guarded by dev.memory.mu
}

// Alloc returns a block of n bytes, aligned to 256. It fails with *gpu.OutOfMemory.
func (d *device) Alloc(n gpu.Bytes, name string) (gpu.Buffer, error) {
	if n < 0 {
		panic(fmt.Sprintf("%s: allocate %q: negative size %d", d.info.Name, name, n))
	}
	cost := gpu.Bytes(math.MaxInt64)
	if n <= math.MaxInt64-grain {
		cost = (n + grain - 1) / grain * grain
	}
	if left, ok := d.memory.take(cost); !ok {
		return nil, &gpu.OutOfMemory{Device: d.info.Name, Name: name, Need: n, Have: left}
	}
	b, err := d.block(n, name)
	if err != nil {
		d.memory.giveBack(cost)
		return nil, err
	}
	b.cost = cost
	return b, nil
}

// block takes n bytes from the driver. The driver may have less than the budget says: other processes take memory too.
func (d *device) block(n gpu.Bytes, name string) (*buffer, error) {
	b := &buffer{dev: d, name: name, size: n}
	if n == 0 {
		return b, nil
	}
	var err error
	var free int64
	d.do(func() {
		if b.ptr, err = cu.MemAlloc(int64(n)); err != nil {
			err = named("cuMemAlloc", err)
			free, _, _ = cu.MemInfo()
			return
		}
		d.blocks[b] = struct{}{}
	})
	switch {
	case coded(err, codeOutOfMemory):
		return nil, &gpu.OutOfMemory{Device: d.info.Name, Name: name, Need: n, Have: gpu.Bytes(free)}
	case err != nil:
		d.primary.note(err)
		return nil, fmt.Errorf("%s: allocate %q: %w", d.info.Name, name, err)
	}
	return b, nil
}

// Size is the usable size in bytes.
func (b *buffer) Size() gpu.Bytes { return b.size }

// Free returns the block to its device.
func (b *buffer) Free() {
	d := b.dev
	d.memory.mu.Lock()
	if b.freed {
		d.memory.mu.Unlock()
		panic(fmt.Sprintf("%s: block %q is freed twice", d.info.Name, b.name))
	}
	b.freed = true
	d.memory.state.Used -= b.cost
	d.memory.mu.Unlock()
	if b.size == 0 {
		return
	}
	d.do(func() {
		if _, ours := d.blocks[b]; ours {
			delete(d.blocks, b)
			cu.MemFree(b.ptr) // an error is that of earlier work, and shows at the queue's Sync
		}
	})
}

// isFreed reports whether Free was called.
func (b *buffer) isFreed() bool {
	b.dev.memory.mu.Lock()
	defer b.dev.memory.mu.Unlock()
	return b.freed
}

// scratch returns at least n bytes that belong to the queue, in any state, for the partial results of one operation. The
// next call may return the same bytes: operations of a queue run one after another. What is too small is kept until the
// device is closed, because the queue may still be using it; sizes at least double, so that is as much again.
func (d *device) scratch(q *queue, n gpu.Bytes) gpu.Buffer {
	if q.scratch != nil && q.scratch.size >= n {
		return q.scratch
	}
	size := max(n, 64<<10)
	if q.scratch != nil {
		size = max(size, 2*q.scratch.size)
	}
	b, err := d.block(size, "scratch of queue "+q.name)
	if err != nil {
		q.fail(q.op, err)
		return &buffer{dev: d, name: "no scratch", size: n}
	}
	d.memory.addScratch(size)
	q.scratch = b
	return b
}
