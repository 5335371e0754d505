package minibatch

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"time"

	"capgnn/gpu"
	"capgnn/internal/learn"
	"capgnn/internal/machines"
	"capgnn/internal/trainer"
)

// Simulation is the forecast of the first epochs of a run.
type Simulation struct {
	Epochs []SimulatedEpoch
	Parts  []PartMemory // by part
}

// SimulatedEpoch is one of them.
type SimulatedEpoch struct {
	Took   time.Duration // of devices and network; sampling and staging on the host take none of it
	Pairs  []MachinePair // what machines send each other, by reader and then by sender
	Counts               // over all parts; times are of devices
}

// MachinePair is what a machine sends another one.
type MachinePair struct {
	From, To  int
	Rows      gpu.Bytes // answers, with their headers
	Requests  gpu.Bytes // of rows: ids, and headers
	Gradients gpu.Bytes // gradients and new weights, and the word after each step
}

// Bytes is the sum of all of them, which together.Pair calls Rows.
func (x *MachinePair) Bytes() gpu.Bytes { return x.Rows + x.Requests + x.Gradients }

// Simulate predicts the first epochs of a run, as many as asked for, on devices that share a clock (package gpu/sim)
// and compute nothing: the trainer's own code samples, decides which rows are fetched, and enqueues the steps.
// Nothing is cached, written, evaluated or scored. Each machine has its own trainer, and the options are those of all
// parts; without machines there is one. A part that does not fit its device is a *gpu.OutOfMemory. With Hop and
// MeasureMerge all time steps stay.
func Simulate(ctx context.Context, p *learn.Problem, o Options, epochs int, over *machines.Cluster) (*Simulation, error) {
	clock := trainer.ClockOf(o.Devices)
	if clock == nil {
		return nil, errors.New("simulate: the devices share no clock")
	}
	if o.Isolated != nil && over != nil {
		return nil, errors.New("simulate: isolated parts on samples are not forecast over machines")
	}
	o.Init, o.CheckpointDir, o.Resume, o.Ranks = nil, "", false, nil
	if o.Sampling.MeasureMerge && o.Sampling.Merged == nil { // nobody knows what will be merged
		o.Sampling.NoMerge = true
	}
	s := &Simulation{Parts: make([]PartMemory, len(o.Devices))}
	r, err := machines.Start(over, len(o.Devices), func(lo, hi int, m *machines.Machine) (*Trainer, error) {
		own := o
		if m != nil {
			own.Devices, own.Ranks = make([]gpu.Device, len(o.Devices)), *m
			copy(own.Devices[lo:hi], o.Devices[lo:hi])
		}
		memory, err := Plan(ctx, p, own)
		if err != nil {
			return nil, err
		}
		copy(s.Parts[lo:hi], memory.Parts[lo:hi])
		return build(ctx, p, own, true)
	}, func(t *Trainer) {
		t.Over = true // nothing is under way that a machine would write
		t.Close()
	})
	if err != nil {
		return nil, err
	}
	defer r.Close()
	m := simulation{r}
	for epoch := range min(epochs, o.Epochs) {
		e, err := m.epoch(ctx, clock, epoch)
		if err != nil {
			return nil, fmt.Errorf("simulate epoch %d: %w", epoch, err)
		}
		s.Epochs = append(s.Epochs, *e)
	}
	return s, nil
}

// simulation is the trainers of a simulated run, one for each machine.
type simulation struct{ *machines.Run[*Trainer] }

// epoch simulates one. The clock is asked when all machines have done the same steps.
func (m simulation) epoch(ctx context.Context, clock gpu.Clock, epoch int) (*SimulatedEpoch, error) {
	e, steps := new(SimulatedEpoch), m.Trainers[0].roots.steps
	began, before := clock.Now(), m.pairs()
	next := m.Trainers[0].Engine.Stretch
	for from, end := next(epoch, 0); from < end; from, end = next(epoch, end) {
		if err := m.Each(func(t *Trainer) error { return t.simulate(ctx, epoch, from, end) }); err != nil {
			return nil, err
		}
		clock.Now()
		for _, t := range m.Trainers {
			for _, w := range t.workers {
				e.Add(&w.counts)
			}
		}
	}
	e.Steps, e.Took = steps, clock.Now()-began
	for k, x := range m.pairs() {
		y := before[k]
		x.Rows, x.Requests, x.Gradients = x.Rows-y.Rows, x.Requests-y.Requests, x.Gradients-y.Gradients
		if x.Bytes() > 0 {
			e.Pairs = append(e.Pairs, x)
		}
	}
	return e, nil
}

// simulate enqueues steps of an epoch on the parts of a machine.
func (t *Trainer) simulate(ctx context.Context, epoch, from, end int) error {
	t.Hub.Epoch, t.Asked = epoch, ctx
	if err := t.Engine.Begin(epoch, from); err != nil {
		return err
	}
	_, _, err := t.Engine.Run(epoch, from, end)
	return cmp.Or(err, ctx.Err())
}

// pairs is what machines have sent each other so far.
func (m simulation) pairs() (all []MachinePair) {
	for to := range m.Trainers {
		for from := range m.Trainers {
			if from == to {
				continue
			}
			x := MachinePair{From: from, To: to}
			for _, w := range m.Trainers[to].workers {
				x.Rows += w.fetcher.across.answer[from]
			}
			for _, w := range m.Trainers[from].workers {
				x.Requests += w.fetcher.across.asked[to]
			}
			x.Gradients = m.Sent(from, to) - x.Rows - x.Requests
			all = append(all, x)
		}
	}
	return all
}
