package main

import (
	"errors"
	"fmt"
	"io"
	"os"
	"strings"

	"capgnn/gpu"
	"capgnn/gpu/sim"
	"capgnn/profiler"
)

// maxCardFile bounds a card's file, which has about 400 bytes.
const maxCardFile = 64 << 10

// card returns what a simulated device was measured to do: an embedded card, or one from a file whose name ends in .json.
func (d deviceSpec) card() (sim.Card, error) {
	var c sim.Card
	var err error
	if strings.HasSuffix(d.Card, ".json") {
		c, err = readCardFile(d.Card)
	} else {
		c, err = sim.FindCard(d.Card)
	}
	if err != nil {
		return c, usagef("--devices: %s: %w", d.Text, err)
	}
	return c, nil
}

func readCardFile(path string) (sim.Card, error) {
	f, err := os.Open(path)
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

// rates returns the card's rates with what the spec says otherwise.
func (d deviceSpec) rates(c *sim.Card) sim.Rates {
	r := c.Rates()
	r.FlopsPerSec, r.GatherPerSec, r.BytesPerSec = r.FlopsPerSec/d.Slow, r.GatherPerSec/d.Slow, r.BytesPerSec/d.Slow
	if d.Link > 0 {
		r.H2D, r.D2H = d.Link, d.Link
	}
	if d.Latency > 0 {
		r.Latency = d.Latency.Seconds()
	}
	return r
}

// openSimulated opens simulated devices on one clock.
func openSimulated(specs []deviceSpec) ([]gpu.Device, error) {
	clock := sim.NewClock()
	return openEach(len(specs), func(i int) (gpu.Device, error) {
		s := specs[i]
		card, err := s.card()
		if err != nil {
			return nil, err
		}
		memory := s.Memory
		if memory == 0 {
			memory = card.Memory
		}
		return sim.Open(sim.Config{Name: s.name(), Model: card.Model, Clock: clock, Rates: s.rates(&card), Memory: memory, Arithmetic: true})
	})
}

// openForecast opens devices on one clock that compute nothing and have no end of memory, in place of those of a run, which
// p describes. CPU devices share a host.
func openForecast(specs []deviceSpec, p *profiler.Profile) ([]gpu.Device, error) {
	clock, shared := sim.NewClock(), &sim.Host{Processors: cores()}
	return openEach(len(specs), func(i int) (gpu.Device, error) {
		c := sim.Config{Name: specs[i].name(), Model: p.Devices[i].Model, UUID: p.Devices[i].UUID, Clock: clock}
		err := rate(&c, specs[i], p, i)
		if err != nil {
			return nil, err
		}
		if !specs[i].simulated() {
			c.Host, c.Threads, c.Peer = shared, p.Devices[i].Threads, true // CPU devices read each other's memory
		}
		return sim.Open(c)
	})
}

// rate says how fast device i of a profile is: by its card, its calibration, or else by what every profile holds.
func rate(c *sim.Config, d deviceSpec, p *profiler.Profile, i int) error {
	row := &p.Devices[i]
	switch {
	case d.simulated():
		card, err := d.card()
		if err != nil {
			return err
		}
		c.Rates = d.rates(&card)
	case row.Calibration != nil:
		t, err := sim.NewTable(samplesOf(row.Calibration))
		if err == nil && row.Beside != nil && len(p.Devices) > 1 {
			t, err = t.Beside(samplesOf(row.Beside))
		}
		if err != nil {
			return fmt.Errorf("profile: %s: %w: profile again", row.Name, err)
		}
		c.Table = t
	default:
		m := sim.Measured{N: p.N, Entries: int64(p.Entries), MM: row.MM.Median, SpMM: row.SpMM.Median, H2D: row.H2D.Median, D2H: row.D2H.Median, IDT: row.IDT.Median}
		c.Rates = m.Rates()
	}
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
			return nil, usagef("--devices: %w", errors.Join(err, closeDevices(devices)))
		}
		devices = append(devices, d)
	}
	return devices, nil
}

// row returns the row that a profile would have of a simulated device.
func (d deviceSpec) row() (profiler.DeviceProfile, error) {
	c, err := d.card()
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

// cardProfile returns the profile that simulated devices would have.
func cardProfile(specs []deviceSpec) (*profiler.Profile, error) {
	p := new(profiler.Profile)
	for _, d := range specs {
		row, err := d.row()
		if err != nil {
			return nil, err
		}
		p.Devices = append(p.Devices, row)
	}
	return p, nil
}
