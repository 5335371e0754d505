package pipeline

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"testing"

	"capgnn/gnn"
	"capgnn/gpu"
	"capgnn/gpu/ledger"
	"capgnn/hostmem"
	"capgnn/internal/long"
	"capgnn/jaca"
	"capgnn/pipeline/halo"
)

// A cache that takes what memory leaves leaves enough for all that comes with it: with any budget in which a run without slots
// fits, a run with them fits as well, counted on ledgers.
func TestLocalCachesFit(t *testing.T) {
	t.Parallel()
	const parts = 3
	caches := map[string]halo.Options{
		"pipeline off":    {Staleness: 2},
		"pipeline on":     {Staleness: 4, Pipeline: true},
		"int8":            {Staleness: 2, Pipeline: true, HaloType: halo.Int8},
		"bf16":            {Staleness: 2, HaloType: halo.BF16},
		"paper, one slot": {Policy: jaca.Paper, Staleness: 2, Pipeline: true, Global: jaca.Rows(1)},
	}
	kinds := kinds(t)
	for i, kind := range kinds {
		for k, name := range slices.Sorted(maps.Keys(caches)) {
			c := caches[name]
			if other := (i + k) % len(kinds); other > 0 && (testing.Short() || other > 1 && !long.Wanted()) {
				continue // each cache with two models of four, with -short with one
			}
			t.Run(fmt.Sprintf("%s/%s", kind, name), func(t *testing.T) {
				p, m := task{share: 0.6, multi: true}.make(t, kind)
				part := scatterParts(p.Vertices(), parts)
				if c.Policy == "" {
					c.Policy = jaca.JACA
				}
				c.Host = hostmem.LockOptions{Heap: true}
				// uses returns the high-water marks and the local slots of a run with such a cache and budgets.
				uses := func(c halo.Options, budgets []gpu.Bytes) (marks []gpu.Bytes, slots []int, err error) {
					o := Options{
						Training: Training{Model: netOf(m), Optimizer: gnn.Optimizer{Kind: gnn.Adam, LR: 0.01},
							Epochs: 20, EvalEvery: 1},
						Part: part, Cache: c,
					}
					for i, n := range budgets {
						o.Devices = append(o.Devices, ledger.New(gpu.Info{Name: fmt.Sprintf("cpu:%d", i), Budget: n}))
					}
					tr, err := New(context.Background(), p, o)
					if err != nil {
						return nil, nil, err
					}
					defer tr.Close()
					for _, d := range o.Devices {
						marks = append(marks, d.Memory().HighWater)
					}
					if tr.Caches() != nil {
						slots = tr.Caches().Capacities.Local
					}
					return marks, slots, nil
				}
				bare := c
				bare.Local = jaca.Rows(0)
				least, _, err := uses(bare, make([]gpu.Bytes, parts))
				if err != nil {
					t.Fatal(err)
				}
				full, all, err := uses(c, make([]gpu.Bytes, parts))
				if err != nil {
					t.Fatal(err)
				}
				given := map[int]bool{}
				steps := 12 // up to twice what a run takes
				if long.Wanted() {
					steps = 40
				}
				for step := range steps + 1 {
					var budgets []gpu.Bytes
					for i := range parts {
						most := 2 * max(full[i], least[i])
						budgets = append(budgets, least[i]+(most-least[i])*gpu.Bytes(step)/gpu.Bytes(steps))
					}
					_, slots, err := uses(c, budgets)
					if err != nil {
						t.Fatalf("step %d: %v", step, err)
					}
					given[slots[0]] = true
					if step == steps && !slices.Equal(slots, all) {
						t.Errorf("twice what all slots need gives %d of %d", slots, all)
					}
				}
				if len(given) < 3 {
					t.Errorf("budgets do not matter: slots %v", given)
				}
			})
		}
	}
}
