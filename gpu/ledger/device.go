package ledger

import (
	"fmt"
	"math"
	"sync"

	"capgnn/gpu"
)

// Alignment is what a block's size is rounded up to, in bytes, as devices do.
const Alignment = 64

// Entry is one block that was asked for.
type Entry struct {
	Name  string
	Size  gpu.Bytes // rounded up to Alignment
	Freed bool
}

// Device counts what it is asked for. It is safe for use by several goroutines.
type Device struct {
	info    gpu.Info
	real    gpu.Device     // that the ledger stands for, nil: none
	peers   gpu.PeerCopier // knows what real reaches, nil: nothing
	mu      sync.Mutex
	memory  gpu.Memory
	entries []Entry
}

var _ gpu.Device = (*Device)(nil)

// New returns an empty ledger that answers as the device info describes. Info.Budget is what may be allocated; 0 = no limit.
func New(info gpu.Info) *Device {
	d := &Device{info: info, memory: gpu.Memory{Budget: info.Budget}}
	if info.Budget == 0 {
		d.memory.Budget = math.MaxInt64
	}
	return d
}

// InPlaceOf returns an empty ledger that answers as an open device does, and reaches the ledgers of devices that it reaches.
// budget is what may be allocated; 0 = no limit.
func InPlaceOf(real gpu.Device, budget gpu.Bytes) *Device {
	info := real.Info()
	info.Budget = budget
	d := New(info)
	d.real = real
	d.peers, _ = real.NewQueue("ledger").(gpu.PeerCopier)
	return d
}

// Info implements gpu.Device.
func (d *Device) Info() gpu.Info { return d.info }

// Memory implements gpu.Device.
func (d *Device) Memory() gpu.Memory {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.memory
}

// Entries returns the blocks in the order in which they were asked for.
func (d *Device) Entries() []Entry {
	d.mu.Lock()
	defer d.mu.Unlock()
	return append([]Entry(nil), d.entries...)
}

// Alloc implements gpu.Device.
func (d *Device) Alloc(n gpu.Bytes, name string) (gpu.Buffer, error) {
	if n < 0 {
		panic(fmt.Sprintf("ledger: allocate %q: negative size %d", name, n))
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	m := &d.memory
	if left := m.Budget - m.Used; n > left || n > math.MaxInt64-Alignment {
		return nil, &gpu.OutOfMemory{Device: d.info.Name, Name: name, Need: n, Have: left}
	}
	cost := min(m.Budget-m.Used, (n+Alignment-1)/Alignment*Alignment)
	m.Used += cost
	m.HighWater = max(m.HighWater, m.Used)
	d.entries = append(d.entries, Entry{Name: name, Size: cost})
	return &block{dev: d, entry: len(d.entries) - 1, size: n}, nil
}

// NewQueue implements gpu.Device.
func (d *Device) NewQueue(name string) gpu.Queue { return &queue{dev: d, name: name} }

// Close implements gpu.Device.
func (d *Device) Close() error { return nil }

// AccountsOnly marks a device that drops what is uploaded, for those who would gather it first.
func (d *Device) AccountsOnly() {}

// block implements gpu.Buffer.
type block struct {
	dev   *Device
	entry int
	size  gpu.Bytes
}

func (b *block) Size() gpu.Bytes { return b.size }

func (b *block) Free() {
	d := b.dev
	d.mu.Lock()
	defer d.mu.Unlock()
	e := &d.entries[b.entry]
	if e.Freed {
		panic(fmt.Sprintf("ledger: block %q of %s is freed twice", e.Name, d.info.Name))
	}
	e.Freed = true
	d.memory.Used -= e.Size
}
