package pipeline

import (
	"context"
	"errors"
	"fmt"
	"time"

	"capgnn/gpu"
	"capgnn/internal/learn"
	"capgnn/internal/machines"
	"capgnn/internal/trainer"
	"capgnn/jaca"
)

// Simulation is what a run is predicted to take.
type Simulation struct {
	Epoch  time.Duration // one training epoch behind the first
	Reduce time.Duration // of it, what the update takes behind the last backward pass
	// Parts is what each part's device does in that epoch: its time by phase, its bytes by route.
	Parts []gpu.Usage
	// Gradients is the part of Parts that moves gradients and new weights between devices, sums gradients and takes
	// optimiser steps; zero with one part.
	Gradients []gpu.Usage
	// Busy is the time of Parts without waiting for others, transfers on queues of their own not counted.
	Busy []time.Duration
	Peak []gpu.Bytes // high-water mark of each part's device
	// Caches say which halo rows have slots; nil: none.
	Caches *jaca.Plan
	// Pairs is what machines send each other in an epoch, by reader and then by sender. Frames and waits are not simulated.
	Pairs []RankPair
}

// Simulate predicts the epochs of a run on devices that share a clock (package gpu/sim): the trainer's own code
// enqueues two epochs, the second one counts. It is fast with devices that compute nothing. Nothing is cached,
// written, evaluated or scored; a part that does not fit its device is a *gpu.OutOfMemory. Each machine has its own
// trainer, and the options are those of all parts; over = nil: there is one machine.
func Simulate(ctx context.Context, p *learn.Problem, o Options, over *machines.Cluster) (*Simulation, error) {
	clock := trainer.ClockOf(o.Devices)
	if clock == nil {
		return nil, errors.New("simulate: the devices share no clock")
	}
	o.Prepared, o.Init, o.CheckpointDir, o.Resume = nil, nil, "", false
	if !o.exactThroughout() {
		o.Cache.ExactEpochs = 0 // those behind them count
	}
	m, err := startSimulation(ctx, p, o, over)
	if err != nil {
		return nil, err
	}
	defer m.Close()
	return m.predict(ctx, clock)
}

func (m simulation) predict(ctx context.Context, clock gpu.Clock) (*Simulation, error) {
	first := m.Trainers[0]
	halo, longest := first.workers[0].trainHalo, 1
	for _, s := range first.halo.Schedules() {
		longest = max(longest, s.Period)
	}
	warm, measured := simulatedEpochs(longest, halo != nil && halo.Lags())
	next := 0
	epochs := func(n int) error {
		for end := next + n; next < end; next++ {
			epoch := next
			if err := m.Each(func(t *Trainer) error { return errors.Join(ctx.Err(), t.runEpoch(epoch)) }); err != nil {
				return fmt.Errorf("simulate epoch %d: %w", next, err)
			}
		}
		return nil
	}
	if err := epochs(1); err != nil { // everything moves in it
		return nil, err
	}
	workers := m.workers()
	before, computed := trainer.Usages(workers, (*trainer.Worker).Usage), trainer.Usages(workers, computations)
	reduced, received := trainer.Usages(workers, (*trainer.Worker).Reduction), m.received()
	if err := epochs(warm); err != nil {
		return nil, err
	}
	start := marks(workers)
	if err := epochs(measured); err != nil {
		return nil, err
	}
	end := marks(workers)
	clock.Now()
	s := &Simulation{Epoch: (latest(clock, end) - latest(clock, start)) / time.Duration(measured), Reduce: latest(clock, end), Caches: first.halo.Caches()}
	back := time.Duration(0)
	for _, t := range m.Trainers {
		back = max(back, t.backwardDone())
	}
	s.Reduce -= back
	measured += warm
	for i, w := range workers {
		s.Parts = append(s.Parts, perEpoch(w.Usage().Sub(before[i]), measured))
		s.Gradients = append(s.Gradients, perEpoch(w.Reduction().Sub(reduced[i]), measured))
		c := perEpoch(computations(w).Sub(computed[i]), measured)
		busy := -c.Time[gpu.PhaseWait]
		for _, d := range c.Time {
			busy += d
		}
		s.Busy = append(s.Busy, busy)
		s.Peak = append(s.Peak, w.Device.Memory().HighWater)
	}
	for k, x := range m.received() {
		if n := x.Rows - received[k].Rows; n > 0 {
			s.Pairs = append(s.Pairs, RankPair{From: x.From, To: x.To, Rows: n / gpu.Bytes(measured)})
		}
	}
	return s, nil
}

// runEpoch runs the phases of an epoch, for a forecast.
func (t *Trainer) runEpoch(epoch int) error {
	t.At(epoch)
	for phase, next := t.Engine.Stretch(epoch, 0); phase < next; phase, next = t.Engine.Stretch(epoch, next) {
		if err := errors.Join(t.hold(epoch, phase), t.runParts(epoch, phase)); err != nil {
			return err
		}
	}
	return nil
}

// simulatedEpochs returns how many epochs are run between the first one and those whose time counts, and how many of these:
// whole periods. Where rows are used in the epoch after the one that makes them, transfers go from one epoch into the next, so the clock must not be looked at before the
// last one.
func simulatedEpochs(period int, lags bool) (warm, measured int) {
	if !lags {
		return 0, period
	}
	return period, (8 + period - 1) / period * period
}

// marks returns events that fire when each part has computed what it has been given.
func marks(workers []*trainer.Worker) []gpu.Event {
	var out []gpu.Event
	for _, w := range workers {
		out = append(out, w.Compute.Record())
	}
	return out
}

// latest returns when the last of the events fired.
func latest(clock gpu.Clock, events []gpu.Event) time.Duration {
	last := time.Duration(0)
	for _, e := range events {
		last = max(last, clock.At(e))
	}
	return last
}

// computations is what the part's device has computed, transfers on queues of their own not counted.
func computations(w *trainer.Worker) gpu.Usage {
	u := w.Compute.Usage()
	u.Time[gpu.PhaseReduce] += w.Reduction().Time[gpu.PhaseReduce]
	return u
}

// perEpoch returns the mean of a usage over epochs.
func perEpoch(u gpu.Usage, epochs int) gpu.Usage {
	for p := range u.Time {
		u.Time[p] /= time.Duration(epochs)
	}
	n := gpu.Bytes(epochs)
	u.H2D, u.D2H, u.Peer, u.SpMM = u.H2D/n, u.D2H/n, u.Peer/n, u.SpMM/int64(epochs)
	return u
}
