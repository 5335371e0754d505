package faulty

import (
	"fmt"
	"hash/fnv"
	"math/rand/v2"
	"sync"

	"capgnn/gpu"
)

// Device is a device that goes wrong. It implements gpu.Device and gpu.Clocked.
type Device struct {
	inner  gpu.Device
	delays Delays
	resume event // fires at Release
	once   sync.Once
	pauses sync.WaitGroup

	mu                    sync.Mutex
	stall, broken, poison counted
	loss                  counted
	lost                  bool
	noMemory              counted
	queues                uint64
	poisoner              gpu.Queue // writes NaN; nil until it is wanted
}

var (
	_ gpu.Device  = (*Device)(nil)
	_ gpu.Clocked = (*Device)(nil)
)

// Wrap returns dev with these faults. Closing it closes dev.
func Wrap(dev gpu.Device, f Faults) *Device {
	return &Device{inner: dev, delays: f.Delays, resume: make(event), stall: counted{Point: f.Stall}, broken: counted{Point: f.Broken},
		loss: counted{Point: f.Lost}, poison: counted{Point: f.Poison}, noMemory: counted{Point: Point{At: f.NoMemoryAt}}}
}

// Release lets everything go on that is stalled, and nothing stall from now on.
func (d *Device) Release() { d.once.Do(func() { close(d.resume) }) }

// Info implements gpu.Device.
func (d *Device) Info() gpu.Info { return d.inner.Info() }

// Memory implements gpu.Device.
func (d *Device) Memory() gpu.Memory { return d.inner.Memory() }

// Clock implements gpu.Clocked; nil if the wrapped device has no clock.
func (d *Device) Clock() gpu.Clock {
	if c, ok := d.inner.(gpu.Clocked); ok {
		return c.Clock()
	}
	return nil
}

// DropsContent reports whether the wrapped device forgets what is uploaded.
func (d *Device) DropsContent() bool {
	i, ok := d.inner.(interface{ DropsContent() bool })
	return ok && i.DropsContent()
}

// Alloc implements gpu.Device.
func (d *Device) Alloc(n gpu.Bytes, name string) (gpu.Buffer, error) {
	d.mu.Lock()
	lost, full := d.lost, d.noMemory.reached("", "")
	d.mu.Unlock()
	switch {
	case lost:
		return nil, fmt.Errorf("%s: allocate %q: %w", d.Info().Name, name, gpu.ErrDeviceLost)
	case full:
		return nil, &gpu.OutOfMemory{Device: d.Info().Name, Name: name, Need: n}
	}
	return d.inner.Alloc(n, name)
}

// NewQueue implements gpu.Device. The queue is a gpu.PeerCopier if that of the wrapped device is.
func (d *Device) NewQueue(name string) gpu.Queue {
	d.mu.Lock()
	d.queues++
	stream := d.queues
	d.mu.Unlock()
	h := fnv.New64a()
	fmt.Fprintf(h, "%s %s %d", d.Info().Name, name, stream)
	q := &queue{dev: d, name: name, inner: d.inner.NewQueue(name), rng: rand.New(rand.NewPCG(d.delays.Seed, h.Sum64()))}
	if p, ok := q.inner.(gpu.PeerCopier); ok {
		return &peerQueue{q, p}
	}
	return q
}

// Close releases what is stalled, and closes the wrapped device.
func (d *Device) Close() error {
	d.Release()
	err := d.inner.Close()
	d.pauses.Wait()
	return err
}

// fate is what is to become of an operation.
type fate struct {
	lost, broken, stalls, poisoned bool
}

// meet counts an operation and says what is to become of it.
func (d *Device) meet(queue, op string) fate {
	d.mu.Lock()
	defer d.mu.Unlock()
	f := fate{stalls: d.stall.reached(queue, op), broken: d.broken.reached(queue, op), poisoned: d.poison.reached(queue, op)}
	d.lost = d.loss.reached(queue, op) || d.lost
	f.lost = d.lost
	return f
}

// ruin writes NaN over matrices when q has done everything so far, and lets q wait for it. It has a queue of its own, so
// that nobody's usage counts it.
func (d *Device) ruin(q gpu.Queue, out []gpu.Matrix) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.poisoner == nil {
		d.poisoner = d.inner.NewQueue("poison")
	}
	d.poisoner.Wait(q.Record())
	for _, m := range out {
		if m.Empty() {
			continue
		}
		if m.LD == m.Cols { // one row
			m.Rows, m.Cols = 1, m.Rows*m.Cols
		}
		size := m.Type.Size()
		for i := range m.Rows {
			d.poisoner.Upload(m.Buf, gpu.Bytes(size*(m.Off+i*m.LD)), nans(size*m.Cols))
		}
	}
	q.Wait(d.poisoner.Record())
}

// nans returns n bytes that are NaN as any type of float.
func nans(n int) []byte {
	b := make([]byte, n)
	for i := range b {
		b[i] = 0xFF
	}
	return b
}
