package main

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"time"

	"capgnn/cmd/capgnn/internal/devices"
	"capgnn/cmd/capgnn/internal/runfolder"
	"capgnn/cmd/capgnn/internal/term"
	"capgnn/gpu"
	"capgnn/graph"
	"capgnn/profiler"
	"capgnn/rapa"
)

const (
	// fitRounds and evenRounds bound how often the graph is cut anew and how often vertices move; what parts cost is exact
	// where it was simulated.
	fitRounds, evenRounds = 3, 6
	// evenEnough ends it: the deviation of the parts' costs over their mean, the paper's ε.
	evenEnough = 0.01
)

// uneven reports whether parts are made for what devices take: they differ, are known without measuring, or some may be pruned.
func (t *training) uneven() bool {
	return !t.anonymous && t.parts > 1 && (!devices.Alike(t.specs) || t.specs[0].Simulated() || t.cfg.MaxPrune > 0)
}

// changed reports whether the partitioner's plan is not yet the one that is trained on.
func (t *training) changed() bool { return t.uneven() || t.cfg.Prune > 0 }

// lambda reports whether the paper's cost is what is evened.
func (t *training) lambda() bool { return t.bare || t.cfg.ByLambda() }

// fitted replaces t.plan by one whose parts fit the devices: a cached one, or a new one.
func (t *training) fitted(ctx context.Context, profile *profiler.Profile, opt rapa.Options) error {
	key, err := t.fittedKey(t.plan.Key, profile)
	if err != nil {
		return err
	}
	if known := findPlan(t.k, key, t.planFile, t.data.problem.Vertices()); known != nil {
		t.plan = known
		return nil
	}
	e := &evening{training: t, profile: profile, opt: opt, d: rapa.Both(t.data.problem.Graph), part: t.plan.Part, placed: t.plan.Part, start: time.Now()}
	steps := []func(context.Context) error{e.trim}
	if t.uneven() {
		steps = []func(context.Context) error{e.fit, e.assign, e.move, e.prune, e.trim}
	}
	for _, step := range steps {
		if err := errors.Join(step(ctx), ctx.Err()); err != nil {
			return err
		}
	}
	if err := e.finish(key); err != nil {
		return err
	}
	cachePlan(t.k, t.plan)
	return nil
}

// evening is the state of training.even.
type evening struct {
	*training
	start   time.Time
	profile *profiler.Profile
	opt     rapa.Options // of the partitioner
	d       rapa.Directions
	part    []int32
	placed  []int32 // as the partitioner cut and assign has placed the parts
	trace   []rapa.Iteration
	stop    rapa.Stop
	costs   []rapa.PartCost // by which parts were evened last
	lost    *rapa.Adjustment
}

// rates returns what the cost model knows of the device of every part.
func (t *training) rates(profile *profiler.Profile) []rapa.Rate {
	rates := make([]rapa.Rate, t.parts)
	for p := range rates {
		r := profile.Devices[p%len(profile.Devices)]
		rates[p] = rapa.Rate{Class: r.UUID, MM: r.MM.Median, SpMM: r.SpMM.Median, H2D: r.H2D.Median, D2H: r.D2H.Median, IDT: r.IDT.Median}
	}
	return rates
}

// look simulates an epoch with the parts as they are and sets the table of what parts cost on their devices.
func (e *evening) look(ctx context.Context) (v view, err error) {
	if v.counts, err = rapa.Count(e.d, e.part, e.parts); err != nil {
		return v, err
	}
	v.memory = rapa.Memory{Have: make([]int64, e.parts)}
	if e.bare {
		return v, e.lookAtLambda(&v)
	}
	o, err := e.forecast(ctx, e.profile, e.part, nil)
	if err != nil {
		return v, err
	}
	v.memory = e.memory(o, v.counts)
	for i, need := range o.peak {
		v.lack += max(0, need-e.budget(e.profile, i))
	}
	e.costs, v.score = o.costs(v.counts), o.EpochS
	e.shared(e.costs)
	for i, busy := range o.BusyS {
		v.cost = append(v.cost, float64(e.neighbours(i))*busy)
	}
	v.sigma = deviation(v.cost)
	if e.lambda() {
		err = e.lookAtLambda(&v)
	}
	return v, err
}

// lookAtLambda judges the parts by the paper's cost.
func (e *evening) lookAtLambda(v *view) (err error) {
	if e.costs, err = rapa.Lambda(e.rates(e.profile), e.cfg.Alpha); err != nil {
		return err
	}
	e.shared(e.costs)
	v.cost = make([]float64, e.parts)
	for i, c := range e.costs {
		v.cost[i] = c.Of(v.counts[i])
	}
	v.score, v.sigma = slices.Max(v.cost), deviation(v.cost)
	return nil
}

// costs returns the outlook as a table of what a part's device computes for an inner vertex and for an edge: exact for the
// parts that were simulated. Transfers, and putting rows together for them, count as fixed: which rows are exchanged depends on
// the layer, and moving a few vertices changes little of it.
func (o *outlook) costs(counts []rapa.Counts) []rapa.PartCost {
	costs := make([]rapa.PartCost, len(counts))
	for i, u := range o.parts {
		costs[i] = rapa.PartCost{
			Fixed:    (u.Time[gpu.PhaseReduce] + u.Time[gpu.PhasePick]).Seconds() + o.Open*transferSeconds(u),
			PerInner: (u.Time[gpu.PhaseMM] + u.Time[gpu.PhaseOther]).Seconds() / float64(max(1, counts[i].Inner)),
			PerEdge:  u.Time[gpu.PhaseAggregation].Seconds() / float64(max(1, counts[i].Edges)),
		}
	}
	return costs
}

// shared makes costs of parts count as often as there are parts on their device: those are even if each takes its share.
func (t *training) shared(costs []rapa.PartCost) {
	for i := range costs {
		c, k := &costs[i], float64(t.neighbours(i))
		c.Fixed, c.PerInner, c.PerEdge, c.PerOuter = k*c.Fixed, k*c.PerInner, k*c.PerEdge, k*c.PerOuter
	}
}

// neighbours returns the number of parts on the device of part i, that one included.
func (t *training) neighbours(i int) int {
	d := len(t.specs)
	return (t.parts - i%d + d - 1) / d
}

// fit cuts the graph anew, with shares and weights by what the parts cost the devices before, and keeps the best.
func (e *evening) fit(ctx context.Context) error {
	if e.cfg.NoMove || rapa.Method(e.cfg.Partitioner) != rapa.Multilevel {
		return nil
	}
	var states []state
	for round := 0; ; round++ {
		v, err := e.look(ctx)
		if err != nil {
			return err
		}
		s := v.of(e.part)
		s.plan, s.trace = e.training.plan, []rapa.Iteration{v.iteration()}
		if round > 0 {
			s.trace = append(states[0].trace[:1:1], s.trace...)
		}
		states = append(states, s)
		if round == fitRounds || round > 0 && v.sigma < evenEnough && v.lack == 0 {
			break
		}
		if e.opt.Targets, err = rapa.TargetsByCost(e.costs, v.whole(), v.memory); err != nil {
			return asFit(err)
		}
		e.opt.Seed = e.cfg.Seed + uint64(round)
		if e.cfg.BalanceBy == "" {
			e.opt.BalanceBy, e.opt.Work = []rapa.Quantity{rapa.ByWork}, work(e.costs)
		}
		if v.tight() && !slices.Contains(e.opt.BalanceBy, rapa.ByMemory) {
			e.opt.BalanceBy = append(e.opt.BalanceBy[:len(e.opt.BalanceBy):len(e.opt.BalanceBy)], rapa.ByMemory)
		}
		e.opt.Memory = v.memory
		plan, err := partition(ctx, e.k, e.data.problem.Graph, e.data.problem.Train, e.opt, "")
		var misfit *term.FitError
		if errors.As(err, &misfit) {
			break // as parts of a cut; single vertices may still be moved out of them
		}
		if err != nil {
			return err
		}
		e.training.plan, e.part = plan, plan.Part
	}
	best := pick(states)
	e.training.plan, e.part, e.placed, e.trace = best.plan, best.part, best.part, best.trace
	return nil
}

// work returns what vertices and edges cost beside each other, on the mean of the devices, each of which counts as much.
func work(costs []rapa.PartCost) rapa.PartCost {
	var w rapa.PartCost
	for _, c := range costs {
		sum := c.PerInner + c.PerEdge
		w.PerInner, w.PerEdge = w.PerInner+c.PerInner/sum, w.PerEdge+c.PerEdge/sum
	}
	return w
}

// assign gives parts to devices so that the most loaded one has least to do.
func (e *evening) assign(ctx context.Context) error {
	if e.parts != len(e.specs) {
		return nil
	}
	v, err := e.look(ctx)
	if err != nil {
		return err
	}
	device, err := rapa.Assign(v.counts, e.costs, rapa.Footprint{}, nil)
	if err != nil {
		return err
	}
	part := make([]int32, len(e.part))
	for u, p := range e.part {
		part[u] = int32(device[p])
	}
	before := e.part
	e.part = part
	after, err := e.look(ctx)
	if err != nil {
		return err
	}
	if v.of(before).compare(after.of(part)) <= 0 {
		e.part = before
		return nil
	}
	e.placed, e.trace = part, append(e.trace, after.iteration())
	return nil
}

// move lets inner vertices change parts until all devices cost the same, or it brings nothing. What --balance-by names stays
// balanced as it is.
func (e *evening) move(ctx context.Context) error {
	if e.cfg.NoMove || e.cfg.BalanceBy != "" {
		return nil
	}
	var states []state
	for trace, stop := e.trace, e.stop; ; {
		v, err := e.look(ctx)
		if err != nil {
			return err
		}
		last := v.of(e.part)
		last.trace, last.stop = trace, stop
		states = append(states, last)
		if len(states) > evenRounds || pick(states).compare(last) < 0 {
			break // what was moved last brought nothing
		}
		r, err := rapa.Rebalance(ctx, e.d, e.part, e.costs, rapa.RebalanceOptions{Tolerance: evenEnough, Memory: v.memory})
		if err != nil {
			return err
		}
		trace, stop, e.part = append(trace[:len(trace):len(trace)], r.Trace...), r.Stop, r.Part
		if r.Moved == 0 {
			break
		}
	}
	best := pick(states)
	e.part, e.trace, e.stop = best.part, best.trace, best.stop
	return nil
}

// prune drops replicas within --max-prune.
func (e *evening) prune(ctx context.Context) error {
	if e.cfg.MaxPrune == 0 {
		return nil
	}
	v, err := e.look(ctx)
	if err != nil {
		return err
	}
	e.lost, err = rapa.Adjust(ctx, e.d, e.part, e.costs, rapa.AdjustOptions{MaxPrune: e.cfg.MaxPrune, Score: rapa.PruneScore(e.cfg.PruneScore),
		Seed: e.cfg.Seed, SelfLoops: e.data.problem.Loops == graph.LoopsAdded, Memory: v.memory})
	if err == nil {
		e.trace, e.stop = append(e.trace, e.lost.Trace...), e.lost.Stop
	}
	return err
}

// trim drops the share of the cut edges that --prune says.
func (e *evening) trim(ctx context.Context) (err error) {
	if e.cfg.Prune == 0 {
		return nil
	}
	e.lost, err = rapa.Trim(ctx, e.d, e.part, e.parts, rapa.TrimOptions{Share: e.cfg.Prune, Score: rapa.PruneScore(e.cfg.PruneScore), Seed: e.cfg.Seed,
		SelfLoops: e.data.problem.Loops == graph.LoopsAdded})
	return err
}

// finish makes the plan of what came out.
func (e *evening) finish(key string) error {
	p := e.data.problem
	plan := *e.plan
	moved := int64(0)
	for v, q := range e.placed {
		if e.part[v] != q {
			moved++
		}
	}
	if err := plan.Repartition(p.Graph, p.Train, &rapa.Rebalanced{Part: e.part, Moved: moved}); err != nil {
		return err
	}
	plan.Key, plan.Seconds, plan.Costs, plan.Trace = key, time.Since(e.start).Seconds()+e.plan.Seconds, e.costs, e.trace
	if n := len(e.trace); n > 0 {
		plan.Stop = cmp.Or(e.stop, rapa.StopMoves)
		if e.stop == "" && e.trace[n-1].Sigma < evenEnough {
			plan.Stop = rapa.StopBalanced
		}
	}
	plan.Devices, plan.DeviceOf = nil, nil
	for _, s := range e.specs {
		plan.Devices = append(plan.Devices, s.String())
	}
	for i := range e.parts {
		plan.DeviceOf = append(plan.DeviceOf, i%len(e.specs))
	}
	if e.lost != nil {
		plan.Dropped, plan.Lost = e.lost.Dropped, e.lost.Lost
		if plan.Dropped != nil {
			plan.Score = rapa.PruneScore(e.cfg.PruneScore)
		}
	}
	e.training.plan = &plan
	return nil
}

// fittedKey is the key of the plan that even makes of the one with this key.
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
