package pipeline

import (
	"context"
	"errors"
	"fmt"
	"time"

	"capgnn/gpu"
)

// Simulation is what a run is predicted to take.
type Simulation struct {
	Epoch  time.Duration // one training epoch behind the first
	Reduce time.Duration // of it, what the update takes behind the last backward pass
	// Parts is what each part's device does in that epoch: its time by phase, its bytes by route.
	Parts []gpu.Usage
	// Busy is the time of Parts without waiting for others, transfers on queues of their own not counted.
	Busy []time.Duration
	Peak []gpu.Bytes // high-water mark of each part's device
}

// Simulate predicts the epochs of a run on devices that share a clock (package gpu/sim): the trainer's own code enqueues two
// epochs, the second one counts. Devices without arithmetic make it quick. Nothing is kept, written, evaluated or scored; a
// part that does not fit its device is a *gpu.OutOfMemory.
func Simulate(ctx context.Context, p *Problem, o Options) (*Simulation, error) {
	if clockOf(o.Devices) == nil {
		return nil, errors.New("simulate: the devices share no clock")
	}
	o.Prepared, o.Init, o.CheckpointDir, o.Resume = nil, nil, "", false
	t, err := New(ctx, p, o)
	if err != nil {
		return nil, err
	}
	defer t.Close()
	var e EpochStats
	before := make([]gpu.Usage, len(t.workers))
	computed := make([]gpu.Usage, len(t.workers))
	computations := func(w *worker) gpu.Usage {
		u := w.compute.Usage()
		u.Time[gpu.PhaseReduce] += w.reduce.Usage().Time[gpu.PhaseReduce]
		return u
	}
	for epoch := range 2 {
		for i, w := range t.workers {
			before[i], computed[i] = w.usage(), computations(w)
		}
		e = EpochStats{Epoch: epoch}
		if err := errors.Join(ctx.Err(), t.trainEpoch(&e)); err != nil {
			return nil, fmt.Errorf("simulate epoch %d: %w", epoch, err)
		}
	}
	s := &Simulation{Epoch: e.Train, Reduce: e.Reduce}
	for i, w := range t.workers {
		s.Parts = append(s.Parts, w.usage().Sub(before[i]))
		c := computations(w).Sub(computed[i])
		busy := -c.Time[gpu.PhaseWait]
		for _, d := range c.Time {
			busy += d
		}
		s.Busy = append(s.Busy, busy)
		s.Peak = append(s.Peak, w.dev.Memory().HighWater)
	}
	return s, nil
}

// clockOf returns the clock that all devices share, nil if there is none.
func clockOf(devices []gpu.Device) gpu.Clock {
	var clock gpu.Clock
	for i, d := range devices {
		c, ok := d.(gpu.Clocked)
		if !ok || i > 0 && c.Clock() != clock {
			return nil
		}
		clock = c.Clock()
	}
	return clock
}

// started is where the host's time is counted from.
var started = time.Now()

// now returns the time that epochs are measured in: that of the devices' clock if they share one, else the host's.
func (t *Trainer) now() time.Duration {
	if c := clockOf(t.o.Devices); c != nil {
		return c.Now()
	}
	return hostNow()
}

func hostNow() time.Duration { return time.Since(started) }
