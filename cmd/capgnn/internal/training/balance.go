package training

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"time"

	"capgnn/cmd/capgnn/internal/devices"
	"capgnn/cmd/capgnn/internal/diskcache"
	"capgnn/cmd/capgnn/internal/runfolder"
	"capgnn/cmd/capgnn/internal/term"
	"capgnn/gnn"
	"capgnn/gpu"
	"capgnn/graph"
	"capgnn/jaca"
	"capgnn/profiler"
	"capgnn/rapa"
	"capgnn/rapa/balance"
)

// uneven reports whether parts are made for what devices take: they differ, are known without measuring, or some may be
// pruned.
func (t *Forecaster) uneven() bool {
	return !t.Anonymous && t.Parts > 1 && (!t.alike() || t.Specs[0].Simulated() || t.Config.MaxPrune > 0)
}

// changed reports whether the partitioner's plan is not yet the one that is trained on. Sampled training takes it as it
// is: of unequal devices each computes its share of a step, wherever the vertices are.
func (t *Forecaster) changed() bool {
	return !t.Config.Sampled() && t.Config.Isolated.Value == nil && (t.uneven() || t.Config.Prune > 0)
}

// ByLambda reports whether parts are balanced by the paper's cost.
func (t *Forecaster) ByLambda() bool { return t.Bare || t.Config.ByLambda() }

// wantsProfile reports whether something is decided by what devices were measured to do.
func (t *Forecaster) wantsProfile() bool {
	if t.Config.Sampled() {
		return t.Config.Targets == "" && (t.Config.Profile != "" || t.uneven())
	}
	recorded := t.Config.PlanKey != "" && t.findPlan(t.Config.PlanKey) != nil
	if t.Data.Shards == nil && t.Config.Plan == "" && !recorded && (t.Config.Profile != "" || t.uneven()) {
		return true
	}
	return jaca.Policy(t.Config.Cache) == jaca.JACA && t.Config.CacheLinks.String() == "" && !t.linksKnown()
}

// fitted returns, for the partitioner's plan of opt, one whose parts fit the devices: a cached one, or a new one.
func fitted(ctx context.Context, t Forecaster, opt rapa.Options) (*rapa.Plan, error) {
	key, err := fittedKey(&t)
	if err != nil {
		return nil, err
	}
	if known := t.findPlan(key); known != nil {
		return known, nil
	}
	start, seconds := time.Now(), t.Plan.Seconds
	plan, err := fitParts(ctx, t, opt)
	if err == nil {
		plan, err = orFromExact(ctx, t, opt, plan)
	}
	if err != nil {
		return nil, err
	}
	plan.Key, plan.Seconds = key, time.Since(start).Seconds()+seconds
	plan.Devices, plan.DeviceOf = nil, nil
	for _, s := range t.Specs {
		plan.Devices = append(plan.Devices, s.String())
	}
	for i := range t.Parts {
		plan.DeviceOf = append(plan.DeviceOf, t.deviceOf(i))
	}
	diskcache.KeepPlan(t.Console, plan)
	return plan, nil
}

// orFromExact returns a better plan than one that fit has made of the partitioner's, if there is one beginning with the
// parts that fit the devices where all rows move as they are stored in every epoch: what encoded and stale rows are
// compared with. For a run without these there is none.
//
// Why: a fit is a search that ends at the first balanced cut, and with other costs it ends at another one, which may
// cut many more edges. On its own, a run that moves a quarter of the bytes was forecast to take up to half as long
// again as on the parts of exact rows.
func orFromExact(ctx context.Context, t Forecaster, opt rapa.Options, plan *rapa.Plan) (*rapa.Plan, error) {
	exact := t
	exact.trying = true // what it lacks is not said
	exact.forgetAging()
	exact.Config.Staleness, exact.Config.MaxPrune, exact.Config.Prune = 0, 0, 0
	exact.Config.Set(runfolder.HaloDtype, "fp32")
	exact.Config.Set(runfolder.StaleLayers, runfolder.LayersAuto)
	own, other := t.Config.HaloCache(), exact.Config.HaloCache()
	same := own.HaloType == other.HaloType && own.Staleness == other.Staleness
	if same || !t.uneven() || !exact.uneven() || t.ByLambda() {
		return plan, nil
	}
	from, err := fitted(ctx, exact, opt)
	if misfit := (*term.FitError)(nil); errors.As(err, &misfit) {
		return plan, nil
	}
	if err != nil {
		return nil, err
	}
	estimator := &epochEstimator{&t, rapa.NewDirections(t.Data.Problem.Graph)}
	was, err := estimator.Estimate(ctx, plan.Part)
	if err != nil {
		return nil, err
	}
	if is, err := estimator.Estimate(ctx, from.Part); err != nil || !is.Better(&was) {
		return plan, err
	}
	t.Plan = from
	return fitParts(ctx, t, opt)
}

// fitParts balances the parts of a plan, which the partitioner made by opt, for devices that are uneven, and prunes
// what flags say.
func fitParts(ctx context.Context, t Forecaster, opt rapa.Options) (*rapa.Plan, error) {
	p, c, byUser := t.Data.Problem, &t.Config, t.Config.BalanceBy != ""
	problem := balance.Problem{Graph: rapa.NewDirections(p.Graph), Train: p.Train, SelfLoops: p.Loops == graph.LoopsAdded,
		Plan: t.Plan, Partition: opt}
	how := balance.Options{ByWork: !byUser, Assign: t.Parts == len(t.Specs) && len(opt.Machines) < 2,
		Move: c.Move && !byUser, MaxPrune: c.MaxPrune, Trim: c.Prune, Score: rapa.PruneScore(c.PruneScore)}
	if !t.uneven() {
		return balance.Trim(ctx, problem, how)
	}
	if c.Move && opt.Method == rapa.Multilevel {
		how.Cut = func(ctx context.Context, opt rapa.Options) (*rapa.Plan, error) {
			return diskcache.Cut(ctx, t.Console, p.Graph, p.Train, opt, "")
		}
	}
	plan, err := balance.Fit(ctx, problem, &epochEstimator{&t, problem.Graph}, how)
	if e := (*rapa.InfeasibleError)(nil); errors.As(err, &e) {
		if t.turnsOpen() { // parts of the devices' speeds alone
			return t.Plan, nil
		}
		more := gpu.Bytes(e.MoreBytes())/gpu.Bytes(len(t.Specs)) + 1
		need, said := 2*gpu.Bytes(e.NeedBytes), fmt.Errorf("the parts need about %s, but the devices can give only %s "+
			"besides what each must hold", term.Size(gpu.Bytes(e.NeedBytes)), term.Size(gpu.Bytes(e.HaveBytes)))
		if len(e.Short) == 1 {
			s := e.Short[0]
			need = gpu.Bytes(s.NeedBytes) * gpu.Bytes(t.Parts)
			said = fmt.Errorf("%s: part %d needs about %s there, but the device can give only %s",
				t.Specs[t.deviceOf(s.Part)], s.Part, term.Size(gpu.Bytes(s.NeedBytes)), term.Size(gpu.Bytes(s.HaveBytes)))
		}
		return nil, &term.FitError{Err: said, Remedy: (&Planner{Forecaster: t}).enoughDivided(ctx, more, need)}
	}
	return plan, err
}

// fittedKey is the key of the plan that fitted makes of the partitioner's.
func fittedKey(t *Forecaster) (string, error) {
	var rates []profiler.DeviceProfile
	if t.Profile != nil && t.uneven() {
		rates = t.Profile.Devices
	}
	c := t.Config
	all := []any{"capgnn fitted 4", t.Plan.Key, devices.Format(t.Specs), rates, t.Parts, c.Model, c.Layers, c.Hidden,
		c.Heads, c.Storage, c.Cost, !c.Move, c.MaxPrune, c.Prune, c.PruneScore, c.Alpha,
		runfolder.KeyOf(&c, runfolder.CacheOptions)}
	if d := runfolder.Default(); c.JK != d.JK || c.Norm != d.Norm || c.Residual || c.DropFeatures || c.ModelSHA256 != "" {
		all = append(all, c.JK, c.Norm, c.Residual, c.DropFeatures, c.ModelSHA256) // each has operations more or less
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

// epochEstimator estimates parts for package balance: by the simulated time of an epoch of the run, or by the paper's
// cost.
type epochEstimator struct {
	*Forecaster
	graph rapa.Directions
}

// Estimate returns what the parts cost, and the memory they need unless there is nothing to train.
func (e *epochEstimator) Estimate(ctx context.Context, part []int32) (balance.Estimate, error) {
	counts, err := rapa.Count(e.graph, part, e.Parts)
	if err != nil {
		return balance.Estimate{}, err
	}
	out := balance.Estimate{Counts: counts, Memory: rapa.Memory{Have: make([]int64, e.Parts)}}
	if e.Bare {
		err := e.byLambda(&out)
		return out, err
	}
	o, err := e.Forecast(ctx, part, nil)
	if err != nil {
		return out, err
	}
	out.Memory = e.memory(o, counts)
	for i, need := range o.Peak {
		out.Lack += int64(max(0, need-e.Budget(i)))
	}
	if e.ByLambda() {
		err := e.byLambda(&out)
		return out, err
	}
	out.Costs, out.Score = o.costs(counts), o.EpochS
	e.countShared(out.Costs)
	for i, busy := range o.BusyS {
		out.Load = append(out.Load, float64(e.neighbours(i))*busy)
	}
	return out, nil
}

// byLambda sets costs, loads and score to the paper's cost.
func (e *epochEstimator) byLambda(out *balance.Estimate) (err error) {
	if out.Costs, err = rapa.Lambda(e.Rates(), e.Config.Alpha); err != nil {
		return err
	}
	e.countShared(out.Costs)
	for i, c := range out.Costs {
		out.Load = append(out.Load, c.Of(out.Counts[i]))
	}
	out.Score = slices.Max(out.Load)
	return nil
}

// Rates returns what the cost model knows of the device of every part.
func (t *Forecaster) Rates() []rapa.Rate {
	rates := make([]rapa.Rate, t.Parts)
	for p := range rates {
		r := t.Profile.Devices[t.deviceOf(p)]
		rates[p] = rapa.Rate{Class: r.UUID, MM: r.MM.Median, SpMM: r.SpMM.Median,
			H2D: r.H2D.Median, D2H: r.D2H.Median, IDT: r.IDT.Median}
	}
	return rates
}

// costs returns the outlook as a table of what a part's device computes for an inner vertex and for an edge: exact for
// the parts that were simulated. Transfers, and putting rows together for them, count as fixed: which rows are
// exchanged depends on the layer, and moving a few vertices changes little of it.
func (o *Outlook) costs(counts []rapa.Counts) []rapa.PartCost {
	costs := make([]rapa.PartCost, len(counts))
	for i, u := range o.PartUsage {
		costs[i] = rapa.PartCost{
			Fixed:    (u.Time[gpu.PhaseReduce] + u.Time[gpu.PhasePick]).Seconds() + o.Open*o.MovesS[i],
			PerInner: (u.Time[gpu.PhaseMM] + u.Time[gpu.PhaseOther]).Seconds() / float64(max(1, counts[i].Inner)),
			PerEdge:  u.Time[gpu.PhaseAggregation].Seconds() / float64(max(1, counts[i].Edges)),
		}
	}
	return costs
}

// countShared makes costs of parts count as often as there are parts on their device: loads are balanced if each part
// takes its share of the device.
func (t *Forecaster) countShared(costs []rapa.PartCost) {
	for i := range costs {
		c, k := &costs[i], float64(t.neighbours(i))
		c.Fixed, c.PerInner, c.PerEdge, c.PerOuter = k*c.Fixed, k*c.PerInner, k*c.PerEdge, k*c.PerOuter
	}
}

// neighbours returns the number of parts on the device of part i, that one included.
func (t *Forecaster) neighbours(i int) (n int) {
	for p := range t.Parts {
		if t.deviceOf(p) == t.deviceOf(i) {
			n++
		}
	}
	return n
}

// memoryShare of a device's memory is given to its part by the footprint, which is linear and so not exact.
const memoryShare = 0.97

// memory returns what parts may take on their devices, by what they take now.
func (e *epochEstimator) memory(o *Outlook, counts []rapa.Counts) rapa.Memory {
	c, weights := &e.Config, 4*int64(gnn.FlatLen(e.network(&e.Config)))
	known := rapa.Footprint{Fixed: 2 * weights, PerEdge: 4, // weights and gradients
		PerHalo: int64(c.Hidden) * int64(c.ElementType().Size())}
	if e.Data.Problem.Weighted() {
		known.PerEdge = 8
	}
	m := rapa.Memory{Have: make([]int64, len(counts)), Footprint: footprint(known, counts, o.Peak)}
	for i := range counts {
		m.Have[i] = int64(memoryShare * float64(e.Budget(i)))
	}
	return m
}

// footprint adds to what is known of it what parts take besides: per inner vertex what the largest part does, and fixed
// what any part takes beyond that. A part of few vertices takes next to nothing for them.
func footprint(known rapa.Footprint, counts []rapa.Counts, peak []gpu.Bytes) rapa.Footprint {
	most := 0
	for i, n := range counts {
		if n.Inner > counts[most].Inner {
			most = i
		}
	}
	rest := func(i int) int64 { return max(0, int64(peak[i])-known.Of(counts[i])) }
	out := known
	out.PerInner += rest(most) / max(1, counts[most].Inner)
	for i, n := range counts {
		out.Fixed = max(out.Fixed, known.Fixed+rest(i)-(out.PerInner-known.PerInner)*n.Inner)
	}
	return out
}
