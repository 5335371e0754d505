package experiments

import (
	"context"
	"slices"
	"strconv"

	"capgnn/cmd/capgnn/internal/term"
	"capgnn/cmd/capgnn/internal/training"
	"capgnn/gpu"
	"capgnn/graph"
	"capgnn/internal/bench"
)

// Kinds of cells that settings have.
const (
	kindSimulate = "simulate" // an epoch on simulated devices, nothing is computed
	kindTrain    = "train"    // a run on CPU devices
)

// simulation is the cell of a setting on simulated devices.
func (b *Bench) simulation(s setting) cell {
	s.Epochs, s.EvalEvery = 0, 0
	return cell{s.id(kindSimulate), func(ctx context.Context) (*bench.Line, error) { return b.simulate(ctx, s) }}
}

// simulate returns what a steady epoch takes: times in seconds, bytes per epoch. What does not fit says so in Text.
func (b *Bench) simulate(ctx context.Context, s setting) (*bench.Line, error) {
	t, l, err := b.begin(ctx, s)
	if t == nil {
		return l, err
	}
	if t.Profile, err = t.Measured(ctx); err != nil {
		return nil, err
	}
	var part []int32
	var dropped [][]graph.NodeID
	if part = make([]int32, t.Data.Problem.Vertices()); t.Plan != nil {
		part, dropped = t.Plan.Part, t.Plan.Dropped
	}
	o, err := t.Forecast(ctx, part, dropped)
	if err != nil {
		return nil, err
	}
	counted(t, l)
	l.Values["epoch_s"], l.Values["communication_s"], l.Values["spread"] = o.EpochS, o.CommS, o.Spread
	var h2d, d2h, peer gpu.Bytes
	for i, u := range o.PartUsage {
		for name, x := range map[string]float64{"compute_s": o.BusyS[i] - o.Open*o.MovesS[i], "transfer_s": training.TransferSeconds(u), "aggregation_s": u.Time[gpu.PhaseAggregation].Seconds(),
			"mm_s": u.Time[gpu.PhaseMM].Seconds(), "reduce_s": u.Time[gpu.PhaseReduce].Seconds(), "pick_s": u.Time[gpu.PhasePick].Seconds(), "peak_bytes": float64(o.Peak[i])} {
			l.Series[name] = append(l.Series[name], x)
		}
		if need, have := o.Peak[i], t.Budget(i); need > have && l.Text["misfit"] == "" {
			l.Text["misfit"] = "part " + strconv.Itoa(i) + " needs " + term.Size(need) + ", " + t.Specs[i%len(t.Specs)].String() + " has " + term.Size(have)
		}
		h2d, d2h, peer = h2d+u.H2D, d2h+u.D2H, peer+u.Peer
	}
	for _, name := range []string{"compute_s", "aggregation_s", "pick_s"} {
		l.Values[name] = slices.Max(l.Series[name])
	}
	l.Values["exposed_s"] = max(0, o.EpochS-l.Values["compute_s"])
	addBytes(l, h2d, d2h, peer)
	return l, nil
}
