package experiments

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"capgnn/cmd/capgnn/internal/devices"
	"capgnn/cmd/capgnn/internal/runfolder"
	"capgnn/internal/bench"
	"capgnn/jaca"
	"capgnn/pipeline"
)

// kindReplay is a cell in which the caches of a plan are run through epochs without moving anything.
const kindReplay = "replay"

// alikeDevices are as many simulated devices as parts are wanted, where nothing depends on what they are.
func alikeDevices(parts int) string {
	return strings.TrimSuffix(strings.Repeat("sim:rtx3090,", parts), ",")
}

// replayed is the cell of a setting's caches. Rows age whatever a forecast says of time.
func (b *Bench) replayed(s setting) cell {
	s.Epochs, s.EvalEvery, s.StaleLayers = 0, 0, runfolder.LayersWide
	return cell{s.id(kindReplay), func(ctx context.Context) (*bench.Line, error) { return b.replay(ctx, s) }}
}

// replay counts lookups and bytes of one whole period, per epoch, behind a warm-up: an epoch, or a period for fifo, lru.
func (b *Bench) replay(ctx context.Context, s setting) (*bench.Line, error) {
	t, err := b.prepare(ctx, s)
	if err != nil {
		return nil, err
	}
	profile, err := devices.CardProfile(t.Specs)
	if err != nil {
		return nil, err
	}
	opened, err := devices.OpenForecast(t.Specs, profile, nil, nil, 0)
	if err != nil {
		return nil, err
	}
	opt := t.ProblemOptions()
	for p := range t.Workers() {
		opt.Devices = append(opt.Devices, opened[p%len(opened)])
	}
	trainer, err := pipeline.New(ctx, t.Data.Problem, opt)
	if err != nil {
		return nil, errors.Join(err, devices.CloseAll(opened))
	}
	plan := trainer.Caches()
	if err := errors.Join(trainer.Close(), devices.CloseAll(opened)); err != nil {
		return nil, err
	}
	bound, pipelined := t.Config.Staleness, t.Config.Pipelined()
	if !trainer.Ages() { // the caches are those of exact epochs
		bound, pipelined = 0, false
	}
	schedule, err := jaca.NewSchedule(bound, pipelined, 0)
	if err != nil {
		return nil, err
	}
	l := newLine()
	if plan == nil { // caches too small for a row: nothing is looked up
		l.Values["coverage"], l.Values["hit_rate"], l.Values["mean_age"] = 0, 0, 0
		return l, nil
	}
	if plan, err = under(s.Policy, plan, schedule.Period); err != nil {
		return nil, err
	}
	r := jaca.NewReplay(plan, slices.Repeat([]jaca.Schedule{schedule}, len(plan.Tables)))
	warm := 1
	if plan.Policy.Dynamic() {
		warm = schedule.Period
	}
	r.Run(0, warm)
	stats := r.Run(warm, warm+schedule.Period)
	n := float64(schedule.Period)
	l.Values["coverage"], l.Values["hit_rate"], l.Values["mean_age"] = stats.Coverage(), stats.HitRate(), stats.MeanAge()
	l.Values["halo_bytes"], l.Values["lookups"] = float64(stats.Bytes.Total())/n, float64(stats.Lookups)/n
	if plan.Links.H2D != nil { // of equal cards
		b, up, down := &stats.Bytes, plan.Links.H2D[0], plan.Links.D2H[0]
		seconds := float64(b.H2D)*up + float64(b.D2H)*down + float64(b.Peer)*max(up, down)
		l.Values["communication_s"] = seconds / n / float64(t.Parts)
	}
	l.Values["union_global"], l.Values["slot_bytes"] = float64(plan.Capacities.GlobalUnion), float64(plan.Capacities.Slot)
	return l, nil
}

// under returns a plan of the same caches under another policy.
func under(policy jaca.Policy, p *jaca.Plan, period int) (*jaca.Plan, error) {
	if p.Policy == policy {
		return p, nil
	}
	var exchanges []jaca.Exchange
	for _, t := range p.Tables {
		exchanges = append(exchanges, t.Exchange)
	}
	return jaca.Build(exchanges, &p.Capacities, jaca.Options{Policy: policy, Links: p.Links, Period: period})
}

// percentSize writes a share of the rows that a cache could hold.
func percentSize(p float64) string { return fmt.Sprintf("%g%%", p) }
