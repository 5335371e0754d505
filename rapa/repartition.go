package rapa

import (
	"fmt"

	"capgnn/graph"
)

// Repartition replaces the plan's partition by that of Rebalance, and recomputes its parts, cut, volume and balance.
// g and train are those of the plan. Targets do not change, so Balance says how far the parts have moved away from
// them.
func (p *Plan) Repartition(g *graph.CSR, train []bool, r *Rebalanced) error {
	k := len(p.Parts)
	counts, err := Count(NewDirections(g), r.Part, k)
	if err != nil {
		return fmt.Errorf("repartition: %w", err)
	}
	if train != nil && len(train) != len(r.Part) {
		return fmt.Errorf("repartition: %d training marks for %d vertices", len(train), len(r.Part))
	}
	p.Part, p.Moved, p.Parts = r.Part, r.Moved, make([]Stats, k)
	for i, n := range counts {
		p.Parts[i] = Stats{Inner: n.Inner, Halo: n.Halo, Edges: n.Edges, Cut: n.Outer}
	}
	for v, t := range train {
		if t {
			p.Parts[p.Part[v]].Train++
		}
	}
	u := g.Symmetrise().WithoutLoops()
	p.EdgeCut, p.Volume = borders(u, p.Part, k)
	p.Balance = Balance{
		Vertices: p.fullest(func(s Stats) int64 { return s.Inner }),
		Edges:    p.fullest(func(s Stats) int64 { return s.Edges }),
		Train:    p.fullest(func(s Stats) int64 { return s.Train }),
	}
	return nil
}

// fullest returns the largest load of any part over its target, 0 if there is no load.
func (p *Plan) fullest(load func(Stats) int64) float64 {
	total, worst := int64(0), 0.0
	for _, s := range p.Parts {
		total += load(s)
	}
	for i, s := range p.Parts {
		if total > 0 {
			worst = max(worst, float64(load(s))/(p.Targets[i]*float64(total)))
		}
	}
	return worst
}
