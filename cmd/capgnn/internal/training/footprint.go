package training

import (
	"capgnn/gnn"
	"capgnn/gpu"
	"capgnn/rapa"
)

// memoryShare of a device's memory is given to its part by the footprint, which is linear and so not exact.
const memoryShare = 0.97

// memory returns what parts may take on their devices, by what they take now.
func (e *epochEstimator) memory(o *Outlook, counts []rapa.Counts) rapa.Memory {
	t := e.run
	width := int64(t.Config.Hidden) * int64(t.Config.ElementType().Size())
	p := t.Data.Problem
	weights := 4 * int64(gnn.FlatLen(t.Config.Network(p.Features.Cols, p.Classes, p.Targets != nil)))
	m := rapa.Memory{Have: make([]int64, len(counts))}
	perEdge := int64(4)
	if p.Weighted() {
		perEdge = 8
	}
	m.Footprint = footprint(rapa.Footprint{Fixed: 2 * weights, PerEdge: perEdge, PerHalo: width}, counts, o.Peak) // and gradients
	for i := range counts {
		m.Have[i] = int64(memoryShare * float64(t.Budget(e.profile, i)))
	}
	return m
}

// footprint adds to what is known of it what parts take besides: per inner vertex what the largest part does, and fixed what
// any part takes beyond that. A part of few vertices takes next to nothing for them.
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
