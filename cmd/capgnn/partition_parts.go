package main

import (
	"context"
	"errors"
	"fmt"
	"time"

	"capgnn/cmd/capgnn/internal/datasets"
	"capgnn/cmd/capgnn/internal/devices"
	"capgnn/cmd/capgnn/internal/diskcache"
	"capgnn/cmd/capgnn/internal/term"
	"capgnn/gpu"
	"capgnn/hostmem"
	"capgnn/pipeline"
	"capgnn/profiler"
	"capgnn/rapa"
)

// loadGraph reads the data set. One without features or labels will do: it is cut, and nothing is said about training.
func (t *training) loadGraph(ctx context.Context) error {
	started := time.Now()
	d, err := datasets.Read(ctx, t.k, &t.cfg, nil)
	if err != nil {
		return term.AsUsage(err)
	}
	if d.Features.Present() && (d.Labels != nil || d.Targets != nil) {
		if t.data, err = datasets.Prepare(ctx, t.k, &t.cfg, d, started); err != nil {
			return term.AsUsage(err)
		}
		t.cutting = true
		return t.load(ctx)
	}
	p := &pipeline.Problem{Graph: d.Graph, Loops: datasets.LoopsOf(t.cfg.SelfLoops, t.cfg.Model), Train: d.Train}
	t.cutting, t.bare = true, true
	t.data = &datasets.Input{Name: d.Name, Problem: p, Sums: diskcache.SumsOf(p), CloseFiles: d.Close}
	t.k.Note("%s: %s vertices, %s edges, nothing to learn from: times and memory of training cannot be told", d.Name, term.Grouped(p.Vertices()), term.Grouped(p.Graph.Edges()))
	return nil
}

// reportParts says what the parts are and, for devices, what an epoch takes on them. A part that does not fit its device
// is a *FitError.
func (t *training) reportParts(ctx context.Context) (*partitionReport, error) {
	p := t.plan
	r := &partitionReport{Dataset: t.data.Name, Partitioner: string(p.Method), Objective: t.cfg.Objective, Seed: p.Seed, EdgeCut: p.EdgeCut,
		Volume: p.Volume, Balance: p.Balance, Seconds: p.Seconds, Trace: p.Trace, Stop: string(p.Stop), Moved: p.Moved}
	for i, s := range p.Parts {
		q := partReport{Part: i, Inner: s.Inner, Halo: s.Halo, Edges: s.Edges, Cut: s.Cut, Train: s.Train}
		if p.Dropped != nil {
			q.Halo, q.Lost = q.Halo-p.Lost.Replicas[i], p.Lost.PerPart[i]
			q.Edges, q.Cut = q.Edges-q.Lost, q.Cut-q.Lost
		}
		r.HaloRows += q.Halo
		r.Parts = append(r.Parts, q)
	}
	if t.cfg.MaxPrune+t.cfg.Prune > 0 {
		r.Pruned = &pruneReport{Edges: p.Lost.Edges, Share: p.Lost.Share}
		for _, n := range p.Lost.Replicas {
			r.Pruned.Rows += n
		}
	}
	var err error
	if !t.anonymous {
		err = t.reportDevices(ctx, r)
	}
	peak, _ := hostmem.PeakRSS()
	r.PeakBytes = gpu.Bytes(peak)
	return r, err
}

// reportDevices adds what the parts cost on their devices.
func (t *training) reportDevices(ctx context.Context, r *partitionReport) error {
	if t.profile == nil {
		var err error
		if t.profile, err = devices.Profile(ctx, t.k, t.specs, t.cfg.Profile); err != nil {
			return err
		}
	}
	lambda, err := rapa.Lambda(t.rates(t.profile), t.cfg.Alpha)
	if err != nil {
		return term.AsUsage(err)
	}
	for i := range r.Parts {
		q := &r.Parts[i]
		x := lambda[i].Of(rapa.Counts{Inner: q.Inner, Edges: q.Edges, Outer: q.Cut, Halo: q.Halo})
		q.Device, q.Lambda = t.specs[i%len(t.specs)].String(), &x
	}
	if t.bare {
		return nil
	}
	o, err := t.forecast(ctx, t.profile, t.plan.Part, t.plan.Dropped)
	if err != nil {
		return err
	}
	r.Forecast = o
	for i := range r.Parts {
		q := &r.Parts[i]
		budget := t.budget(t.profile, i)
		q.EpochS, q.Bytes, q.PeakBytes, q.Budget = &o.BusyS[i], &o.perPart[i], &o.peak[i], &budget
	}
	return nil
}

// budget returns the memory that part i has.
func (t *training) budget(profile *profiler.Profile, i int) gpu.Bytes {
	d := i % len(t.specs)
	if b := t.specs[d].Memory; b > 0 {
		return b
	}
	return profile.Devices[d].FreeBytes
}

// misfit returns a *FitError that names every part which does not fit its device, nil if all fit.
func (r *partitionReport) misfit() error {
	var errs []error
	missing := gpu.Bytes(0)
	for _, p := range r.Parts {
		if p.PeakBytes != nil && *p.PeakBytes > *p.Budget {
			errs = append(errs, fmt.Errorf("part %d needs %s, %s has %s", p.Part, term.Size(*p.PeakBytes), p.Device, term.Size(*p.Budget)))
			missing = max(missing, *p.PeakBytes-*p.Budget)
		}
	}
	if errs == nil {
		return nil
	}
	return &term.FitError{Err: errors.Join(errs...), Remedy: fmt.Sprintf("add a device, give %s more, or take a smaller --hidden or --storage bf16", term.Size(missing))}
}

// keepPlan writes the plan and the picture where they are wanted.
func (t *training) keepPlan(r *partitionReport, out, picture string) error {
	if out != "" {
		if err := rapa.WritePlan(out, t.plan); err != nil {
			return term.Usagef("--out: %w", err)
		}
		r.Plan = out
	}
	if picture == "" {
		return nil
	}
	trace, cost := r.Trace, "seconds of an epoch"
	if t.lambda() || trace == nil {
		cost = "cost λ"
	}
	if trace == nil {
		trace = []rapa.Iteration{{}}
		for _, p := range r.Parts {
			s := rapa.PartState{Counts: rapa.Counts{Inner: p.Inner, Edges: p.Edges, Outer: p.Cut, Halo: p.Halo}}
			if p.Lambda != nil {
				s.Cost = *p.Lambda
			}
			trace[0].Parts = append(trace[0].Parts, s)
		}
	}
	names := make([]string, len(r.Parts))
	for i, p := range r.Parts {
		names[i] = fmt.Sprintf("%d %s", p.Part, p.Device)
	}
	var err error
	r.Plots, err = plotTrace(picture, cost, trace, names)
	return err
}
