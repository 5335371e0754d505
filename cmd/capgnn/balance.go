package main

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
	"capgnn/graph"
	"capgnn/profiler"
	"capgnn/rapa"
	"capgnn/rapa/balance"
)

// uneven reports whether parts are made for what devices take: they differ, are known without measuring, or some may be pruned.
func (t *training) uneven() bool {
	return !t.anonymous && t.parts > 1 && (!devices.Alike(t.specs) || t.specs[0].Simulated() || t.cfg.MaxPrune > 0)
}

// changed reports whether the partitioner's plan is not yet the one that is trained on.
func (t *training) changed() bool { return t.uneven() || t.cfg.Prune > 0 }

// lambda reports whether parts are balanced by the paper's cost.
func (t *training) lambda() bool { return t.bare || t.cfg.ByLambda() }

// fitted replaces t.plan by one whose parts fit the devices: a cached one, or a new one.
func (t *training) fitted(ctx context.Context, profile *profiler.Profile, opt rapa.Options) error {
	key, err := t.fittedKey(t.plan.Key, profile)
	if err != nil {
		return err
	}
	if known := findPlan(t.k, key, t.planFile, t.data.Problem.Vertices()); known != nil {
		t.plan = known
		return nil
	}
	start, seconds := time.Now(), t.plan.Seconds
	plan, err := t.fit(ctx, profile, opt)
	if err != nil {
		return err
	}
	plan.Key, plan.Seconds = key, time.Since(start).Seconds()+seconds
	plan.Devices, plan.DeviceOf = nil, nil
	for _, s := range t.specs {
		plan.Devices = append(plan.Devices, s.String())
	}
	for i := range t.parts {
		plan.DeviceOf = append(plan.DeviceOf, i%len(t.specs))
	}
	t.plan = plan
	cachePlan(t.k, t.plan)
	return nil
}

// fit balances the parts of t.plan, which the partitioner made by opt, for devices that are uneven, and prunes what flags say.
func (t *training) fit(ctx context.Context, profile *profiler.Profile, opt rapa.Options) (*rapa.Plan, error) {
	p, byUser := t.data.Problem, t.cfg.BalanceBy != ""
	problem := balance.Problem{Graph: rapa.Both(p.Graph), Train: p.Train, SelfLoops: p.Loops == graph.LoopsAdded, Plan: t.plan, Partition: opt}
	how := balance.Options{ByWork: !byUser, Assign: t.parts == len(t.specs), Move: !t.cfg.NoMove && !byUser,
		MaxPrune: t.cfg.MaxPrune, Trim: t.cfg.Prune, Score: rapa.PruneScore(t.cfg.PruneScore)}
	if !t.uneven() {
		return balance.Trim(ctx, problem, how)
	}
	if !t.cfg.NoMove && opt.Method == rapa.Multilevel {
		how.Cut = func(ctx context.Context, opt rapa.Options) (*rapa.Plan, error) {
			plan, err := cutPlan(ctx, t.k, p.Graph, p.Train, opt, "")
			return plan, term.AsUsage(err)
		}
	}
	plan, err := balance.Fit(ctx, problem, &epochEstimator{t, profile, problem.Graph}, how)
	if infeasible := (*rapa.InfeasibleError)(nil); errors.As(err, &infeasible) {
		return nil, asFit(err)
	}
	return plan, err
}

// fittedKey is the key of the plan that fitted makes of the one with this key.
func (t *training) fittedKey(base string, profile *profiler.Profile) (string, error) {
	var rates []profiler.DeviceProfile
	if profile != nil && t.uneven() {
		rates = profile.Devices
	}
	c := t.cfg
	text, err := json.Marshal([]any{"capgnn fitted 2", base, devices.Format(t.specs), rates, t.parts, c.Model, c.Layers, c.Hidden, c.Heads, c.Storage,
		c.Savings, c.Cost, c.NoMove, c.MaxPrune, c.Prune, c.PruneScore, c.Alpha, c.Rescale, runfolder.ValuesOf(&c, runfolder.CacheOptions)})
	if err != nil {
		return "", fmt.Errorf("key of the plan: %w", err)
	}
	sum := sha256.Sum256(text)
	return hex.EncodeToString(sum[:]), nil
}
