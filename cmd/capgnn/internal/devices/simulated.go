package devices

import (
	"errors"
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"

	"capgnn/cmd/capgnn/internal/term"
	"capgnn/gpu"
	"capgnn/gpu/sim"
	"capgnn/internal/regular"
	"capgnn/profiler"
)

// maxCardFile bounds a card's file, which has about 400 bytes.
const maxCardFile = 64 << 10

// SimCard returns what a simulated device was measured to do: an embedded card, or, where the name ends in .json, a card's file
// or device K of a profile (FILE#K, the first without #K).
func (d Spec) SimCard() (sim.Card, error) {
	c, _, err := d.measurements()
	return c, err
}

// measurements returns the card, and the calibration where it is a device of a profile that has one.
func (d Spec) measurements() (c sim.Card, ops []profiler.OpTime, err error) {
	path, number, numbered := strings.Cut(d.Card, "#")
	switch {
	case !strings.HasSuffix(path, ".json"):
		c, err = sim.FindCard(d.Card)
	case numbered:
		c, ops, err = profiledCard(path, number)
	default:
		if c, ops, err = profiledCard(path, "0"); err != nil {
			c, err = readCardFile(path)
		}
	}
	if err != nil {
		return c, nil, term.Usagef("--devices: %s: %w", d.Text, err)
	}
	return c, ops, nil
}

// profiledCard returns a device of a profile as a card.
func profiledCard(path, number string) (sim.Card, []profiler.OpTime, error) {
	p, err := profiler.Read(path)
	if err != nil {
		return sim.Card{}, nil, err
	}
	k, err := strconv.Atoi(number)
	if err != nil || k < 0 || k >= len(p.Devices) {
		return sim.Card{}, nil, fmt.Errorf("%s has devices #0 to #%d, not #%s", path, len(p.Devices)-1, number)
	}
	r := &p.Devices[k]
	return sim.Card{Name: r.Name, Model: r.Model, Measured: MeasuredOf(p, k)}, r.Calibration, nil
}

// MeasuredOf returns what every profile holds of device k in the words of package sim.
func MeasuredOf(p *profiler.Profile, k int) sim.Measured {
	r := &p.Devices[k]
	return sim.Measured{N: p.N, Entries: int64(p.Entries), MM: r.MM.Median, SpMM: r.SpMM.Median, H2D: r.H2D.Median, D2H: r.D2H.Median, IDT: r.IDT.Median,
		Memory: r.FreeBytes}
}

func readCardFile(path string) (sim.Card, error) {
	f, err := regular.Open(path)
	if err != nil {
		return sim.Card{}, err
	}
	defer f.Close()
	data, err := io.ReadAll(io.LimitReader(f, maxCardFile))
	if err != nil {
		return sim.Card{}, err
	}
	return sim.ParseCard(data)
}

// Rates returns the card's rates with what the spec says otherwise.
func (d Spec) Rates(c *sim.Card) sim.Rates {
	r := c.Rates()
	r.FlopsPerSec, r.GatherPerSec, r.BytesPerSec = r.FlopsPerSec/d.Slow, r.GatherPerSec/d.Slow, r.BytesPerSec/d.Slow
	if d.linked() {
		r.Near = r.H2D
	}
	if d.Link > 0 {
		r.H2D, r.D2H = d.Link, d.Link
	}
	if d.Latency > 0 {
		r.Latency = d.Latency.Seconds()
	}
	return r
}

// linked reports whether the spec says what connects the device with others: they have hosts of their own then.
func (d Spec) linked() bool { return d.Link > 0 || d.Latency > 0 }

// pace says how fast a simulated device is: by its calibration if there is one and the spec says nothing otherwise.
func (d Spec) pace(c *sim.Config) (sim.Card, error) {
	card, ops, err := d.measurements()
	if err != nil {
		return card, err
	}
	c.Rates = d.Rates(&card)
	if ops != nil && d.Slow == 1 && !d.linked() {
		c.Table, err = sim.NewTable(samplesOf(ops))
	}
	return card, err
}

// buses are what the links of simulated devices share, by rate.
type buses map[float64]*sim.Bus

func (b buses) of(d Spec) *sim.Bus {
	if d.Bus == 0 {
		return nil
	}
	if b[d.Bus] == nil {
		b[d.Bus] = &sim.Bus{Name: term.FormatBytes(gpu.Bytes(d.Bus)) + "/s", BytesPerSec: d.Bus}
	}
	return b[d.Bus]
}

// openSimulated opens simulated devices on one clock.
func openSimulated(specs []Spec) ([]gpu.Device, error) {
	clock, shared := sim.NewClock(), buses{}
	return openEach(len(specs), func(i int) (gpu.Device, error) {
		s := specs[i]
		c := sim.Config{Name: s.name(), Clock: clock, Memory: s.Memory, Bus: shared.of(s), Linked: s.linked(), Arithmetic: true}
		card, err := s.pace(&c)
		if err != nil {
			return nil, err
		}
		c.Model = card.Model
		if c.Memory == 0 {
			c.Memory = card.Memory
		}
		return sim.Open(c)
	})
}

// OpenForecast opens devices on one clock that compute nothing, in place of those of a run, which p describes, with these
// budgets; nil: there is no end of memory. CPU devices of a process share a host: first are the first devices of the processes, and behind the last one; nil:
// there is one. Links carry so many bytes per second and direction; 0: as specs and profile say.
func OpenForecast(specs []Spec, p *profiler.Profile, budgets []gpu.Bytes, first []int, link float64) ([]gpu.Device, error) {
	clock, shared, hosts := sim.NewClock(), buses{}, forecastHosts(specs, first)
	return openEach(len(specs), func(i int) (gpu.Device, error) {
		c := sim.Config{Name: specs[i].name(), Model: p.Devices[i].Model, UUID: p.Devices[i].UUID, Clock: clock, Bus: shared.of(specs[i]), Link: link}
		if budgets != nil {
			c.Memory = budgets[i]
		}
		if specs[i].Simulated() {
			if _, err := specs[i].pace(&c); err != nil {
				return nil, err
			}
			return sim.Open(c)
		}
		if err := rate(&c, p, i); err != nil {
			return nil, err
		}
		if specs[i].GPU {
			c.RowAlign = gpu.Sector
			c.Peer = !slices.ContainsFunc(p.Pairs, func(q profiler.Pair) bool { return !q.Peer })
			return sim.Open(c)
		}
		c.Host, c.Threads, c.Slow, c.Peer = hosts[i], p.Devices[i].Threads, specs[i].Slow, true // CPU devices read each other's memory
		return sim.Open(c)
	})
}

// forecastHosts returns the host of every device. What other machines have is not known: processors for all threads there, at least.
func forecastHosts(specs []Spec, first []int) []*sim.Host {
	if first == nil {
		return slices.Repeat([]*sim.Host{{Processors: Cores()}}, len(specs))
	}
	hosts := make([]*sim.Host, len(specs))
	for k := range len(first) - 1 {
		threads, host := 0, &sim.Host{}
		for i := first[k]; i < first[k+1]; i++ {
			threads, hosts[i] = threads+specs[i].Threads, host
		}
		host.Processors = max(Cores(), threads)
	}
	return hosts
}

// rate says how fast device i of a profile is: by its calibration, or else by what every profile holds.
func rate(c *sim.Config, p *profiler.Profile, i int) error {
	row := &p.Devices[i]
	if row.Calibration == nil {
		m := MeasuredOf(p, i)
		c.Rates = m.Rates()
		return nil
	}
	t, err := sim.NewTable(samplesOf(row.Calibration))
	if err == nil && row.Beside != nil && len(p.Devices) > 1 {
		t, err = t.Beside(samplesOf(row.Beside))
	}
	if err != nil {
		return fmt.Errorf("profile: %s: %w: profile again", row.Name, err)
	}
	c.Table = t
	return nil
}

// samplesOf returns a calibration in the words of package sim.
func samplesOf(times []profiler.OpTime) []sim.Sample {
	out := make([]sim.Sample, len(times))
	for i, t := range times {
		out[i] = sim.Sample(t)
	}
	return out
}

// openEach opens n devices. On an error none stays open.
func openEach(n int, open func(i int) (gpu.Device, error)) ([]gpu.Device, error) {
	var devices []gpu.Device
	for i := range n {
		d, err := open(i)
		if err != nil {
			return nil, term.Usagef("--devices: %w", errors.Join(err, CloseAll(devices)))
		}
		devices = append(devices, d)
	}
	return devices, nil
}

// ProfileRow returns the row that a profile would have of a simulated device.
func (d Spec) ProfileRow() (profiler.DeviceProfile, error) {
	c, err := d.SimCard()
	if err != nil {
		return profiler.DeviceProfile{}, err
	}
	once := func(seconds float64) profiler.Timing { return profiler.Timing{Mean: seconds, Median: seconds, Runs: 1} }
	p := profiler.DeviceProfile{Name: d.name(), Kind: gpu.Sim, Model: c.Model, UUID: "sim-" + d.String(), TotalBytes: c.Memory, FreeBytes: c.Memory,
		MM: once(c.MM * d.Slow), SpMM: once(c.SpMM * d.Slow), IDT: once(c.IDT * d.Slow), H2D: once(c.H2D), D2H: once(c.D2H)}
	if d.Memory > 0 {
		p.FreeBytes = d.Memory
	}
	if d.Link > 0 {
		matrix := 4 * float64(c.N) * float64(c.N)
		p.H2D, p.D2H = once(matrix/d.Link), once(matrix/d.Link)
	}
	return p, nil
}

// CardProfile returns the profile that simulated devices would have.
func CardProfile(specs []Spec) (*profiler.Profile, error) {
	p := new(profiler.Profile)
	for _, d := range specs {
		row, err := d.ProfileRow()
		if err != nil {
			return nil, err
		}
		p.Devices = append(p.Devices, row)
	}
	return p, nil
}
