package profiler

import (
	"cmp"
	"context"
	"fmt"
	"math"
	"os"
	"runtime"
	"slices"
	"time"

	"capgnn/gpu"
	"capgnn/hostmem"
)

// Options says how to measure. The zero value is the measurement of the paper (§3.4).
type Options struct {
	Quick bool // small matrices and few runs
	// Budget is the time for each device: measurements end early when they are precise enough, optional ones are left
	// out when it is used up, and devices of one kind are measured once. 0 = everything is measured, on every device.
	Budget  time.Duration
	Runs    int // timed runs of every operation; 0 = 50, quick 5
	Warmups int // runs before them; 0 = 5, quick 1
	// Sizes are the candidates for n, descending; nil = 16384, 11585, 8192, 4096, 2048, 1024, 512; quick 4096 … 256.
	Sizes []int
	// MMLimit is the longest that a dense product, or the copy of one operand, may take on any device; 0 = 2 s, quick 0.1 s.
	MMLimit time.Duration
	// Pinned returns page-locked host memory and its release; nil = none. Only GPUs use it.
	Pinned func(gpu.Bytes) ([]byte, func(), error)
	Driver string // GPU driver's version, stored
	// Calibrate also measures the operations of training at many sizes, on one device and on all at once. Forecasts of
	// epochs need them (package gpu/sim).
	Calibrate bool
	// Processors is how many threads of CPU devices compute at the same time; 0 = GOMAXPROCS.
	Processors int
	// Notes save measurements as they are made, and contain earlier ones of these devices with these options; nil =
	// none.
	Notes *Notes
	// Progress is called from the goroutine of Measure with the share of the time that has passed, which never falls;
	// may be nil.
	Progress func(stage string, done float64)
	// Load returns two times of the machine's processors until now, in any unit: used by other programs, and in all.
	// May be nil.
	Load func() (others, all float64)
	Now  func() time.Time // nil = time.Now; devices on a virtual clock bring theirs
}

func (o Options) resolve() Options {
	pick := func(x *int, full, quick int) {
		if *x <= 0 {
			*x = full
			if o.Quick {
				*x = quick
			}
		}
	}
	pick(&o.Runs, 50, 5)
	pick(&o.Warmups, 5, 1)
	switch {
	case len(o.Sizes) > 0:
	case o.Quick:
		o.Sizes = []int{4096, 2048, 1024, 512, 256}
	default:
		o.Sizes = []int{16384, 11585, 8192, 4096, 2048, 1024, 512}
	}
	if o.MMLimit <= 0 {
		o.MMLimit = 2 * time.Second
		if o.Quick {
			o.MMLimit = 100 * time.Millisecond
		}
	}
	if o.Processors <= 0 {
		o.Processors = runtime.GOMAXPROCS(0)
	}
	if o.Progress == nil {
		o.Progress = func(string, float64) {}
	}
	if o.Load == nil {
		o.Load = func() (float64, float64) { return 0, 0 }
	}
	if o.Now == nil {
		o.Now = time.Now
	}
	return o
}

// Least is the memory that a device has free at least, so that nothing is left out which a profile cannot do without.
func (o Options) Least() gpu.Bytes {
	o = o.resolve()
	least := operandBytes(slices.Min(o.Sizes))
	if o.Calibrate {
		for _, k := range calibrationCases(basic) {
			least = max(least, k.bytes())
		}
	}
	return 2 * least // half of what is free is used
}

// Measure profiles devices, one after another, and every ordered pair of them. Devices stay open; their memory is as it
// was before. Errors name the device.
func Measure(ctx context.Context, devices []gpu.Device, opt Options) (p *Profile, err error) {
	if len(devices) < 1 || len(devices) > maxDevices {
		return nil, fmt.Errorf("profile: %d devices are not in [1, %d]", len(devices), maxDevices)
	}
	m := newMeter(devices, opt.resolve())
	defer func() { err = cmp.Or(err, m.release()) }()
	host, err := os.Hostname()
	if err != nil {
		host = "unknown"
	}
	p = &Profile{Version: Version, Host: host, Driver: opt.Driver, Time: m.Now().UTC(), Quick: opt.Quick}
	for _, dev := range devices {
		p.Devices = append(p.Devices, describe(dev))
	}
	if p.N, err = m.chooseSize(ctx); err != nil {
		return nil, fmt.Errorf("profile: %w", err)
	}
	p.Entries = entries(p.N)
	before, of := m.Load()
	operations := m.operationTasks()
	if err := m.run(ctx, slices.Concat(m.tableTasks(p.N), m.pairTasks(p.N), operations)); err != nil {
		return nil, err
	}
	if err := m.again(ctx, operations); err != nil {
		return nil, err
	}
	if busy, all := m.Load(); all > of {
		share := min(1, max(0, busy-before)/(all-of))
		p.Load = &share
	}
	m.fill(p)
	if err := p.validate(); err != nil {
		return nil, fmt.Errorf("profile: %s", oneLine(err))
	}
	return p, nil
}

// fill puts what was measured into the profile.
func (m *meter) fill(p *Profile) {
	for i := range p.Devices {
		m.fillTable(&p.Devices[i], i, p.N)
		if m.Calibrate {
			m.fillOperations(&p.Devices[i], i)
		}
	}
	m.fillPairs(p)
}

// probeSlack is how far above the limit a size may be predicted and still be tried: small products run below a device's
// rate (a GPU's by more than this, but then far below the limit).
const probeSlack = 4

// chooseSize returns the largest candidate whose operands fit in half the free memory of every device (and one of them in
// half of the host's) and whose dense product, and whose copy to the device, takes less than MMLimit on every device; the
// smallest that fits if none is that fast. It climbs from small sizes, so that a slow device is not tied up by a large one.
func (m *meter) chooseSize(ctx context.Context) (int, error) {
	hostFree, _, hostErr := hostmem.Free()
	fits := func(n int) error {
		for _, dev := range m.devices {
			mem := dev.Memory()
			if need, free := operandBytes(n), mem.Budget-mem.Used; need > free/2 {
				return fmt.Errorf("%s: matrices of n = %d need %d bytes, more than half of the %d that are free: give it more memory",
					dev.Info().Name, n, need, free)
			}
		}
		if need := int64(n) * int64(n) * 4; hostErr == nil && need > hostFree/2 {
			return fmt.Errorf("host: a matrix of n = %d needs %d bytes, more than half of the %d that are free", n, need, hostFree)
		}
		return nil
	}
	sizes := slices.Clone(m.Sizes)
	slices.Sort(sizes)
	best, slowest, limit := 0, 0.0, m.MMLimit.Seconds()
	for _, n := range sizes {
		if n < 1 || n > 1<<17 {
			return 0, fmt.Errorf("size %d is not in [1, 131072]", n)
		}
		if err := fits(n); err != nil {
			if best == 0 {
				return 0, err
			}
			break
		}
		growth := math.Pow(float64(n)/float64(max(best, 1)), 3)
		if best > 0 && slowest*growth > probeSlack*limit {
			break
		}
		t, err := m.probe(ctx, n)
		if err != nil {
			return 0, err
		}
		if best > 0 && t >= limit {
			break
		}
		best, slowest = n, t
		if t >= limit {
			break
		}
	}
	return best, nil
}

// probe returns the longest seconds of a dense product of size n, or of a copy of one operand, on any device, after one
// warm-up each, and says of every device how fast it is.
func (m *meter) probe(ctx context.Context, n int) (longest float64, err error) {
	for i, dev := range m.devices {
		m.Progress(fmt.Sprintf("size %d on %s", n, dev.Info().Name), m.shown)
		from, across := m.compute[i], m.crossing[i]
		product, err := m.secondRun(ctx, "product", n, from.device, func(o *operands, _ []float32) error { return o.mm() })
		if err != nil {
			return 0, err
		}
		upload, err := m.secondRun(ctx, "upload", n, across.device, func(o *operands, host []float32) error { return o.h2d(hostmem.Bytes(host))() })
		if err != nil {
			return 0, err
		}
		product *= from.factor
		m.paces[i] = newPace(n, product, upload)
		longest = max(longest, product, upload)
	}
	return longest, nil
}

// secondRun returns the seconds of the second of two runs of op on operands of size n.
func (m *meter) secondRun(ctx context.Context, name string, n, device int, op func(o *operands, host []float32) error) (float64, error) {
	dev := m.devices[device]
	timings, err := m.once(fmt.Sprintf("try %s %d %s", name, n, dev.Info().UUID), func() (_ []Timing, err error) {
		o, host := &operands{dev: dev, n: n}, make([]float32, n*n)
		defer func() { err = cmp.Or(err, o.free()) }()
		if err := o.dense(); err != nil {
			return nil, err
		}
		var t time.Duration
		for range 2 {
			if err := ctx.Err(); err != nil {
				return nil, err
			}
			start := m.Now()
			if err := op(o, host); err != nil {
				return nil, err
			}
			t = m.Now().Sub(start)
		}
		return []Timing{summary([]float64{max(t, 1).Seconds()})}, nil
	})
	if err != nil {
		return 0, fmt.Errorf("%s: %w", dev.Info().Name, err)
	}
	return timings[0].Median, nil
}
