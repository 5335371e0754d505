package main

import (
	"context"
	"fmt"
	"strings"

	"capgnn/cmd/capgnn/internal/devices"
	"capgnn/cmd/capgnn/internal/runfolder"
	"capgnn/cmd/capgnn/internal/term"
	"capgnn/internal/number"
	"capgnn/profiler"
	"capgnn/rapa"
)

// divide settles which part each vertex belongs to: by --plan, by the plan of a run that is repeated, by a cached one, or
// by a new one.
func (t *training) divide(ctx context.Context) error {
	if t.cfg.Plan != "" {
		return t.usePlan()
	}
	if t.parts == 1 && !t.cutting {
		return nil
	}
	if t.recorded() {
		t.k.Note("partition: as recorded, %s", planText(t.plan))
		return nil
	}
	t.cfg.CacheSlots = "" // are of the recorded parts
	profile, err := t.knownDevices(ctx)
	if err != nil {
		return err
	}
	targets, err := t.targets(profile)
	if err != nil {
		return err
	}
	balanceBy, err := t.balanceBy()
	if err != nil {
		return err
	}
	p := t.data.Problem
	opt := rapa.Options{Method: rapa.Method(t.cfg.Partitioner), Objective: rapa.Objective(t.cfg.Objective), Parts: t.parts, Targets: targets,
		Seed: t.cfg.Seed, Graph: t.data.Sums.Graph, Balance: t.cfg.Balance, BalanceBy: balanceBy}
	plan, err := partition(ctx, t.k, p.Graph, p.Train, opt, t.planFile)
	if err != nil {
		return err
	}
	t.plan, t.profile = plan, profile
	if t.changed() {
		err = t.fitted(ctx, profile, opt)
	}
	if err == nil {
		t.cfg.PlanKey = t.plan.Key
		t.k.Note("partition: %s", planText(t.plan))
	}
	return err
}

// balanceBy returns what parts share out. Memory is looked at where it is tight, once it is known what parts take (fit).
func (t *training) balanceBy() ([]rapa.Quantity, error) {
	if t.cfg.BalanceBy == "" {
		return []rapa.Quantity{rapa.ByVertices, rapa.ByEdges, rapa.ByTrain}, nil
	}
	var out []rapa.Quantity
	for item := range strings.SplitSeq(t.cfg.BalanceBy, ",") {
		switch q := rapa.Quantity(strings.TrimSpace(item)); {
		case q == rapa.ByWork:
			return nil, term.Usagef("--balance-by %s: leave it away: work is what --devices balance by themselves", q)
		case q != rapa.ByMemory:
			out = append(out, q)
		case t.anonymous:
			return nil, term.Usagef("--balance-by %s: say of which --devices", q)
		}
	}
	return out, nil
}

// planText sums a plan up in a line.
func planText(p *rapa.Plan) string {
	text := fmt.Sprintf("%s, %s, %s edges cut, balance %s", p.Method, term.Counted(len(p.Parts), "part"), term.Grouped(p.EdgeCut), number.Plain.Text(p.Balance.Vertices))
	if p.Moved > 0 {
		text += fmt.Sprintf(", %s vertices moved to even the devices", term.Grouped(p.Moved))
	}
	if p.Lost.Edges > 0 {
		text += fmt.Sprintf(", %s of the cut edges pruned", term.Percentage(p.Lost.Share))
	}
	if p.Stop != "" {
		text += fmt.Sprintf(" (%s)", p.Stop)
	}
	return text
}

// usePlan takes the parts from the file of --plan.
func (t *training) usePlan() error {
	plan, err := rapa.ReadPlan(t.cfg.Plan)
	if err != nil {
		return term.Usagef("--plan %s: %w", t.cfg.Plan, err)
	}
	if g := t.data.Sums.Graph; plan.Graph != g || len(plan.Part) != t.data.Problem.Vertices() {
		return term.Usagef("--plan %s: the plan is of another graph (%d vertices): make one with `capgnn partition --dataset %s --out FILE`",
			t.cfg.Plan, len(plan.Part), t.cfg.Dataset)
	}
	if len(plan.Parts) != t.parts {
		return term.Usagef("--plan %s: the plan has %d parts: give as many --devices, or --parts %d", t.cfg.Plan, len(plan.Parts), len(plan.Parts))
	}
	if t.cfg.PlanKey != "" && t.cfg.PlanKey != plan.Key {
		return term.Usagef("--plan %s: the file holds another plan than when the run was made", t.cfg.Plan)
	}
	t.plan, t.cfg.PlanKey = plan, plan.Key
	t.k.Note("partition: %s: %s", t.cfg.Plan, planText(plan))
	if len(plan.Devices) > 0 && devices.Format(t.specs) != strings.Join(plan.Devices, ",") {
		t.k.Note("note: the plan was made for %s", strings.Join(plan.Devices, ","))
	}
	return nil
}

// recorded takes the plan that a config file names from the run's folder or from the cache, and reports whether it was there.
func (t *training) recorded() bool {
	if t.cfg.PlanKey == "" {
		return false
	}
	if t.plan = findPlan(t.k, t.cfg.PlanKey, t.planFile, t.data.Problem.Vertices()); t.plan == nil {
		t.k.Note("note: the plan that the config file names is not there any more: a new one is made")
	}
	return t.plan != nil
}

// knownDevices returns what is known of the devices, nil where all count as equal and nothing must be known.
func (t *training) knownDevices(ctx context.Context) (*profiler.Profile, error) {
	if t.profile != nil {
		return t.profile, nil
	}
	if t.anonymous || t.cfg.Profile == "" && !t.uneven() {
		return nil, nil
	}
	return devices.Profile(ctx, t.k, t.specs, t.cfg.Profile)
}

// targets returns the share of each part, nil = equal. A share that came from a measurement is kept in the config.
func (t *training) targets(profile *profiler.Profile) ([]float64, error) {
	switch {
	case t.cfg.Targets == "equal" || t.anonymous:
		return nil, nil
	case t.cfg.Targets != "":
		targets, err := runfolder.ParseFloats(t.cfg.Targets)
		if err == nil && len(targets) != t.parts {
			err = fmt.Errorf("%d shares for %d parts", len(targets), t.parts)
		}
		if err != nil {
			return nil, term.Usagef("config: targets: %w", err)
		}
		return targets, nil
	}
	var targets []float64
	if profile != nil {
		var err error
		if targets, err = shares(profile.Devices, t.parts, t.cfg.Alpha); err != nil {
			return nil, term.AsUsage(err)
		}
	}
	t.cfg.Targets = "equal"
	if targets != nil {
		t.cfg.Targets = runfolder.FormatFloats(targets)
	}
	return targets, nil
}
