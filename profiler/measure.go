package profiler

import (
	"context"
	"fmt"
	"math"
	"os"
	"slices"
	"time"

	"capgnn/gpu"
	"capgnn/hostmem"

	"gonum.org/v1/gonum/stat"
)

// Options says how to measure. The zero value is the measurement of PAPER.md.
type Options struct {
	Quick   bool // small matrices and few runs: a few seconds for two devices
	Runs    int  // timed runs of every operation; 0 = 50, quick 5
	Warmups int  // runs before them; 0 = 5, quick 1
	// Sizes are the candidates for n, descending; nil = 16384, 11585, 8192, 4096, 2048, 1024, 512; quick 4096 … 256.
	Sizes []int
	// MMLimit is the longest dense product that a size may take on any device; 0 = 2 s, quick 0.1 s.
	MMLimit time.Duration
	// Pinned returns page-locked host memory and its release; nil = none. Only GPUs use it.
	Pinned func(gpu.Bytes) ([]byte, func(), error)
	Driver string // GPU driver's version, stored
	// Calibrate measures the operations of training over sizes too, alone and with all devices at once: some ten seconds
	// for a CPU core, and what predictions of epochs are made of (package gpu/sim).
	Calibrate bool
	// Progress is called from the goroutine of Measure; nil = nobody asks. Steps are runs of operations.
	Progress func(stage string, done, total int)
	Now      func() time.Time // nil = time.Now; devices on a virtual clock bring theirs
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
	if o.Progress == nil {
		o.Progress = func(string, int, int) {}
	}
	if o.Now == nil {
		o.Now = time.Now
	}
	return o
}

// Measure profiles devices, one after another, and every ordered pair of them. Devices stay open; their memory is as it
// was before. Errors name the device.
func Measure(ctx context.Context, devices []gpu.Device, opt Options) (*Profile, error) {
	if len(devices) < 1 || len(devices) > maxDevices {
		return nil, fmt.Errorf("profile: %d devices are not in [1, %d]", len(devices), maxDevices)
	}
	m := &meter{Options: opt.resolve()}
	host, err := os.Hostname()
	if err != nil {
		host = "unknown"
	}
	p := &Profile{Version: Version, Host: host, Driver: opt.Driver, Time: m.Now().UTC(), Quick: opt.Quick}
	if p.N, err = m.chooseSize(ctx, devices); err != nil {
		return nil, fmt.Errorf("profile: %w", err)
	}
	p.Entries = entries(p.N)
	m.plan(devices)
	m.values = randomValues(p.N * p.N)
	for _, dev := range devices {
		d, err := m.device(ctx, dev, p.N)
		if err != nil {
			return nil, fmt.Errorf("profile %s: %w", dev.Info().Name, err)
		}
		p.Devices = append(p.Devices, *d)
	}
	for i, from := range devices {
		for j, to := range devices {
			if i == j {
				continue
			}
			q, err := m.pair(ctx, from, to, p.N)
			if err != nil {
				return nil, fmt.Errorf("profile %s to %s: %w", from.Info().Name, to.Info().Name, err)
			}
			q.From, q.To = i, j
			p.Pairs = append(p.Pairs, *q)
		}
	}
	if err := m.calibrate(ctx, devices, p); err != nil {
		return nil, fmt.Errorf("profile: %w", err)
	}
	if err := p.validate(); err != nil {
		return nil, fmt.Errorf("profile: %s", oneLine(err))
	}
	return p, nil
}

// meter runs and times operations.
type meter struct {
	Options
	values      []float32 // one dense operand in host memory
	done, total int
}

// plan counts the steps of the whole measurement.
func (m *meter) plan(devices []gpu.Device) {
	ops := len(devices) * (len(devices) - 1)
	for _, dev := range devices {
		ops += 5
		if m.pinned(dev) {
			ops += 2
		}
	}
	m.total = ops * (m.Warmups + m.Runs)
}

// pinned reports whether copies of dev are measured with page-locked memory too.
func (m *meter) pinned(dev gpu.Device) bool { return m.Pinned != nil && dev.Info().Kind == gpu.CUDA }

// time runs op, which returns when its work is done, and returns its times.
func (m *meter) time(ctx context.Context, stage string, op func() error) (Timing, error) {
	seconds := make([]float64, 0, m.Runs)
	for i := range m.Warmups + m.Runs {
		if err := ctx.Err(); err != nil {
			return Timing{}, err
		}
		start := m.Now()
		if err := op(); err != nil {
			return Timing{}, err
		}
		if t := m.Now().Sub(start); i >= m.Warmups {
			seconds = append(seconds, max(t, 1).Seconds()) // a clock's tick at least
		}
		m.done++
		m.Progress(stage, m.done, m.total)
	}
	mean, std := stat.MeanStdDev(seconds, nil)
	if len(seconds) == 1 {
		std = 0
	}
	slices.Sort(seconds)
	median := (seconds[(len(seconds)-1)/2] + seconds[len(seconds)/2]) / 2
	return Timing{Mean: mean, Std: std, Median: median, Runs: len(seconds)}, nil
}

// probeSlack is how far above the limit a size may be predicted and still be tried: small products run below a device's
// rate (a GPU's by more than this, but then far below the limit).
const probeSlack = 4

// chooseSize returns the largest candidate whose operands fit in half the free memory of every device (and one of them in
// half of the host's) and whose dense product takes less than MMLimit on every device; the smallest that fits if none
// is that fast. It climbs from small sizes, so that a slow device is not tied up by a large one.
func (m *meter) chooseSize(ctx context.Context, devices []gpu.Device) (int, error) {
	hostFree, _, hostErr := hostmem.Free()
	fits := func(n int) error {
		for _, dev := range devices {
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
	best, slowest := 0, time.Duration(0)
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
		if best > 0 && float64(slowest)*growth > probeSlack*float64(m.MMLimit) {
			break
		}
		t, err := m.probe(ctx, devices, n)
		if err != nil {
			return 0, err
		}
		if best > 0 && t >= m.MMLimit {
			break
		}
		best, slowest = n, t
		if t >= m.MMLimit {
			break
		}
	}
	return best, nil
}

// probe returns the longest time of one dense product of size n on any device, after one warm-up each.
func (m *meter) probe(ctx context.Context, devices []gpu.Device, n int) (time.Duration, error) {
	var longest time.Duration
	for _, dev := range devices {
		m.Progress(fmt.Sprintf("size %d on %s", n, dev.Info().Name), 0, 0)
		o := &operands{dev: dev, n: n}
		err := o.dense()
		for run := 0; err == nil && run < 2; run++ {
			if err = ctx.Err(); err != nil {
				break
			}
			start := m.Now()
			err = o.mm()
			if t := m.Now().Sub(start); run == 1 {
				longest = max(longest, t)
			}
		}
		if freed := o.free(); err == nil {
			err = freed
		}
		if err != nil {
			return 0, fmt.Errorf("%s: %w", dev.Info().Name, err)
		}
	}
	return longest, nil
}
