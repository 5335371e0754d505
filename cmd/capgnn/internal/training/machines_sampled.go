package training

import (
	"context"
	"errors"

	"capgnn/cmd/capgnn/internal/devices"
	"capgnn/cmd/capgnn/internal/term"
	"capgnn/gpu"
	"capgnn/internal/machines"
	"capgnn/minibatch"
	"capgnn/profiler"
)

// SampledMachinePlan is what a run on samples would take on one machine, on two, and so on.
type SampledMachinePlan struct {
	Dataset   string `json:"dataset"`
	Model     string `json:"model"`
	BatchSize int    `json:"batch_size"`
	Sampler   string `json:"sampler"`
	Fanout    string `json:"fanout"` // nearest the roots first
	Steps     int    `json:"steps"`  // of an epoch
	Net       string `json:"net"`    // what connects machines; "": nobody says, and there are no times
	// Counts are by number of machines: the first one alone, the first two, …
	Counts []SampledMachines `json:"counts"`
	// Best is the number of machines with the shortest epoch of those that fit, and of equally short ones the smallest; 0: it fits none, or nobody knows.
	Best int `json:"best"`
}

// SampledMachines is the forecast of a run on so many machines.
type SampledMachines struct {
	Machines int          `json:"machines"`
	Devices  []string     `json:"devices"`
	First    SampledCross `json:"first"`   // epoch, in which no cache has any row
	Later    SampledCross `json:"later"`   // epoch: the third, or the last one of a shorter run
	Speedup  *float64     `json:"speedup"` // of a later epoch, over one machine
	Peak     gpu.Bytes    `json:"peak"`    // at most, of the device that needs most of what it has
	Budget   gpu.Bytes    `json:"budget"`  // of that device
	Fits     bool         `json:"fits"`
	// Rows is what crosses in the first epoch by place of the roots and way to fetch; null: of one machine.
	Rows *RowsPlan `json:"rows"`
}

// SampledCross is an epoch: how long it takes, and what crosses between machines.
type SampledCross struct {
	EpochS  *float64      `json:"epoch_s"`
	Pairs   []SampledPair `json:"pairs"`
	Busiest gpu.Bytes     `json:"busiest"` // what goes through the network interface with most to send or to receive
}

// SampledPair is what a machine sends another one in an epoch.
type SampledPair struct {
	From      int       `json:"from"`
	To        int       `json:"to"`
	Bytes     gpu.Bytes `json:"bytes"` // of all
	Rows      gpu.Bytes `json:"row_bytes"`
	Requests  gpu.Bytes `json:"request_bytes"`
	Gradients gpu.Bytes `json:"gradient_bytes"` // and new weights
}

// laterEpoch is how many epochs are simulated: most rows that a cache can keep have come in the first two.
const laterEpoch = 3

// endless is the rate of lines of which nobody says what they are, in bytes per second.
const endless = 1e15

// PlanSampledMachines forecasts the run on samples on one machine, on two, and so on, each with parts made for it.
func (t *Run) PlanSampledMachines(ctx context.Context) (*SampledMachinePlan, error) {
	if err := t.settleNet(); err != nil {
		return nil, err
	}
	list := t.Config.Machines.Value
	profile, err := devices.Profile(ctx, t.Console, t.Specs, t.Config.Profile)
	if err != nil {
		return nil, err
	}
	c := &t.Config
	p := &SampledMachinePlan{Dataset: t.Data.Name, Model: c.Model, BatchSize: c.BatchSize, Sampler: c.Sampler, Fanout: c.Fanout.String(), Steps: t.stepsPerEpoch(), Net: c.Net.String()}
	bar := t.Console.Begin("forecast", int64(len(list)), "machines", 0)
	defer bar.End()
	for k := range list {
		some := *profile
		n := sumOf(list[:k+1])
		some.Devices = profile.Devices[:n]
		m, err := t.on(t.Specs[:n], &some).sampledMachines(ctx, list[:k+1])
		if err != nil {
			return nil, err
		}
		p.add(m)
		bar.At(int64(k+1), term.Counted(k+1, "machine"))
	}
	return p, nil
}

// add adds the next number of machines.
func (p *SampledMachinePlan) add(m *SampledMachines) {
	p.Counts = append(p.Counts, *m)
	if p.Net == "" {
		return
	}
	last, one := &p.Counts[len(p.Counts)-1], &p.Counts[0]
	if now := *last.Later.EpochS; now > 0 {
		times := *one.Later.EpochS / now
		last.Speedup = &times
	}
	if last.Fits && (p.Best == 0 || *last.Later.EpochS < *p.Counts[p.Best-1].Later.EpochS) {
		p.Best = last.Machines
	}
}

// sampledMachines forecasts a run on all its machines, which have so many devices each.
func (t *Run) sampledMachines(ctx context.Context, list []int) (*SampledMachines, error) {
	t.Parts = len(t.Specs)
	t.Config.Parts = t.Parts
	t.Config.Set("machines", joinInts(list))
	if len(list) == 1 {
		t.Config.Set("machines", "")
	}
	if err := t.Divide(ctx); err != nil {
		return nil, err
	}
	if err := t.settleShares(ctx); err != nil {
		return nil, err
	}
	m := &SampledMachines{Machines: len(list), Fits: true}
	for _, d := range t.Specs {
		m.Devices = append(m.Devices, d.String())
	}
	s, err := t.simulateSampled(ctx, list, true)
	if oom := (*gpu.OutOfMemory)(nil); errors.As(err, &oom) {
		m.Fits = false
		s, err = t.simulateSampled(ctx, list, false)
	}
	if err != nil {
		return nil, err
	}
	m.memory(s, t.Profile, t.Budget)
	timed := t.Config.Net.Value != nil
	m.First, m.Later = crossOf(&s.Epochs[0], len(list), timed), crossOf(&s.Epochs[len(s.Epochs)-1], len(list), timed)
	if len(list) > 1 {
		m.Rows, err = t.rowsBetween(ctx, list)
	}
	return m, err
}

// memory says what the fullest device takes.
func (m *SampledMachines) memory(s *minibatch.Simulation, p *profiler.Profile, budget func(p *profiler.Profile, i int) gpu.Bytes) {
	fullest := -1.0
	for i := range s.Parts {
		need, has := minibatch.Bound(s.Parts[i].Uses), budget(p, i)
		if share := float64(need) / float64(max(1, has)); share > fullest {
			fullest, m.Peak, m.Budget = share, need, has
		}
		m.Fits = m.Fits && need <= has
	}
}

// crossOf returns what an epoch takes and sends.
func crossOf(e *minibatch.SimulatedEpoch, n int, timed bool) (c SampledCross) {
	if took := e.Took.Seconds(); timed {
		c.EpochS = &took
	}
	out, in := make([]gpu.Bytes, n), make([]gpu.Bytes, n)
	for i := range e.Pairs {
		x := &e.Pairs[i]
		c.Pairs = append(c.Pairs, SampledPair{x.From, x.To, x.Bytes(), x.Rows, x.Requests, x.Gradients})
		out[x.From], in[x.To] = out[x.From]+x.Bytes(), in[x.To]+x.Bytes()
		c.Busiest = max(c.Busiest, out[x.From], in[x.To])
	}
	return c
}

// simulateSampled simulates the first epochs, with the budgets of the devices, or without.
func (t *Run) simulateSampled(ctx context.Context, list []int, limited bool) (*minibatch.Simulation, error) {
	var budgets []gpu.Bytes
	if limited {
		for i := range t.Specs {
			budgets = append(budgets, t.Budget(t.Profile, i))
		}
	}
	opened, err := devices.OpenForecast(t.Specs, t.Profile, budgets, firstsOf(list), 0)
	if err != nil {
		return nil, err
	}
	opt := t.sampledOn(seenByFirst(opened, list))
	opt.Devices, opt.Epochs = opened, max(1, opt.Epochs)
	over, err := t.sampledCluster(list, opened)
	var s *minibatch.Simulation
	if err == nil {
		s, err = minibatch.Simulate(ctx, t.Data.Problem, opt, laterEpoch, over)
	}
	if err := errors.Join(err, devices.CloseAll(opened)); err != nil {
		if oom := (*gpu.OutOfMemory)(nil); errors.As(err, &oom) {
			return nil, err
		}
		return nil, term.AsUsage(t.Explain(err))
	}
	return s, nil
}

// seenByFirst returns the devices as the first of the machines sees them: those of others are nil.
func seenByFirst(opened []gpu.Device, list []int) []gpu.Device {
	seen := make([]gpu.Device, len(opened))
	copy(seen, opened[:list[0]])
	return seen
}

// sampledCluster returns the machines of a forecast; nil: there is one.
func (t *Run) sampledCluster(list []int, opened []gpu.Device) (*machines.Cluster, error) {
	if len(list) < 2 {
		return nil, nil
	}
	if t.Config.Net.Value != nil {
		lines, err := t.Config.LinesBetween(len(list))
		if err != nil {
			return nil, err
		}
		return overMachines(list, lines, opened)
	}
	lines := make([][]devices.Line, len(list))
	for i := range lines {
		for range list {
			lines[i] = append(lines[i], devices.Line{BytesPerSec: endless})
		}
	}
	return overMachines(list, lines, opened)
}

// rowsBetween counts what crosses between machines in the first epoch, by place of the roots and way to fetch.
func (t *Run) rowsBetween(ctx context.Context, list []int) (*RowsPlan, error) {
	var machineOf []int
	for k, n := range list {
		for range n {
			machineOf = append(machineOf, k)
		}
	}
	return t.planRows(ctx, t.sampledOn(make([]gpu.Device, t.Parts)), machineOf)
}
