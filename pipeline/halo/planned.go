package halo

import (
	"capgnn/gnn"
	"capgnn/graph"
)

// trainingExchanges returns the exchanges of a training epoch, in its order, without what moves.
func trainingExchanges(model gnn.Config, plan gnn.Plan, o *Options) []traffic {
	var exchanges []traffic
	for i, e := range model.Exchanges(plan) {
		exchanges = append(exchanges, traffic{ID: ID{e.Layer, e.Dir}, index: i, rowFormat: rowFormat{e.Width, e.Type, codingOf(o.HaloType, e.Type, e.Exact)},
			returned: e.Returned, keeps: e.Kept, ages: e.Ages, still: e.Fixed})
	}
	for i := range exchanges {
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
func evaluationTraffic(c *Config, layers int, s scope) []*traffic {
	var out []*traffic
	for _, e := range c.Model.Exchanges(c.Order) {
		if e.Dir == gnn.Forward && e.Layer < layers {
			t := traffic{ID: ID{e.Layer, e.Dir}, index: len(out), rowFormat: rowFormat{width: e.Width, dtype: e.Type}, ranks: s.ranks, across: s.across}
			out = append(out, exact(t, c.Cuts.Whole, func(b *graph.Block, k int) int { return b.Owners.At[k+1] - b.Owners.At[k] }))
		}
	}
	return out
}

// exactTraffic returns the exchanges of a training epoch without caches, by the schedules of p.
func exactTraffic(c *Config, p *periods, s scope) []*traffic {
	var out []*traffic
	for _, t := range c.exchangesOf(s) {
		t.periods = p
		out = append(out, exact(t, c.Cuts.At(t.Layer), func(b *graph.Block, k int) int { return b.Count(k, t.Layer) }))
	}
	return out
}

// scope says which rows exchanges move: all, where there is one rank, else those that stay in one or those that cross.
type scope struct {
	ranks  []int // by part; nil: there is one
	across bool
}

// exchangesOf returns the exchanges of a training epoch, in its order, without what moves. Those of rows that cross are counted behind the others.
func (c *Config) exchangesOf(s scope) []traffic {
	all := trainingExchanges(c.Model, c.Order, &c.Options)
	for k := range all {
		t := &all[k]
		t.ranks, t.across, t.piece = s.ranks, s.across, c.Piece
		t.pipelined = c.Pipeline && c.Staleness > 0
		if s.across {
			t.index += len(all)
		}
	}
	return all
}
