package training

import (
	"context"
	"slices"

	"capgnn/gpu"
	"capgnn/profiler"
	"capgnn/rapa"
	"capgnn/rapa/balance"
)

// epochEstimator estimates parts for package balance: by the simulated time of an epoch of the run, or by the paper's cost.
type epochEstimator struct {
	run     *Run
	profile *profiler.Profile
	graph   rapa.Directions
}

// Estimate returns what the parts cost, and the memory they need unless there is nothing to train.
func (e *epochEstimator) Estimate(ctx context.Context, part []int32) (balance.Estimate, error) {
	t := e.run
	counts, err := rapa.Count(e.graph, part, t.Parts)
	if err != nil {
		return balance.Estimate{}, err
	}
	out := balance.Estimate{Counts: counts, Memory: rapa.Memory{Have: make([]int64, t.Parts)}}
	if t.Bare {
		err := e.byLambda(&out)
		return out, err
	}
	o, err := t.Forecast(ctx, e.profile, part, nil)
	if err != nil {
		return out, err
	}
	out.Memory = e.memory(o, counts)
	for i, need := range o.Peak {
		out.Lack += int64(max(0, need-t.Budget(e.profile, i)))
	}
	if t.ByLambda() {
		err := e.byLambda(&out)
		return out, err
	}
	out.Costs, out.Score = o.costs(counts), o.EpochS
	t.countShared(out.Costs)
	for i, busy := range o.BusyS {
		out.Load = append(out.Load, float64(t.neighbours(i))*busy)
	}
	return out, nil
}

// byLambda sets costs, loads and score to the paper's cost.
func (e *epochEstimator) byLambda(out *balance.Estimate) (err error) {
	if out.Costs, err = rapa.Lambda(e.run.Rates(e.profile), e.run.Config.Alpha); err != nil {
		return err
	}
	e.run.countShared(out.Costs)
	for i, c := range out.Costs {
		out.Load = append(out.Load, c.Of(out.Counts[i]))
	}
	out.Score = slices.Max(out.Load)
	return nil
}

// Rates returns what the cost model knows of the device of every part.
func (t *Run) Rates(profile *profiler.Profile) []rapa.Rate {
	rates := make([]rapa.Rate, t.Parts)
	for p := range rates {
		r := profile.Devices[t.deviceOf(p)]
		rates[p] = rapa.Rate{Class: r.UUID, MM: r.MM.Median, SpMM: r.SpMM.Median, H2D: r.H2D.Median, D2H: r.D2H.Median, IDT: r.IDT.Median}
	}
	return rates
}

// costs returns the outlook as a table of what a part's device computes for an inner vertex and for an edge: exact for the
// parts that were simulated. Transfers, and putting rows together for them, count as fixed: which rows are exchanged depends on
// the layer, and moving a few vertices changes little of it.
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

// countShared makes costs of parts count as often as there are parts on their device: loads are balanced if each part takes
// its share of the device.
func (t *Run) countShared(costs []rapa.PartCost) {
	for i := range costs {
		c, k := &costs[i], float64(t.neighbours(i))
		c.Fixed, c.PerInner, c.PerEdge, c.PerOuter = k*c.Fixed, k*c.PerInner, k*c.PerEdge, k*c.PerOuter
	}
}

// neighbours returns the number of parts on the device of part i, that one included.
func (t *Run) neighbours(i int) (n int) {
	for p := range t.Parts {
		if t.deviceOf(p) == t.deviceOf(i) {
			n++
		}
	}
	return n
}
