package training

import (
	"context"

	"capgnn/gpu"
	"capgnn/minibatch"
	"capgnn/minibatch/rowcache"
)

// RowsPlan is what the first epoch would fetch of other parts, counted from its samples. It does not depend on devices, and the run fetches so many rows, unless GPUs keep all of them.
type RowsPlan struct {
	Places []RowCount     `json:"places"` // by place of the roots, without a cache
	Ways   []RowCount     `json:"ways"`   // by way to fetch, with the run's place and Cache
	Cache  SmallRowsCache `json:"cache"`
}

// RowCount is what one way fetches.
type RowCount struct {
	Setting  string    `json:"setting"` // as --sampling has it
	Rows     int64     `json:"rows"`
	Bytes    gpu.Bytes `json:"bytes"`
	Requests int64     `json:"requests"`
}

// SmallRowsCache is the smallest cache that fetches at most 5 % more rows than the best one in the first epoch. Later epochs find more rows in a larger one.
type SmallRowsCache struct {
	Setting string  `json:"setting"` // the way to fetch that it is for
	Share   float64 `json:"share"`   // of the rows of other parts that an epoch reads: --sampling cache=
	Slots   []int   `json:"slots"`   // rows by part
	Rows    int64   `json:"rows"`    // that it fetches
	Best    int64   `json:"best"`    // that the best one fetches
}

func rowCountOf(setting string, c *minibatch.Counts) RowCount {
	return RowCount{setting, c.Rows.Fetched + c.Rows.Prefilled, c.Bytes.Rows, c.Requests}
}

// PlanRows samples an epoch of several parts, and counts.
func (t *Run) PlanRows(ctx context.Context) (*RowsPlan, error) {
	return t.planRows(ctx, t.sampledOptions(), nil)
}

// planRows is PlanRows with options. machineOf says on which machine each part is, and that only what crosses between machines is of interest; nil: there is one.
func (t *Run) planRows(ctx context.Context, opt minibatch.Options, machineOf []int) (*RowsPlan, error) {
	out := new(RowsPlan)
	trace := func(o minibatch.Options) *minibatch.Trace {
		x := minibatch.NewTrace(t.Data.Problem, o, t.Parts)
		x.MachineOf = machineOf
		return x
	}
	places := []minibatch.Place{minibatch.Batch, minibatch.Home, minibatch.Hop}
	if opt.Sampling.Local { // which has no others
		places = []minibatch.Place{opt.Sampling.Place}
	}
	for _, place := range places {
		o := opt
		if o.Sampling.Place = place; place != opt.Sampling.Place {
			o.Sampling.NoMerge, o.Sampling.MeasureMerge, o.Sampling.NoGather, o.Sampling.Merged = false, false, false, nil
		}
		counts, err := trace(o).Count(ctx, 1, []minibatch.Way{{Slots: make([]int, t.Parts)}})
		if err != nil {
			return nil, err
		}
		out.Places = append(out.Places, rowCountOf("place="+place.String(), &counts[0][0]))
	}
	return out, t.planWays(ctx, trace(opt), opt.Sampling.Fetch, out)
}

// planWays finds the smallest good cache, and counts what each way to fetch fetches with it.
func (t *Run) planWays(ctx context.Context, trace *minibatch.Trace, rules rowcache.Rules, out *RowsPlan) error {
	if rules.Kind == rowcache.Demand {
		rules = rowcache.Rules{Kind: rowcache.Planned}
	}
	g, err := trace.Smallest(ctx, rules)
	if err != nil {
		return err
	}
	brought := func(c *minibatch.Counts) int64 { return c.Rows.Fetched + c.Rows.Prefilled }
	out.Cache = SmallRowsCache{"fetch=" + rules.Kind.String(), g.Share, g.Slots, brought(&g.Counts), brought(&g.Best)}
	names := []string{"fetch=demand", "fetch=planned", "fetch=planned,lookahead=all", "fetch=rapid", "fetch=rapid,pull=on", "fetch=massive"}
	kinds := []rowcache.Rules{{}, {Kind: rowcache.Planned}, {Kind: rowcache.Planned, Lookahead: rowcache.All}, {Kind: rowcache.Rapid}, {Kind: rowcache.Rapid, Pull: true}, {Kind: rowcache.Massive}}
	var ways []minibatch.Way
	for _, k := range kinds {
		if k.Kind == rules.Kind && k.Lookahead == 0 && !k.Pull {
			pull := k.Pull
			k = rules // as the run has them
			k.Pull = pull
		}
		ways = append(ways, minibatch.Way{Rules: k, Slots: g.Slots})
	}
	counts, err := trace.Count(ctx, 1, ways)
	if err != nil {
		return err
	}
	for i, name := range names {
		out.Ways = append(out.Ways, rowCountOf(name, &counts[i][0]))
	}
	return nil
}
