package training

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"capgnn/cmd/capgnn/internal/devices"
	"capgnn/cmd/capgnn/internal/diskcache"
	"capgnn/cmd/capgnn/internal/runfolder"
	"capgnn/cmd/capgnn/internal/term"
	"capgnn/internal/number"
	"capgnn/internal/shell"
	"capgnn/profiler"
	"capgnn/rapa"
)

// Divide decides which part each vertex belongs to: by --plan, by the plan of a run that is repeated, by a cached one,
// or by a new one.
func Divide(ctx context.Context, t Forecaster) (Decisions, error) {
	if err := t.settleNet(); err != nil {
		return t.Decisions, err
	}
	c, shards := &t.Config, t.Data.Shards
	switch {
	case shards != nil:
		t.Plan, c.PlanKey = shards.Plan, shards.Plan.Key
		t.Console.Note("partition: %s: %s", shards.Dir, planText(t.Plan))
		t.noteCut("the shards")
		return t.Decisions, nil
	case c.Plan != "":
		plan, err := planOf(&t)
		if err == nil {
			t.Plan, c.PlanKey = plan, plan.Key
		}
		return t.Decisions, err
	case t.Parts == 1 && !t.cutting:
		_, err := c.PartsOfMachines(1)
		return t.Decisions, err
	}
	if t.Plan = recorded(&t); t.Plan != nil {
		t.Console.Note("partition: as recorded, %s", planText(t.Plan))
		return t.Decisions, nil
	}
	c.Set("cache-slots", "") // are of the recorded parts
	c.Set(runfolder.CacheLayers, runfolder.LayersAuto)
	profile, err := knownDevices(ctx, &t)
	if err != nil {
		return t.Decisions, err
	}
	targets, err := settleTargets(&t, profile)
	if err != nil {
		return t.Decisions, err
	}
	balanceBy, err := balanceBy(&t)
	if err != nil {
		return t.Decisions, err
	}
	c.SettleMachines(t.partsByHost())
	machines, err := c.PartsOfMachines(t.Parts)
	if err != nil {
		return t.Decisions, err
	}
	p := t.Data.Problem
	opt := rapa.Options{Method: rapa.Method(c.Partitioner), Objective: rapa.Objective(c.Objective), Parts: t.Parts,
		Targets: targets, Machines: machines, Seed: c.Seed, Graph: t.Data.Sums.Graph, Balance: c.Balance,
		BalanceBy: balanceBy}
	if t.Plan, err = diskcache.Cut(ctx, t.Console, p.Graph, p.Train, opt, t.PlanFile); err != nil {
		return t.Decisions, err
	}
	t.Profile = profile
	if t.changed() {
		if t.uneven() {
			if t.Decisions, err = agingOf(ctx, t); err != nil {
				return t.Decisions, err
			}
		}
		t.Plan, err = fitted(ctx, t, opt)
	}
	if err == nil {
		c.PlanKey = t.Plan.Key
		t.Console.Note("partition: %s", planText(t.Plan))
		noteEdges(&t, balanceBy)
	}
	return t.Decisions, err
}

// noteEdges says where parts hold more edges than their shares, by more than the partitioner allows where it balances
// them, and why. Parts of uneven devices hold what takes as long.
func noteEdges(t *Forecaster, balanceBy []rapa.Quantity) {
	edges, share := int64(0), t.Plan.Balance.Edges
	for _, part := range t.Plan.Parts {
		edges += part.Edges
	}
	bound := rapa.SoftBalance + float64(t.Parts)/float64(edges) // it is rounded up to a whole edge
	if t.uneven() || t.Config.Isolated.Value != nil || share <= bound {
		return
	}
	why := "`--partitioner by=vertices,edges` shares edges out, too, and may cut more of them"
	if slices.Contains(balanceBy, rapa.ByEdges) {
		most := 0
		for v := range t.Plan.Part {
			most = max(most, len(t.Data.Problem.Graph.Row(v)))
		}
		why = "no better parts were found within the bounds on what else --partitioner by= names"
		if float64(most*t.Parts) > rapa.SoftBalance*float64(edges) {
			why = fmt.Sprintf("all edges into a vertex lie in its part, and one has %s of %s",
				term.Grouped(most), term.Grouped(int(edges)))
		}
	}
	t.Console.Note("partition: a part holds %s times its share of edges: %s", number.Ratio.Text(share), why)
}

// balanceBy returns what parts share out. Memory is looked at where it is tight, once it is known what parts take
// (fit).
func balanceBy(t *Forecaster) ([]rapa.Quantity, error) {
	if t.Config.BalanceBy == "" {
		return []rapa.Quantity{rapa.ByVertices, rapa.ByEdges, rapa.ByTrain}, nil
	}
	var out []rapa.Quantity
	for item := range strings.SplitSeq(t.Config.BalanceBy, ",") {
		switch q := rapa.Quantity(strings.TrimSpace(item)); {
		case q == rapa.ByWork:
			return nil, term.Usagef("--partitioner by=%s: drop it: work is what --devices balance by themselves", q)
		case q != rapa.ByMemory:
			out = append(out, q)
		case t.Anonymous:
			return nil, term.Usagef("--partitioner by=%s: say of which --devices", q)
		}
	}
	return out, nil
}

// planText sums a plan up in a line.
func planText(p *rapa.Plan) string {
	text := fmt.Sprintf("%s, %s, %s cut, balance %s", p.Method, term.Counted(len(p.Parts), "part"),
		term.Counted(int(p.EdgeCut), "edge"), number.Plain.Text(p.Balance.Vertices))
	if p.Moved > 0 {
		text += fmt.Sprintf(", %s moved to balance the load", term.Counted(int(p.Moved), "vertex"))
	}
	if p.Lost.Edges > 0 {
		text += fmt.Sprintf(", %s of the cut edges pruned", term.Percentage(p.Lost.Share))
	}
	if p.Stop != "" {
		text += fmt.Sprintf(" (%s)", p.Stop)
	}
	return text
}

// planOf returns the plan in the file of --plan.
func planOf(t *Forecaster) (*rapa.Plan, error) {
	c := &t.Config
	refuse := func(format string, a ...any) (*rapa.Plan, error) {
		return nil, term.Usagef("--plan %s: "+format, append([]any{c.Plan}, a...)...)
	}
	plan, err := rapa.ReadPlan(c.Plan)
	if err != nil {
		return refuse("%w", err)
	}
	switch {
	case plan.Graph != t.Data.Sums.Graph || len(plan.Part) != t.Data.Problem.Vertices():
		return refuse("the plan is of another graph (%d vertices): make one with `capgnn partition --dataset %s --out FILE`",
			len(plan.Part), shell.Word(c.Dataset))
	case len(plan.Parts) != t.Parts:
		return refuse("the plan has %d parts: give as many --devices, or --parts %d", len(plan.Parts), len(plan.Parts))
	case c.PlanKey != "" && c.PlanKey != plan.Key:
		return refuse("the file holds another plan than when the run was made")
	case c.Sampled() && plan.Dropped != nil:
		return refuse("the plan leaves edges out, which sampled training does not: make one without --prune")
	}
	t.Console.Note("partition: %s: %s", c.Plan, planText(plan))
	t.noteCut("--plan")
	if made := strings.Join(plan.Devices, ","); len(plan.Devices) > 0 && devices.Format(t.Specs) != made {
		t.Console.Note("note: the plan was made for %s", made)
	}
	return plan, nil
}

// recorded returns the plan that a config file names, from the run's folder or from the cache; nil: it is not there.
func recorded(t *Forecaster) *rapa.Plan {
	if t.Config.CutEdited() {
		t.Console.Note("note: the config file was changed in what decides its parts: the graph is cut anew")
	}
	if t.Config.PlanKey == "" {
		return nil
	}
	plan := t.findPlan(t.Config.PlanKey)
	switch {
	case plan == nil:
		t.Console.Note("note: the plan that the config file names is not there any more: a new one is made")
	case len(plan.Parts) != t.Parts: // a prediction on other devices
		return nil
	case plan.Graph != t.Data.Sums.Graph:
		t.Console.Note("note: the parts that the config file names are of another graph: it is cut anew")
		return nil
	}
	return plan
}

// knownDevices returns what is known of the devices, nil where all count as equal and nothing must be known.
func knownDevices(ctx context.Context, t *Forecaster) (*profiler.Profile, error) {
	if t.Profile == nil && (t.Anonymous || t.Config.Profile == "" && !t.uneven()) {
		return nil, nil
	}
	return t.Measured(ctx)
}

// settleTargets returns the share of each part, nil = equal. A share that came from a measurement is kept in the
// config.
func settleTargets(t *Forecaster, profile *profiler.Profile) (targets []float64, err error) {
	c := &t.Config
	switch {
	case c.Targets == "equal" || t.Anonymous && c.Targets == "" || c.Isolated.Value != nil: // chunks come to every device
		return nil, nil
	case c.Targets != "":
		if targets, err = runfolder.ParseFloats(c.Targets); err == nil && len(targets) != t.Parts {
			err = fmt.Errorf("%d shares for %d parts", len(targets), t.Parts)
		}
		if err != nil {
			return nil, term.Usagef("config: targets: %w", err)
		}
		return targets, nil
	case profile != nil:
		if targets, err = shares(profile.Devices, t.Parts, t.deviceOf, c.Alpha); err != nil {
			return nil, term.AsUsage(err)
		}
	}
	c.Targets = "equal"
	if targets != nil {
		c.Targets = runfolder.FormatFloats(targets)
	}
	return targets, nil
}

// shares returns the share of the work of each part: in proportion to what the devices can do (rapa.Targets; devices of
// one hardware count as equal). It is nil where all parts are equal.
func shares(rows []profiler.DeviceProfile, parts int, deviceOf func(part int) int, alpha float64) ([]float64, error) {
	used := min(len(rows), parts)
	rates := make([]rapa.Rate, used)
	for i, r := range rows[:used] {
		rates[i] = rapa.Rate{Class: r.UUID, MM: r.MM.Median, SpMM: r.SpMM.Median}
	}
	ofDevice, err := rapa.Targets(rates, alpha, 0)
	if err != nil {
		return nil, err
	}
	onDevice := make([]int, used)
	for p := range parts {
		onDevice[deviceOf(p)]++
	}
	share, equal := make([]float64, parts), true
	for p := range share {
		d := deviceOf(p)
		share[p] = ofDevice[d] / float64(onDevice[d])
		equal = equal && share[p] == share[0]
	}
	if equal {
		return nil, nil
	}
	return share, nil
}

// settleShares decides which share of a step's roots each part computes: by the speed of its device, unless parts take
// roots of their own.
func settleShares(ctx context.Context, t Forecaster) (Decisions, error) {
	if t.Parts == 1 || t.Config.Sampling.Value.Local || t.Config.Isolated.Value != nil {
		return t.Decisions, nil
	}
	profile, err := t.Profile, error(nil)
	if t.Config.Targets == "" {
		if profile, err = knownDevices(ctx, &t); err != nil {
			return t.Decisions, err
		}
	}
	t.shares, err = settleTargets(&t, profile)
	return t.Decisions, err
}

// findPlan is the plan of this key for the data, looked at in PlanFile first.
func (in *Input) findPlan(key string) *rapa.Plan {
	return diskcache.FindPlan(in.Console, key, in.PlanFile, in.Data.Problem.Vertices())
}
