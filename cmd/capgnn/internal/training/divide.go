package training

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"capgnn/cmd/capgnn/internal/devices"
	"capgnn/cmd/capgnn/internal/runfolder"
	"capgnn/cmd/capgnn/internal/term"
	"capgnn/internal/number"
	"capgnn/profiler"
	"capgnn/rapa"
)

// Divide settles which part each vertex belongs to: by --plan, by the plan of a run that is repeated, by a cached one, or
// by a new one.
func (t *Run) Divide(ctx context.Context) error {
	if err := t.settleNet(); err != nil {
		return err
	}
	if t.Data.Shards != nil {
		t.Plan, t.Config.PlanKey = t.Data.Shards.Plan, t.Data.Shards.Plan.Key
		t.Console.Note("partition: %s: %s", t.Data.Shards.Dir, planText(t.Plan))
		t.noteCut("the shards")
		return nil
	}
	if t.Config.Plan != "" {
		return t.usePlan()
	}
	if t.Parts == 1 && !t.cutting {
		_, err := t.Config.PartsOfMachines(1)
		return err
	}
	if t.recorded() {
		t.Console.Note("partition: as recorded, %s", planText(t.Plan))
		return nil
	}
	t.Config.Set("cache-slots", "") // are of the recorded parts
	t.Config.Set(runfolder.CacheLayers, runfolder.LayersAuto)
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
	t.Config.SettleMachines(t.partsByHost())
	machines, err := t.Config.PartsOfMachines(t.Parts)
	if err != nil {
		return err
	}
	p := t.Data.Problem
	opt := rapa.Options{Method: rapa.Method(t.Config.Partitioner), Objective: rapa.Objective(t.Config.Objective), Parts: t.Parts, Targets: targets, Machines: machines,
		Seed: t.Config.Seed, Graph: t.Data.Sums.Graph, Balance: t.Config.Balance, BalanceBy: balanceBy}
	plan, err := Cut(ctx, t.Console, p.Graph, p.Train, opt, t.PlanFile)
	if err != nil {
		return err
	}
	t.Plan, t.Profile = plan, profile
	if t.changed() {
		if t.uneven() {
			if err := t.agingOf(ctx, profile); err != nil {
				return err
			}
		}
		err = t.fitted(ctx, profile, opt)
	}
	if err == nil {
		t.Config.PlanKey = t.Plan.Key
		t.Console.Note("partition: %s", planText(t.Plan))
		t.noteEdges(balanceBy)
	}
	return err
}

// noteEdges says where parts hold more edges than their shares, by more than the partitioner allows where it balances them, and
// why. Parts of uneven devices hold what takes as long.
func (t *Run) noteEdges(balanceBy []rapa.Quantity) {
	edges, share := int64(0), t.Plan.Balance.Edges
	for _, part := range t.Plan.Parts {
		edges += part.Edges
	}
	if t.uneven() || t.Config.Isolated.Value != nil || share <= rapa.SoftBalance+float64(t.Parts)/float64(edges) { // a bound is rounded up to a whole edge
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
			why = fmt.Sprintf("all edges into a vertex lie in its part, and one has %s of %s", term.Grouped(most), term.Grouped(int(edges)))
		}
	}
	t.Console.Note("partition: a part holds %s times its share of edges: %s", number.Ratio.Text(share), why)
}

// balanceBy returns what parts share out. Memory is looked at where it is tight, once it is known what parts take (fit).
func (t *Run) balanceBy() ([]rapa.Quantity, error) {
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
	text := fmt.Sprintf("%s, %s, %s cut, balance %s", p.Method, term.Counted(len(p.Parts), "part"), term.Counted(int(p.EdgeCut), "edge"), number.Plain.Text(p.Balance.Vertices))
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

// usePlan takes the parts from the file of --plan.
func (t *Run) usePlan() error {
	plan, err := rapa.ReadPlan(t.Config.Plan)
	if err != nil {
		return term.Usagef("--plan %s: %w", t.Config.Plan, err)
	}
	if g := t.Data.Sums.Graph; plan.Graph != g || len(plan.Part) != t.Data.Problem.Vertices() {
		return term.Usagef("--plan %s: the plan is of another graph (%d vertices): make one with `capgnn partition --dataset %s --out FILE`",
			t.Config.Plan, len(plan.Part), t.Config.Dataset)
	}
	if len(plan.Parts) != t.Parts {
		return term.Usagef("--plan %s: the plan has %d parts: give as many --devices, or --parts %d", t.Config.Plan, len(plan.Parts), len(plan.Parts))
	}
	if t.Config.PlanKey != "" && t.Config.PlanKey != plan.Key {
		return term.Usagef("--plan %s: the file holds another plan than when the run was made", t.Config.Plan)
	}
	if t.Config.Sampled() && plan.Dropped != nil {
		return term.Usagef("--plan %s: the plan leaves edges out, which sampled training does not: make one without --prune", t.Config.Plan)
	}
	t.Plan, t.Config.PlanKey = plan, plan.Key
	t.Console.Note("partition: %s: %s", t.Config.Plan, planText(plan))
	t.noteCut("--plan")
	if len(plan.Devices) > 0 && devices.Format(t.Specs) != strings.Join(plan.Devices, ",") {
		t.Console.Note("note: the plan was made for %s", strings.Join(plan.Devices, ","))
	}
	return nil
}

// recorded takes the plan that a config file names from the run's folder or from the cache, and reports whether it was there.
func (t *Run) recorded() bool {
	if t.Config.PlanKey == "" {
		return false
	}
	if t.Plan = findPlan(t.Console, t.Config.PlanKey, t.PlanFile, t.Data.Problem.Vertices()); t.Plan == nil {
		t.Console.Note("note: the plan that the config file names is not there any more: a new one is made")
	} else if len(t.Plan.Parts) != t.Parts { // a prediction on other devices
		t.Plan = nil
	} else if name := t.editedCut(); name != "" {
		t.Console.Note("note: the parts that the config file names were made with another --%s: the graph is cut anew", name)
		t.Plan = nil
	}
	return t.Plan != nil
}

// editedCut names a setting of the config file by which the recorded plan cannot have been made; "": there is none.
func (t *Run) editedCut() string {
	prunes := t.Config.Prune > 0
	switch {
	case string(t.Plan.Method) != t.Config.Partitioner:
		return "partitioner"
	case t.Plan.Costs == nil && t.Plan.Seed != t.Config.Seed: // parts for unequal devices are cut again by further seeds
		return "seed"
	case t.Plan.Dropped != nil && !prunes && t.Config.MaxPrune == 0, t.Plan.Dropped == nil && prunes && t.Plan.EdgeCut > 0:
		return "prune"
	}
	return ""
}

// knownDevices returns what is known of the devices, nil where all count as equal and nothing must be known.
func (t *Run) knownDevices(ctx context.Context) (*profiler.Profile, error) {
	if t.Profile != nil {
		return t.Profile, nil
	}
	if t.Anonymous || t.Config.Profile == "" && !t.uneven() {
		return nil, nil
	}
	return devices.Profile(ctx, t.Console, t.Specs, t.Config.Profile)
}

// targets returns the share of each part, nil = equal. A share that came from a measurement is kept in the config.
func (t *Run) targets(profile *profiler.Profile) ([]float64, error) {
	switch {
	case t.Config.Targets == "equal" || t.Anonymous && t.Config.Targets == "" || t.Config.Isolated.Value != nil: // every chunk comes to every device
		return nil, nil
	case t.Config.Targets != "":
		targets, err := runfolder.ParseFloats(t.Config.Targets)
		if err == nil && len(targets) != t.Parts {
			err = fmt.Errorf("%d shares for %d parts", len(targets), t.Parts)
		}
		if err != nil {
			return nil, term.Usagef("config: targets: %w", err)
		}
		return targets, nil
	}
	var targets []float64
	if profile != nil {
		var err error
		if targets, err = shares(profile.Devices, t.Parts, t.deviceOf, t.Config.Alpha); err != nil {
			return nil, term.AsUsage(err)
		}
	}
	t.Config.Targets = "equal"
	if targets != nil {
		t.Config.Targets = runfolder.FormatFloats(targets)
	}
	return targets, nil
}
