package main

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"math"
	"path/filepath"
	"slices"
	"time"

	"capgnn/graph"
	"capgnn/rapa"
)

// shareStep is the step to which measured speeds are rounded before they decide anything: 5 % (DESIGN.md 10), so that
// noise of a measurement does not change a partition.
const shareStep = 0.05

// shares returns the share of the work of each part, part p lying on device p mod len(speed): in proportion to the
// devices' speeds, which are rounded to shareStep of the fastest. It is nil where all parts are equal.
func shares(speed []float64, parts int) []float64 {
	used := min(len(speed), parts)
	fastest := slices.Max(speed[:used])
	share, sum, equal := make([]float64, parts), 0.0, true
	for p := range share {
		d := p % used
		onDevice := (parts - d + used - 1) / used
		share[p] = max(shareStep, math.Round(speed[d]/fastest/shareStep)*shareStep) / float64(onDevice)
		sum += share[p]
		equal = equal && share[p] == share[0]
	}
	if equal {
		return nil
	}
	for p := range share {
		share[p] /= sum
	}
	return share
}

// partition returns the plan for opt: the one in file if it fits, else the cached one, else a new one, which is cached.
func partition(ctx context.Context, k *console, g *graph.CSR, train []bool, opt rapa.Options, file string) (*rapa.Plan, error) {
	key := rapa.Key(g, train, opt)
	cached, err := planPath(key)
	if err != nil {
		k.note("plans are not cached: %v", err)
	}
	for _, path := range []string{file, cached} {
		if path == "" {
			continue
		}
		plan, err := rapa.ReadPlan(path)
		switch {
		case err == nil && plan.Key == key && len(plan.Part) == g.Rows():
			return plan, nil
		case err != nil && !errors.Is(err, fs.ErrNotExist):
			k.note("%v", err)
		}
	}
	bar := k.begin("partition", 100, 2*time.Second)
	plan, err := rapa.Partition(ctx, g, train, opt, func(done, total int) {
		bar.at(int(100*int64(done)/int64(max(1, total))), "%")
	})
	bar.end()
	if err != nil {
		return nil, asUsage(err)
	}
	if cached != "" {
		if err := rapa.WritePlan(cached, plan); err != nil {
			k.note("the plan is not cached: %v", err)
		}
	}
	return plan, nil
}

// planPath returns where the plan with this key is cached.
func planPath(key string) (string, error) {
	dir, err := cacheFolder()
	if err != nil {
		return "", fmt.Errorf("no cache folder: %w", err)
	}
	return filepath.Join(dir, "plan-"+key[:32]+".bin"), nil
}
