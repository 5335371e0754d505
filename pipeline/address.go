package pipeline

import (
	"capgnn/gnn"
	"capgnn/graph"
	"capgnn/pipeline/halo"
)

// address makes the operands of training read rows where they lie: entries keep their order, their columns become
// rows of the halo matrix.
func (b *builder) address(places []halo.Placement, layers []gnn.LayerGraph) {
	for _, at := range places {
		if b.plan.Layers[at.Layer].Returns {
			b.addressReturned(&at, &layers[at.Layer])
		}
		if at.Row == nil || b.plan.Layers[at.Layer].Returns && at.Dir == gnn.Backward {
			continue
		}
		op, scale, from := &layers[at.Layer].Forward, b.scale.Col, &b.kept.In
		if at.Dir == gnn.Backward {
			op, scale, from = &layers[at.Layer].Backward, b.scale.Row, &b.kept.Out
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
		op.Halo.Indices, op.Halo.Cols = upload(b.loader, "slots of halo entries", indices), at.Halo.Rows
		if op.HaloIDs.Len > 0 {
			ids := make([]graph.NodeID, at.Halo.Rows)
			for k, row := range at.Row {
				if row >= 0 {
					ids[row] = from.IDs[k]
				}
			}
			op.HaloIDs = upload(b.loader, "halo ids of slots", ids)
		}
		if op.HaloScale.Len > 0 {
			picked := pick(scale, from.IDs)
			scales := make([]float32, at.Halo.Rows)
			for k, row := range at.Row {
				if row >= 0 {
					scales[row] = picked[k]
				}
			}
			op.HaloScale = upload(b.loader, "halo scale of slots", scales)
		}
	}
}

// addressReturned makes the operands of a layer that returns gradients: forward, by which edges each row of the
// halo matrix was read; backward, which of the rows that come back belong to each row of the part, in part order.
func (b *builder) addressReturned(at *halo.Placement, g *gnn.LayerGraph) {
	row := func(k int) int32 {
		if at.Row == nil {
			return int32(k)
		}
		return at.Row[k]
	}
	lists := make([][]int32, g.HaloRows)
	name := "halo edges turned around"
	if at.Dir == gnn.Forward {
		from := b.kept
		if at.Layer == 0 { // nothing is pruned there
			from = b.part
		}
		t := from.In.Transpose(g.Rows)
		for k := range t.Rows() {
			if r := row(k); r >= 0 {
				lists[r] = t.Row(int(k))
			}
		}
	} else {
		name, lists = "returned rows", make([][]int32, g.Src)
		for k, u := range at.Inner {
			if u >= 0 {
				lists[u] = append(lists[u], row(k))
			}
		}
	}
	c := &graph.CSR{Indptr: make([]int64, 1, len(lists)+1)}
	for _, list := range lists {
		c.Indices = append(c.Indices, list...)
		c.Indptr = append(c.Indptr, int64(len(c.Indices)))
	}
	if at.Dir == gnn.Forward {
		c.Cols = g.Rows
		g.HaloBack = b.csr(name, c, len(lists), c.Cols, nil, room{})
		return
	}
	c.Cols = at.Halo.Rows
	g.Backward.Halo = b.csr(name, c, len(lists), c.Cols, nil, room{})
}
