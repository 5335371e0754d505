package main

import (
	"context"
	"errors"
	"slices"
	"strconv"

	"capgnn/gpu"
	"capgnn/internal/bench"
	"capgnn/pipeline"
	"capgnn/profiler"
)

// Kinds of cells that settings have.
const (
	kindSimulate = "simulate" // an epoch on simulated devices, nothing is computed
	kindTrain    = "train"    // a run on CPU devices
)

// simulation is the cell of a setting on simulated devices.
func (b *benchRun) simulation(s setting) cell {
	s.Epochs, s.EvalEvery = 0, 0
	return cell{s.id(kindSimulate), func(ctx context.Context) (*bench.Line, error) { return b.simulate(ctx, s) }}
}

// simulate returns what a steady epoch takes: times in seconds, bytes per epoch. What does not fit says so in Text.
func (b *benchRun) simulate(ctx context.Context, s setting) (*bench.Line, error) {
	l := newLine()
	t, err := b.prepare(ctx, s)
	var misfit *fitError
	if errors.As(err, &misfit) {
		l.Text["misfit"] = oneLine(err)
		return l, nil
	}
	if err != nil {
		return nil, err
	}
	profile, err := measured(ctx, t.k, t.specs, "")
	if err != nil {
		return nil, err
	}
	o, sim, err := t.simulateCached(ctx, profile, s)
	if err != nil {
		return nil, err
	}
	t.counted(l)
	l.Values["epoch_s"], l.Values["communication_s"], l.Values["spread"] = o.EpochS, o.CommS, o.Spread
	compute := 0.0
	for i, u := range sim.Parts {
		compute = max(compute, sim.Busy[i].Seconds())
		for name, x := range map[string]float64{"compute_s": sim.Busy[i].Seconds(), "transfer_s": transferSeconds(u), "aggregation_s": u.Time[gpu.PhaseAggregation].Seconds(),
			"mm_s": u.Time[gpu.PhaseMM].Seconds(), "reduce_s": u.Time[gpu.PhaseReduce].Seconds(), "peak_bytes": float64(sim.Peak[i])} {
			l.Series[name] = append(l.Series[name], x)
		}
		if need, have := sim.Peak[i], t.budget(profile, i); need > have && l.Text["misfit"] == "" {
			l.Text["misfit"] = "part " + strconv.Itoa(i) + " needs " + size(need) + ", " + t.specs[i%len(t.specs)].String() + " has " + size(have)
		}
	}
	l.Values["compute_s"], l.Values["exposed_s"] = compute, max(0, o.EpochS-compute)
	l.Values["aggregation_s"] = slices.Max(l.Series["aggregation_s"])
	var h2d, d2h, peer gpu.Bytes
	for _, u := range sim.Parts {
		h2d, d2h, peer = h2d+u.H2D, d2h+u.D2H, peer+u.Peer
	}
	addBytes(l, h2d, d2h, peer)
	return l, nil
}

// simulateCached simulates an epoch of the plan with the setting's caches.
func (t *training) simulateCached(ctx context.Context, profile *profiler.Profile, s setting) (*outlook, *pipeline.Simulation, error) {
	devices, err := openForecast(t.specs, profile)
	if err != nil {
		return nil, nil, err
	}
	opt := t.problemOptions()
	for p := range t.parts {
		opt.Devices = append(opt.Devices, devices[p%len(devices)])
	}
	if opt.Cache, err = s.cache(profile, t.parts); err != nil {
		return nil, nil, errors.Join(err, closeDevices(devices))
	}
	sim, err := pipeline.Simulate(ctx, t.data.problem, opt)
	if err := errors.Join(err, closeDevices(devices)); err != nil {
		return nil, nil, err
	}
	return newOutlook(sim, len(devices)), sim, nil
}
