package main

import (
	"context"
	"errors"
	"fmt"
	"math"
	"slices"

	"gonum.org/v1/gonum/stat"

	"capgnn/cmd/capgnn/internal/devices"
	"capgnn/cmd/capgnn/internal/runfolder"
	"capgnn/cmd/capgnn/internal/term"
	"capgnn/gpu"
	"capgnn/graph"
	"capgnn/internal/number"
	"capgnn/jaca"
	"capgnn/pipeline"
	"capgnn/profiler"
)

// outlook is what an epoch of a run would take on its devices, told by simulating one. Times are in seconds.
type outlook struct {
	EpochS  float64   `json:"epoch_s"`
	BusyS   []float64 `json:"busy_s"`          // by part: what its device computes and transfers in an epoch, waiting and hidden transfers not counted
	Spread  float64   `json:"spread"`          // longest work of a device over the mean
	Bytes   gpu.Bytes `json:"bytes"`           // moved between devices and host, and between devices, in an epoch
	CommS   float64   `json:"communication_s"` // most that a device transfers in an epoch
	Open    float64   `json:"open"`            // share of the transfers that computing does not hide
	parts   []gpu.Usage
	peak    []gpu.Bytes // of each part's device
	perPart []gpu.Bytes // of Bytes
}

func (o *outlook) String() string {
	return fmt.Sprintf("epoch %s, longest work of a device %s of the mean, %s moved in %s, %s of it hidden", term.Duration(&o.EpochS), number.Plain.Text(o.Spread),
		term.Size(o.Bytes), term.Duration(&o.CommS), term.Percentage(1-o.Open))
}

// forecast simulates an epoch of the run with these parts on the devices of a profile. Nothing is computed. Caches that take
// what memory leaves take that of the devices; where a run does not fit, memory is counted without a limit and without them.
func (t *training) forecast(ctx context.Context, profile *profiler.Profile, part []int32, dropped [][]graph.NodeID) (*outlook, error) {
	opt := t.problemOptions()
	opt.Part, opt.Dropped = part, dropped
	if t.cfg.CacheLinks == "" {
		text, err := t.links(profile)
		if err == nil {
			opt.Cache.Links, err = parseLinks(text, t.parts, len(t.specs))
		}
		if err != nil {
			return nil, err
		}
	}
	if opt.Cache.Local == (jaca.Size{}) && opt.Cache.Slots == nil {
		o, err := t.simulate(ctx, profile, opt, true)
		if oom := (*gpu.OutOfMemory)(nil); !errors.As(err, &oom) {
			return o, err
		}
		opt.Cache.Local = jaca.Rows(0)
	}
	return t.simulate(ctx, profile, opt, false)
}

// simulate is forecast with the budgets of the devices, or without.
func (t *training) simulate(ctx context.Context, profile *profiler.Profile, opt pipeline.Options, limited bool) (*outlook, error) {
	var budgets []gpu.Bytes
	if limited {
		for i := range t.specs {
			budgets = append(budgets, t.budget(profile, i))
		}
	}
	opened, err := devices.OpenForecast(t.specs, profile, budgets)
	if err != nil {
		return nil, err
	}
	for p := range t.parts {
		opt.Devices = append(opt.Devices, opened[p%len(opened)])
	}
	s, err := pipeline.Simulate(ctx, t.data.Problem, opt)
	if err := errors.Join(err, devices.CloseAll(opened)); err != nil {
		return nil, term.AsUsage(runfolder.ExplainCache(err))
	}
	o := newOutlook(s, len(opened))
	if limited && s.Caches != nil { // what a cache takes is free for all else
		for i, n := range s.Caches.Capacities.Local {
			for j := i % len(opened); j < t.parts; j += len(opened) {
				o.peak[j] -= gpu.Bytes(n) * s.Caches.Capacities.Slot
			}
		}
	}
	return o, nil
}

// newOutlook sums a simulation up. What of the transfers computing does not hide, in the whole epoch, counts as work of every
// device in proportion to its transfers. Part p lies on device p mod devices.
func newOutlook(s *pipeline.Simulation, devices int) *outlook {
	o := &outlook{EpochS: s.Epoch.Seconds(), parts: s.Parts, peak: s.Peak}
	computes := 0.0
	for i, u := range s.Parts {
		computes, o.CommS = max(computes, s.Busy[i].Seconds()), max(o.CommS, transferSeconds(u))
		moved := u.H2D + u.D2H + u.Peer
		o.perPart = append(o.perPart, moved)
		o.Bytes += moved
	}
	if o.CommS > 0 {
		o.Open = min(1, max(0, (o.EpochS-computes)/o.CommS))
	}
	load := make([]float64, min(devices, len(s.Parts)))
	for i, u := range s.Parts {
		busy := s.Busy[i].Seconds() + o.Open*transferSeconds(u)
		o.BusyS = append(o.BusyS, busy)
		load[i%len(load)] += busy
	}
	o.Spread = slices.Max(load) / max(stat.Mean(load, nil), math.SmallestNonzeroFloat64)
	return o
}

// transferSeconds returns for how long a device transfers: its link carries both directions at the same time, so the longer
// one counts. They share their time as their bytes are shared.
func transferSeconds(u gpu.Usage) float64 {
	in, out := float64(u.H2D+u.Peer), float64(u.D2H)
	if in+out == 0 {
		return 0
	}
	return u.Time[gpu.PhaseTransfer].Seconds() * max(in, out) / (in + out)
}
