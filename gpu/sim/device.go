package sim

import (
	"errors"
	"fmt"
	"maps"
	"sync"
	"time"

	"capgnn/gpu"
	"capgnn/gpu/host"
	"capgnn/gpu/ledger"
)

// Config describes a device to simulate.
type Config struct {
	Name  string // as the user wrote it: "sim:rtx3090"
	Model string // "" = Name; devices of one model count as equal
	UUID  string // "" = made of Model
	// Clock is the time that it shares with other devices.
	Clock *Clock
	// Rates is how fast it is, unless Table says so.
	Rates Rates
	// Table is what a device's operations were measured to take; nil: Rates counts.
	Table *Table
	// Memory is the budget; 0 = no limit (with Arithmetic: what the host has free).
	Memory gpu.Bytes
	// RowAlign is that of the device that it stands for (gpu.Info).
	RowAlign gpu.Bytes
	// Arithmetic makes operations compute, on the CPU: results are those of a CPU device, bit for bit. Without it nothing
	// is computed or stored: only memory and time are accounted for.
	Arithmetic bool
	// Threads is the number of those that compute: of the arithmetic, 0 = GOMAXPROCS, and of a device of Host, 0 = 1.
	Threads int
	// Slow is how many times what its threads compute an operation of a device of Host takes, as Table or Rates say it: the rest of the time it sleeps.
	// 0 = 1.
	Slow float64
	// Peer says that the device reads the memory of other devices of its clock; otherwise copies go through the host.
	Peer bool
	// Host is what it shares caches and memory with other devices on; nil = nothing. See Table.Beside.
	Host *Host
	// Link is the bytes per second of each direction of the link, whatever Rates or Table say; 0 = these say it. Latency is left to them.
	Link float64
	// Bus is what its link shares with others; nil = nothing.
	Bus *Bus
	// Linked says that the link lies between the device with a host of its own and other devices, as an emulated one of package host does: not between it
	// and its host.
	Linked bool
	Faults Faults
}

func (c *Config) validate() error {
	errs := []error{c.Faults.validate()}
	if c.Table == nil {
		errs = append(errs, c.Rates.validate())
	}
	if c.Clock == nil {
		errs = append(errs, errors.New("no clock"))
	}
	if c.Memory < 0 {
		errs = append(errs, fmt.Errorf("memory of %d bytes is negative", c.Memory))
	}
	if c.Slow != 0 && !(c.Slow >= 1) {
		errs = append(errs, fmt.Errorf("slow of %g is not a factor", c.Slow))
	}
	if !(c.Link >= 0) {
		errs = append(errs, fmt.Errorf("link of %g bytes/s is not a rate", c.Link))
	}
	if c.Bus != nil && !(c.Bus.BytesPerSec > 0) {
		errs = append(errs, fmt.Errorf("bus %s: %g bytes/s is not a rate", c.Bus.Name, c.Bus.BytesPerSec))
	}
	return errors.Join(errs...)
}

// costs says what work takes, in seconds.
type costs interface {
	seconds(p *part) float64
	// crowded returns how much longer it takes while all others compute that have processors at the same time.
	crowded(p *part) float64
	// launch is what an operation takes beside its parts, hop what it takes to go on after a wait.
	launch() float64
	hop() float64
	// emulated reports whether copies take the time of an emulated link.
	emulated() bool
	// transfer returns for how long a copy holds its engines, and what passes after that until it has arrived.
	transfer(way route, n gpu.Bytes) (held, latency float64)
	// near returns what a copy between the device and a host of its own takes.
	near(n gpu.Bytes) float64
	// copying returns the seconds of a processor that a copy takes where a goroutine of the host makes it.
	copying(n gpu.Bytes) float64
	// goroutine is the seconds of a processor that a queue's goroutine takes to wait for an event of another queue, and to sleep until a copy over an emulated
	// link is due.
	goroutine() (waits, sleeps float64)
}

// linked is costs of a device with another link.
type linked struct {
	costs
	rate float64 // bytes per second and direction
}

func (l linked) emulated() bool { return true }

func (l linked) transfer(way route, n gpu.Bytes) (held, latency float64) {
	_, latency = l.costs.transfer(way, n)
	return float64(n) / l.rate, latency
}

// Device is a simulated device. It implements gpu.Device, gpu.Clocked and gpu.Resident.
type Device struct {
	info    gpu.Info
	inner   gpu.Device
	clock   *Clock
	costs   costs
	counts  bool // there is no arithmetic: bytes are counted here
	peer    bool
	linked  bool
	bus     *Bus
	host    *Host
	threads int
	active  float64 // threads that compute, over the time that an operation takes
	faults  Faults

	// Engines: computations, each direction of the link, and of the way to a host of its own.
	computes, to, from, in, out engine

	queues []*Queue       // guarded by clock.mu
	tracer func(gpu.Span) // told what its queues did, with clock.mu held; nil: nobody asks

	mu                      sync.Mutex
	allocations, operations int
	samples                 map[gpu.Buffer]*sample // of what was uploaded; nil: costs do not depend on it
}

var (
	_ gpu.Device   = (*Device)(nil)
	_ gpu.Clocked  = (*Device)(nil)
	_ gpu.Resident = (*Device)(nil)
	_ gpu.Traced   = (*Device)(nil)
)

// Open returns a simulated device. The error names what is wrong in c.
func Open(c Config) (*Device, error) {
	if err := c.validate(); err != nil {
		return nil, fmt.Errorf("open %s: %w", c.Name, err)
	}
	if c.Model == "" {
		c.Model = c.Name
	}
	if c.UUID == "" {
		c.UUID = "sim-" + c.Model
	}
	d := &Device{clock: c.Clock, counts: !c.Arithmetic, peer: c.Peer, linked: c.Linked, bus: c.Bus, host: c.Host, threads: max(1, c.Threads), faults: c.Faults}
	d.active = float64(d.threads) / max(1, c.Slow)
	d.costs = &c.Rates
	if c.Table != nil {
		d.costs, d.samples = c.Table, map[gpu.Buffer]*sample{}
	}
	if c.Link > 0 {
		d.costs = linked{d.costs, c.Link}
	}
	d.info = gpu.Info{Name: c.Name, Kind: gpu.Sim, Model: c.Model, UUID: c.UUID, Variant: "simulated", Budget: c.Memory, Total: c.Memory,
		RowAlign: c.RowAlign}
	if c.Arithmetic {
		inner, err := host.Open(host.Spec{Name: c.Name, Threads: c.Threads, Memory: c.Memory})
		if err != nil {
			return nil, err
		}
		d.inner, d.info.Variant = inner, inner.Info().Variant
		d.info.Budget = inner.Info().Budget
	} else {
		d.inner = ledger.New(d.info)
	}
	c.Clock.mu.Lock()
	defer c.Clock.mu.Unlock()
	c.Clock.devices = append(c.Clock.devices, d)
	if c.Host != nil {
		c.Host.devices = append(c.Host.devices, d)
	}
	return d, nil
}

// Info describes the device.
func (d *Device) Info() gpu.Info { return d.info }

// Clock implements gpu.Clocked.
func (d *Device) Clock() gpu.Clock { return d.clock }

// Trace implements gpu.Traced, in the time of the device's clock.
func (d *Device) Trace(_ time.Time, f func(gpu.Span)) {
	d.clock.mu.Lock()
	defer d.clock.mu.Unlock()
	d.clock.settle()
	d.tracer = f
}

// DropsContent reports whether the device forgets what is uploaded and leaves alone what is downloaded to.
func (d *Device) DropsContent() bool { return d.counts }

// Alloc implements gpu.Device.
func (d *Device) Alloc(n gpu.Bytes, name string) (gpu.Buffer, error) {
	if err := d.deny(n, name); err != nil {
		return nil, err
	}
	b, err := d.inner.Alloc(n, name)
	if err == nil {
		d.clock.mu.Lock()
		d.clock.owners[b] = d
		d.clock.mu.Unlock()
	}
	return b, err
}

// Memory returns the current use; safe from any goroutine.
func (d *Device) Memory() gpu.Memory { return d.inner.Memory() }

// NewQueue implements gpu.Device.
func (d *Device) NewQueue(name string) gpu.Queue { return d.newQueue(name, d.inner.NewQueue(name)) }

func (d *Device) newQueue(name string, inner gpu.Queue) *Queue {
	q := &Queue{dev: d, name: name, inner: inner}
	d.clock.mu.Lock()
	defer d.clock.mu.Unlock()
	q.lane = len(d.queues)
	d.queues = append(d.queues, q)
	return q
}

// Close lets everything take place, waits for all queues and releases everything. The clock goes on without the device.
func (d *Device) Close() error {
	d.clock.mu.Lock()
	d.clock.settle()
	for i, other := range d.clock.devices {
		if other == d {
			d.clock.devices = append(d.clock.devices[:i:i], d.clock.devices[i+1:]...)
			break
		}
	}
	maps.DeleteFunc(d.clock.owners, func(_ gpu.Buffer, owner *Device) bool { return owner == d })
	d.clock.mu.Unlock()
	return d.inner.Close()
}
