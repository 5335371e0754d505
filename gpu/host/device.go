package host

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"math"
	"runtime"
	"sync"
	"sync/atomic"
	"time"

	"capgnn/gpu"
	"capgnn/gpu/host/kernel"
	"capgnn/gpu/host/workers"
)

// Spec describes a CPU device to open.
type Spec struct {
	Name    string        // as the user wrote it; "" = "cpu:0"
	Threads int           // compute threads; 0 = GOMAXPROCS (whoever opens several devices divides the cores)
	Memory  gpu.Bytes     // budget; 0 = what the host has free at Open
	Slow    float64       // ≥ 1: each operation takes Slow × its own time; 0 = 1
	Link    float64       // bytes per second of the link, per direction; 0 = as fast as memory
	Latency time.Duration // added to every copy; 0 = none
	Bus     *Bus          // what the link shares with those of other devices; nil = nothing
	Poison  bool          // fresh memory holds NaN (indices: -1) instead of anything: for tests
}

func (s Spec) validate() error {
	var errs []error
	bad := func(format string, args ...any) { errs = append(errs, fmt.Errorf(format, args...)) }
	if s.Threads < 0 || s.Threads > maxThreads {
		bad("threads=%d is outside 1..%d", s.Threads, maxThreads)
	}
	if s.Memory < 0 {
		bad("mem=%d is negative", s.Memory)
	}
	if s.Slow != 0 && !(s.Slow >= 1 && s.Slow <= 1e6) {
		bad("slow=%g is outside 1..1e6", s.Slow)
	}
	if s.Link != 0 && !(s.Link >= 1 && s.Link <= math.MaxFloat64) {
		bad("link=%g is not a bandwidth", s.Link)
	}
	if s.Latency < 0 {
		bad("latency=%v is negative", s.Latency)
	}
	if r := s.Bus.rate(); s.Bus != nil && !(r >= 1 && r <= math.MaxFloat64) {
		bad("bus=%g is not a bandwidth", r)
	}
	return errors.Join(errs...)
}

// maxThreads bounds Spec.Threads; more than any host has, few enough that a slip of the pen starts no million workers.
const maxThreads = 4096

// Device is a share of the host's cores with memory of its own. It implements gpu.Device.
type Device struct {
	info   gpu.Info
	spec   Spec
	memory memory
	link   link

	// compute is held by the queue whose operation is running: it guards everything below it.
	compute sync.Mutex
	pool    *workers.Pool
	scratch kernel.Scratch
	work    workspace
	debt    time.Duration // sleep that Slow still owes
	alarm   alarm         // for that

	tracer atomic.Pointer[tracer] // nil: nobody asks when operations run

	mu     sync.Mutex
	queues []*Queue
	closed bool
}

var (
	_ gpu.Device   = (*Device)(nil)
	_ gpu.Resident = (*Device)(nil)
	_ gpu.Traced   = (*Device)(nil)
)

// Open starts a CPU device. The error names what is wrong in spec.
func Open(spec Spec) (*Device, error) {
	if spec.Name == "" {
		spec.Name = "cpu:0"
	}
	if err := spec.validate(); err != nil {
		return nil, fmt.Errorf("open %s: %w", spec.Name, err)
	}
	if spec.Threads == 0 {
		spec.Threads = runtime.GOMAXPROCS(0)
	}
	if spec.Slow == 0 {
		spec.Slow = 1
	}
	total, free := hostMemory()
	budget := spec.Memory
	if budget == 0 {
		budget = free
	}
	model := cpuModel()
	d := &Device{
		spec: spec,
		info: gpu.Info{
			Name: spec.Name, Kind: gpu.CPU, Model: model, UUID: uuid(model, spec), Variant: kernel.ISA(),
			Threads: spec.Threads, Budget: budget, Total: total,
		},
		pool: workers.NewPool(spec.Threads),
	}
	d.link.set(&spec)
	d.memory.init(spec.Name, budget, spec.Poison, &d.link)
	return d, nil
}

// uuid is stable over restarts: a device that would measure differently has another one.
func uuid(model string, s Spec) string {
	text := fmt.Appendf(nil, "%s|%d|%g|%g|%d", model, s.Threads, s.Slow, s.Link, s.Latency)
	if s.Bus != nil {
		text = fmt.Appendf(text, "|%g", s.Bus.rate())
	}
	h := sha256.Sum256(text)
	return "cpu-" + hex.EncodeToString(h[:8])
}

// Slowdown returns Slow of its Spec.
func (d *Device) Slowdown() float64 { return d.spec.Slow }

// Info describes the device.
func (d *Device) Info() gpu.Info { return d.info }

// Alloc returns a block of n bytes, aligned to 64. It fails with *gpu.OutOfMemory.
func (d *Device) Alloc(n gpu.Bytes, name string) (gpu.Buffer, error) {
	b, err := d.memory.alloc(n, name)
	if err != nil {
		return nil, err
	}
	return b, nil
}

// Memory returns the current use; safe from any goroutine.
func (d *Device) Memory() gpu.Memory { return d.memory.state() }

// NewQueue returns an empty queue; it lives until the device is closed.
func (d *Device) NewQueue(name string) gpu.Queue { return d.newQueue(name, false) }

// NewResidentQueue implements gpu.Resident.
func (d *Device) NewResidentQueue(name string) gpu.ResidentQueue { return d.newQueue(name, true) }

// Linked implements gpu.Resident.
func (d *Device) Linked() bool { return d.spec.Link > 0 || d.spec.Latency > 0 || d.spec.Bus != nil }

func (d *Device) newQueue(name string, resident bool) *Queue {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.closed {
		panic(fmt.Sprintf("%s: new queue %s on a closed device", d.info.Name, name))
	}
	q := newQueue(d, name, len(d.queues), resident)
	d.queues = append(d.queues, q)
	return q
}

// Close waits for all queues, stops the threads and releases all memory. Closing twice does nothing.
func (d *Device) Close() error {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.closed {
		return nil
	}
	d.closed = true
	for _, q := range d.queues {
		close(q.tasks)
	}
	for _, q := range d.queues {
		<-q.done
	}
	d.alarm.close()
	d.pool.Stop()
	d.memory.release()
	d.queues, d.scratch, d.work = nil, kernel.Scratch{}, workspace{} // whoever still holds the device holds little
	return nil
}

// sleepGrain is the least debt worth a sleep; what alarms are late is a small part of it.
const sleepGrain = 200 * time.Microsecond

// slowDown makes an operation that took t last Slow × t. Debts below sleepGrain are carried over, as is oversleeping.
func (d *Device) slowDown(t time.Duration) {
	if d.spec.Slow <= 1 {
		return
	}
	d.debt += time.Duration(float64(t) * (d.spec.Slow - 1))
	if d.debt < sleepGrain {
		return
	}
	start := time.Now()
	d.alarm.sleep(d.debt)
	d.debt -= time.Since(start)
}
