package halo

import (
	"capgnn/gnn"
	"capgnn/graph"
)

// trainingExchanges returns the exchanges of a training epoch, in its order, without what moves.
func trainingExchanges(model gnn.Config, plan gnn.Plan, o *Options) []traffic {
	var exchanges []traffic
	add := func(l int, dir gnn.Direction) {
		if w := model.ExchangeWidth(plan, l, dir); w > 0 {
			stored := model.GatherType(plan, l, dir)
			dropped := o.BackwardExact && o.Staleness.Bound > 0 && dir == gnn.Backward && plan.Ages(l)
			exchanges = append(exchanges, traffic{ID: ID{l, dir}, index: len(exchanges),
				rowFormat: rowFormat{w, stored, codingOf(o.HaloType, stored, model.ScoreColumns(plan, l, dir))},
				returned:  plan.Layers[l].Returns && dir == gnn.Backward, keeps: model.KeepsHalo() && dir == gnn.Forward, ages: plan.Ages(l) && !dropped, dropped: dropped})
		}
	}
	for l := range model.Layers {
		add(l, gnn.Forward)
	}
	for l := model.Layers - 1; l >= 0; l-- {
		add(l, gnn.Backward)
	}
	for i := range exchanges {
		if exchanges[i].ages {
			exchanges[i].gamma = float32(o.Smoothing)
		}
		exchanges[i].until = i + 1
		for j := range exchanges {
			if exchanges[i].keeps && exchanges[j].ID == (ID{exchanges[i].Layer, gnn.Backward}) {
				exchanges[i].until = j
			}
		}
	}
	return exchanges
}

// evaluationTraffic returns the exchanges of an evaluation through the first layers, which need every row.
func evaluationTraffic(cuts Cuts, model gnn.Config, plan gnn.Plan, layers int) []*traffic {
	var out []*traffic
	for l := range layers {
		if w := model.ExchangeWidth(plan, l, gnn.Forward); w > 0 {
			t := traffic{ID: ID{l, gnn.Forward}, index: len(out), rowFormat: rowFormat{width: w, dtype: model.GatherType(plan, l, gnn.Forward)}}
			out = append(out, exact(t, cuts.Whole, func(b *graph.Block, k int) int { return b.Owners.At[k+1] - b.Owners.At[k] }))
		}
	}
	return out
}

// exactTraffic returns the exchanges of a training epoch without caches, by the schedules of p.
func exactTraffic(cuts Cuts, model gnn.Config, plan gnn.Plan, o *Options, p *periods) []*traffic {
	var out []*traffic
	for _, t := range trainingExchanges(model, plan, o) {
		t.periods, t.piece = p, o.Piece
		t.pipelined, t.adaptive = o.Pipeline && o.Staleness.Bound > 0 && !t.dropped, o.Staleness.Auto() || o.Bypass > 0
		out = append(out, exact(t, cuts.At(t.Layer), func(b *graph.Block, k int) int { return b.Count(k, t.Layer) }))
	}
	return out
}
