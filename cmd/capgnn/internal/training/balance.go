package training

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"capgnn/cmd/capgnn/internal/devices"
	"capgnn/cmd/capgnn/internal/runfolder"
	"capgnn/cmd/capgnn/internal/term"
	"capgnn/gpu"
	"capgnn/graph"
	"capgnn/profiler"
	"capgnn/rapa"
	"capgnn/rapa/balance"
)

// uneven reports whether parts are made for what devices take: they differ, are known without measuring, or some may be pruned.
func (t *Run) uneven() bool {
	return !t.Anonymous && t.Parts > 1 && (!t.alike() || t.Specs[0].Simulated() || t.Config.MaxPrune > 0)
}

// changed reports whether the partitioner's plan is not yet the one that is trained on. Sampled training takes it as it is: of unequal devices each
// computes its share of a step, wherever the vertices are.
func (t *Run) changed() bool {
	return !t.Config.Sampled() && t.Config.Isolated.Value == nil && (t.uneven() || t.Config.Prune > 0)
}

// ByLambda reports whether parts are balanced by the paper's cost.
func (t *Run) ByLambda() bool { return t.Bare || t.Config.ByLambda() }

// fitted replaces t.plan by one whose parts fit the devices: a cached one, or a new one.
func (t *Run) fitted(ctx context.Context, profile *profiler.Profile, opt rapa.Options) error {
	key, err := t.fittedKey(t.Plan.Key, profile)
	if err != nil {
		return err
	}
	if known := findPlan(t.Console, key, t.PlanFile, t.Data.Problem.Vertices()); known != nil {
		t.Plan = known
		return nil
	}
	start, seconds := time.Now(), t.Plan.Seconds
	plan, err := t.fit(ctx, profile, opt)
	if err == nil {
		plan, err = t.orFromExact(ctx, profile, opt, plan)
	}
	if err != nil {
		return err
	}
	plan.Key, plan.Seconds = key, time.Since(start).Seconds()+seconds
	plan.Devices, plan.DeviceOf = nil, nil
	for _, s := range t.Specs {
		plan.Devices = append(plan.Devices, s.String())
	}
	for i := range t.Parts {
		plan.DeviceOf = append(plan.DeviceOf, t.deviceOf(i))
	}
	t.Plan = plan
	cachePlan(t.Console, t.Plan)
	return nil
}

// orFromExact returns a better plan than one that fit has made of t.plan, if there is one beginning with the parts that fit the devices where all rows move as
// they are stored in every epoch: what encoded and stale rows are compared with. For a run without these there is none.
//
// Why: a fit is a search that ends at the first balanced cut, and with other costs it ends at another one, which may cut many more edges. On its own, a run
// that moves a quarter of the bytes was forecast to take up to half as long again as on the parts of exact rows.
func (t *Run) orFromExact(ctx context.Context, profile *profiler.Profile, opt rapa.Options, plan *rapa.Plan) (*rapa.Plan, error) {
	exact := *t
	exact.trying = true // what it lacks is not said
	exact.forgetAging()
	exact.Config.Staleness = 0
	exact.Config.Set(runfolder.HaloDtype, "fp32")
	exact.Config.Set(runfolder.StaleLayers, runfolder.LayersAuto)
	exact.Config.MaxPrune, exact.Config.Prune = 0, 0
	own, other := t.Config.HaloCache(), exact.Config.HaloCache()
	if !t.uneven() || !exact.uneven() || t.ByLambda() || own.HaloType == other.HaloType && own.Staleness == other.Staleness {
		return plan, nil
	}
	misfit := (*term.FitError)(nil)
	switch err := exact.fitted(ctx, profile, opt); {
	case errors.As(err, &misfit):
		return plan, nil
	case err != nil:
		return nil, err
	}
	estimator := &epochEstimator{t, profile, rapa.NewDirections(t.Data.Problem.Graph)}
	was, err := estimator.Estimate(ctx, plan.Part)
	if err != nil {
		return nil, err
	}
	if is, err := estimator.Estimate(ctx, exact.Plan.Part); err != nil || !is.Better(&was) {
		return plan, err
	}
	exact.Config, exact.Aging, exact.trying = t.Config, t.Aging, t.trying
	return exact.fit(ctx, profile, opt)
}

// fit balances the parts of t.plan, which the partitioner made by opt, for devices that are uneven, and prunes what flags say.
func (t *Run) fit(ctx context.Context, profile *profiler.Profile, opt rapa.Options) (*rapa.Plan, error) {
	p, byUser := t.Data.Problem, t.Config.BalanceBy != ""
	problem := balance.Problem{Graph: rapa.NewDirections(p.Graph), Train: p.Train, SelfLoops: p.Loops == graph.LoopsAdded, Plan: t.Plan, Partition: opt}
	how := balance.Options{ByWork: !byUser, Assign: t.Parts == len(t.Specs) && len(opt.Machines) < 2, Move: t.Config.Move && !byUser,
		MaxPrune: t.Config.MaxPrune, Trim: t.Config.Prune, Score: rapa.PruneScore(t.Config.PruneScore)}
	if !t.uneven() {
		return balance.Trim(ctx, problem, how)
	}
	if t.Config.Move && opt.Method == rapa.Multilevel {
		how.Cut = func(ctx context.Context, opt rapa.Options) (*rapa.Plan, error) {
			plan, err := cutPlan(ctx, t.Console, p.Graph, p.Train, opt, "")
			return plan, term.AsUsage(err)
		}
	}
	plan, err := balance.Fit(ctx, problem, &epochEstimator{t, profile, problem.Graph}, how)
	if e := (*rapa.InfeasibleError)(nil); errors.As(err, &e) {
		return nil, &term.FitError{Err: fmt.Errorf("the parts need about %s, but the devices can give only %s besides what each must hold", term.Size(gpu.Bytes(e.NeedBytes)), term.Size(gpu.Bytes(e.HaveBytes))),
			Remedy: t.enoughDivided(ctx, gpu.Bytes(e.MoreBytes())/gpu.Bytes(len(t.Specs))+1)}
	}
	return plan, err
}

// fittedKey is the key of the plan that fitted makes of the one with this key.
func (t *Run) fittedKey(base string, profile *profiler.Profile) (string, error) {
	var rates []profiler.DeviceProfile
	if profile != nil && t.uneven() {
		rates = profile.Devices
	}
	c := t.Config
	all := []any{"capgnn fitted 4", base, devices.Format(t.Specs), rates, t.Parts, c.Model, c.Layers, c.Hidden, c.Heads, c.Storage,
		c.Cost, !c.Move, c.MaxPrune, c.Prune, c.PruneScore, c.Alpha, runfolder.KeyOf(&c, runfolder.CacheOptions)}
	if m := c.Network(0, 0, false); m.Jumping || m.NoNorm || m.Residual { // each has operations more or less
		all = append(all, m.Jumping, m.NoNorm, m.Residual)
	}
	if c.DropFeatures { // so has its first layer
		all = append(all, "dropped features")
	}
	if machines, _, _ := t.machinesOfForecast(); machines != nil {
		all = append(all, machines, c.Net.String())
	}
	text, err := json.Marshal(all)
	if err != nil {
		return "", fmt.Errorf("key of the plan: %w", err)
	}
	sum := sha256.Sum256(text)
	return hex.EncodeToString(sum[:]), nil
}
