package diskcache

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"io/fs"
	"path/filepath"
	"time"

	"capgnn/cmd/capgnn/internal/term"
	"capgnn/graph"
	"capgnn/rapa"
)

// FindPlan returns the plan of this key: the one in file if it fits, else the cached one; nil if there is neither.
func FindPlan(k *term.Console, key, file string, vertices int) *rapa.Plan {
	for _, path := range []string{file, planPath(key)} {
		if path == "" {
			continue
		}
		plan, err := rapa.ReadPlan(path)
		switch {
		case err == nil && plan.Key == key && len(plan.Part) == vertices:
			return plan
		case err != nil && !errors.Is(err, fs.ErrNotExist):
			k.Note("%v", err)
		}
	}
	return nil
}

// KeepPlan keeps a plan for later runs.
func KeepPlan(k *term.Console, plan *rapa.Plan) {
	path := planPath(plan.Key)
	if path == "" {
		return
	}
	if err := rapa.WritePlan(path, plan); err != nil {
		k.Note("the plan is not cached: %v", err)
	}
}

// Cut returns the plan for opt: the one in file if it fits, else the cached one, else a new one, which is cached.
func Cut(ctx context.Context, k *term.Console, g *graph.CSR, train []bool, opt rapa.Options,
	file string) (*rapa.Plan, error) {
	if plan := FindPlan(k, rapa.Key(g, train, opt), file, g.Rows()); plan != nil {
		return plan, nil
	}
	k.Enter(term.Cutting)
	bar := k.Begin("partition", term.ProgressSteps, term.UnitShare, 2*time.Second)
	plan, err := rapa.Partition(ctx, g, train, opt, func(done, total int) {
		bar.At(term.ProgressSteps*int64(done)/int64(max(1, total)), "")
	})
	bar.End()
	if err != nil {
		return nil, term.AsUsage(err)
	}
	KeepPlan(k, plan)
	return plan, nil
}

// planPath returns where the plan with this key is cached, "" if nowhere: there is no cache, or it is no key of a plan.
func planPath(key string) string {
	if sum, err := hex.DecodeString(key); err != nil || len(sum) != sha256.Size {
		return ""
	}
	dir, err := term.CacheFolder()
	if err != nil {
		return ""
	}
	return filepath.Join(dir, "plan-"+key[:32]+".bin")
}
