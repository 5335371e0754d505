package pipeline

import (
	"capgnn/gnn"
	"capgnn/graph"
	"capgnn/pipeline/halo"
)

// address makes the operands of training read rows where they lie: entries keep their order, their columns become rows of the
// halo matrix.
func (b *builder) address(x *halo.Exchange, layers []gnn.LayerGraph) {
	for _, at := range x.Placements() {
		if at.Row == nil {
			continue
		}
		op, scale, from := &layers[at.Layer].Forward, b.scaleOf(at.Layer).Col, &b.kept.In
		if at.Dir == gnn.Backward {
			op, scale, from = &layers[at.Layer].Backward, b.scaleOf(at.Layer).Row, &b.kept.Out
		}
		if op.Halo.Entries == 0 && op.Halo.Cols == at.Halo.Rows {
			continue
		}
		indices := make([]int32, len(from.Halo.Indices))
		graph.EachBlock(len(indices), 1<<14, func(lo, hi int) {
			for e := lo; e < hi; e++ {
				indices[e] = max(0, at.Row[from.Halo.Indices[e]]) // entries that nobody reads have no row
			}
		})
		op.Halo.Indices, op.Halo.Cols = upload(b.ld, "slots of halo entries", indices), at.Halo.Rows
		if op.HaloScale.Len > 0 {
			picked := pick(scale, from.IDs)
			scales := make([]float32, at.Halo.Rows)
			for k, row := range at.Row {
				if row >= 0 {
					scales[row] = picked[k]
				}
			}
			op.HaloScale = upload(b.ld, "halo scale of slots", scales)
		}
	}
}

// scaleOf returns the edge weights of a layer.
func (b *builder) scaleOf(layer int) gnn.Scaling {
	if layer == 0 {
		return b.scale.whole
	}
	return b.scale.kept
}
