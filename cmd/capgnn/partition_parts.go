package main

import (
	"context"
	"errors"
	"fmt"

	"capgnn/cmd/capgnn/internal/term"
	"capgnn/cmd/capgnn/internal/training"
	"capgnn/gpu"
	"capgnn/hostmem"
	"capgnn/rapa"
)

// reportParts says what the parts are and, for devices, what an epoch takes on them. A part that does not fit its device
// is a *FitError.
func reportParts(ctx context.Context, t *training.Run) (*partitionReport, error) {
	p := t.Plan
	r := &partitionReport{Dataset: t.Data.Name, Partitioner: string(p.Method), Objective: t.Config.Objective, Seed: p.Seed, EdgeCut: p.EdgeCut,
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
	if t.Config.MaxPrune+t.Config.Prune > 0 {
		r.Pruned = &pruneReport{Edges: p.Lost.Edges, Share: p.Lost.Share}
		for _, n := range p.Lost.Replicas {
			r.Pruned.Rows += n
		}
	}
	machines, err := t.Config.PartsOfMachines(len(p.Parts))
	if err != nil {
		return nil, err
	}
	if len(machines) > 1 {
		rows := rapa.BetweenMachines(t.Data.Problem.Graph, p.Part, machines)
		r.Between = &rows
	}
	if !t.Anonymous {
		err = reportDevices(ctx, t, r)
	}
	peak, _ := hostmem.PeakRSS()
	r.PeakBytes = gpu.Bytes(peak)
	return r, err
}

// reportDevices adds what the parts cost on their devices.
func reportDevices(ctx context.Context, t *training.Run, r *partitionReport) error {
	var err error
	if t.Profile, err = t.Measured(ctx); err != nil {
		return err
	}
	lambda, err := rapa.Lambda(t.Rates(), t.Config.Alpha)
	if err != nil {
		return term.AsUsage(err)
	}
	for i := range r.Parts {
		q := &r.Parts[i]
		x := lambda[i].Of(rapa.Counts{Inner: q.Inner, Edges: q.Edges, Outer: q.Cut, Halo: q.Halo})
		q.Device, q.Lambda = t.Specs[i%len(t.Specs)].String(), &x
	}
	if t.Bare {
		return nil
	}
	o, err := t.Forecast(ctx, t.Plan.Part, t.Plan.Dropped)
	if err != nil {
		return err
	}
	r.Forecast = o
	for i := range r.Parts {
		q := &r.Parts[i]
		budget := t.Budget(i)
		q.EpochS, q.Bytes, q.PeakBytes, q.Budget = &o.BusyS[i], &o.PartBytes[i], &o.Peak[i], &budget
	}
	return nil
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
	return &term.FitError{Err: errors.Join(errs...), Remedy: fmt.Sprintf("give each device %s more (mem=)", term.Size(missing))}
}

// keepPlan writes the plan and the picture where they are wanted.
func keepPlan(t *training.Run, r *partitionReport, out, picture string) error {
	if out != "" {
		if err := rapa.WritePlan(out, t.Plan); err != nil {
			return term.Usagef("--out: %w", err)
		}
		r.Plan = out
	}
	if picture == "" {
		return nil
	}
	trace, cost := r.Trace, "seconds of an epoch"
	if t.ByLambda() || trace == nil {
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
	r.Plot = plotFile(picture)
	return plotTrace(r.Plot, cost, trace, names)
}
