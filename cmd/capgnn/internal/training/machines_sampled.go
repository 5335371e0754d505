package training

import (
	"context"
	"errors"
	"slices"

	"capgnn/cmd/capgnn/internal/devices"
	"capgnn/cmd/capgnn/internal/term"
	"capgnn/gpu"
	"capgnn/internal/machines"
	"capgnn/minibatch"
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
	// Best is the number of machines with the shortest epoch of those that fit, and of equally short ones the smallest; 0:
	// it fits none, or nobody knows.
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

// PlanSampledMachines forecasts the run on samples on one machine, on two, and so on.
func (t *Forecaster) PlanSampledMachines(ctx context.Context) (*SampledMachinePlan, error) {
	c := &t.Config
	p := &SampledMachinePlan{Dataset: t.Data.Name, Model: c.Model, BatchSize: c.BatchSize, Sampler: c.Sampler,
		Fanout: c.Fanout.String(), Steps: t.stepsPerEpoch(c)}
	return p, t.overMachines(ctx, func(t, first *Forecaster, machines []int) error {
		p.Net = t.Config.Net.String()
		m, err := first.sampledMachines(ctx, machines)
		if err == nil {
			p.add(m)
		}
		return err
	})
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
func (t *Forecaster) sampledMachines(ctx context.Context, list []int) (m *SampledMachines, err error) {
	for _, decide := range []Decider{Divide, settleShares} {
		if t.Decisions, err = decide(ctx, *t); err != nil {
			return nil, err
		}
	}
	m = &SampledMachines{Machines: len(list)}
	for _, d := range t.Specs {
		m.Devices = append(m.Devices, d.String())
	}
	s, err := t.simulateSampled(ctx, list, true)
	oom := (*gpu.OutOfMemory)(nil)
	if errors.As(err, &oom) {
		s, err = t.simulateSampled(ctx, list, false)
	}
	if err != nil {
		return nil, err
	}
	var need []gpu.Bytes
	for i := range s.Parts {
		need = append(need, s.Parts[i].Bound)
	}
	m.Peak, m.Budget, m.Fits = t.fullest(need)
	m.Fits = m.Fits && oom == nil
	timed := t.Config.Net.Value != nil
	m.First, m.Later = crossOf(&s.Epochs[0], len(list), timed), crossOf(&s.Epochs[len(s.Epochs)-1], len(list), timed)
	if len(list) > 1 {
		var machineOf []int
		for k, n := range list {
			machineOf = append(machineOf, slices.Repeat([]int{k}, n)...)
		}
		m.Rows, err = planRows(ctx, t.Data.Problem, t.sampledOn(make([]gpu.Device, t.Parts)), machineOf)
	}
	return m, err
}

// crossOf returns what an epoch takes and sends.
func crossOf(e *minibatch.SimulatedEpoch, n int, timed bool) (c SampledCross) {
	if took := e.Took.Seconds(); timed {
		c.EpochS = &took
	}
	for i := range e.Pairs {
		x := &e.Pairs[i]
		c.Pairs = append(c.Pairs, SampledPair{x.From, x.To, x.Bytes(), x.Rows, x.Requests, x.Gradients})
	}
	c.Busiest = slices.Max(throughEach(n, c.Pairs,
		func(x SampledPair) (int, int, gpu.Bytes) { return x.From, x.To, x.Bytes }))
	return c
}

// simulateSampled simulates the first epochs, with the budgets of the devices, or without.
func (t *Forecaster) simulateSampled(ctx context.Context, list []int,
	limited bool) (s *minibatch.Simulation, err error) {
	var parts []int
	var lines [][]devices.Line
	if len(list) > 1 {
		if parts, lines = list, endlessLines(len(list)); t.Config.Net.Value != nil {
			if lines, err = t.Config.LinesBetween(len(list)); err != nil {
				return nil, err
			}
		}
	}
	simulate := func(opened []gpu.Device, over *machines.Cluster) (err error) {
		seen := make([]gpu.Device, len(opened)) // by the first of the machines: those of others are nil
		copy(seen, opened[:list[0]])
		opt := t.sampledOn(seen)
		opt.Devices, opt.Epochs = opened, max(1, opt.Epochs)
		s, err = minibatch.Simulate(ctx, t.Data.Problem, opt, laterEpoch, over)
		return err
	}
	err = t.onSimulated(limited, firstsOf(list), 0, parts, lines, simulate)
	if oom := (*gpu.OutOfMemory)(nil); err == nil || errors.As(err, &oom) {
		return s, err
	}
	return nil, term.AsUsage(Explain(err))
}

// endlessLines are lines between n machines of which nobody says what they are.
func endlessLines(n int) [][]devices.Line {
	return slices.Repeat([][]devices.Line{slices.Repeat([]devices.Line{{BytesPerSec: endless}}, n)}, n)
}
