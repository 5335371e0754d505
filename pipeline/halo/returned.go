package halo

import (
	"slices"

	"capgnn/gnn"
	"capgnn/gpu"
	"capgnn/graph"
)

// A layer that returns gradients (gnn.LayerPlan.Returns) sends back what it made of halo rows: one row from each part that read a vertex to the part that
// owns it. So the exchange is the forward one turned around. Who owned rows reads them, who read rows owns them, and what a row is known by is no vertex but
// a pair of a part and its halo index: number pairsOf(cut)[part] + halo index.

// returns lists the rows that come back to each part, without the edges: those of the parts that read its vertices, in part order.
func returns(c *graph.Cut) []*graph.Block {
	out, first := make([]*graph.Block, len(c.Parts)), pairsOf(c)
	for i := range out {
		out[i] = &graph.Block{Owners: graph.Owners{At: []int{0}}, Edges: []int32{}}
	}
	for j, p := range c.Parts {
		edges := p.In.HaloEdges()
		for k, o := range p.In.Owners.Parts {
			b, lo, hi := out[o], p.In.Owners.At[k], p.In.Owners.At[k+1]
			for h := lo; h < hi; h++ {
				b.IDs = append(b.IDs, first[j]+graph.NodeID(h))
			}
			b.Levels, b.Edges = append(b.Levels, p.In.Levels[lo:hi]...), append(b.Edges, edges[lo:hi]...)
			b.Owners.Parts, b.Owners.At = append(b.Owners.Parts, int32(j)), append(b.Owners.At, len(b.IDs))
		}
	}
	return out
}

// pairsOf returns the number of the first halo row of each part, and at last how many there are.
func pairsOf(c *graph.Cut) []graph.NodeID {
	first := make([]graph.NodeID, len(c.Parts)+1)
	for j, p := range c.Parts {
		first[j+1] = first[j] + graph.NodeID(len(p.In.IDs))
	}
	return first
}

// verticesOf returns the vertex of every pair.
func verticesOf(c *graph.Cut) []graph.NodeID {
	var out []graph.NodeID
	for _, p := range c.Parts {
		out = append(out, p.In.IDs...)
	}
	return out
}

// sources returns, by the number by which rows of an exchange are known, the row of its owner's matrix that is sent: of a vertex its local index; of a
// pair the place of the halo row, that of its gradient too.
func (p *Plan) sources(t *traffic) []int32 {
	if !t.returned {
		return p.Cuts.Whole.LocalOf
	}
	k := slices.IndexFunc(p.training, func(l *traffic) bool { return l.ID == ID{t.Layer, gnn.Forward} })
	forward := p.training[k]
	var out []int32
	for i := range forward.readers {
		r := &forward.readers[i]
		for h := range r.ids {
			row := int32(h)
			if r.place != nil {
				row = r.place[h]
			}
			out = append(out, row)
		}
	}
	return out
}

// senderVertices returns the vertices of the rows of a part's matrix from which an exchange sends.
func (a *attachment) senderVertices(t *traffic) []graph.NodeID {
	i := a.ep.Part
	if !t.returned {
		return a.Cuts.Whole.Parts[i].Inner
	}
	c := a.Cuts.At(t.Layer)
	first, ids := pairsOf(c)[i], c.Parts[i].In.IDs
	out := make([]graph.NodeID, len(ids))
	for h, row := range a.sources(t)[first:][:len(ids)] {
		if row >= 0 {
			out[row] = ids[h]
		}
	}
	return out
}

// returnedRows returns the rows of a part whose gradients come back to it, by halo index; −1: the layer does not exchange that.
func (a *attachment) returnedRows(t *traffic) []int32 {
	cut := a.Cuts.At(t.Layer)
	b, vertices := returns(cut)[a.ep.Part], verticesOf(cut)
	out := make([]int32, len(b.IDs))
	for k := range b.Owners.Parts {
		lo, hi := b.Owners.At[k], b.Owners.At[k+1]
		read := lo + b.Count(k, t.Layer)
		for h := lo; h < hi; h++ {
			if out[h] = -1; h < read {
				out[h] = a.Cuts.Whole.LocalOf[vertices[b.IDs[h]]]
			}
		}
	}
	return out
}

// clear makes rows of 0 of the memory in which rows of H arrive that a layer multiplies: what no exchange fills must be finite.
func (r *relay) clear() {
	if r.Dir == gnn.Forward && r.keeps && r.halo.Rows > 0 && r.halo.Type == gpu.FP32 {
		r.ep.Compute.Fill(r.halo, 0)
	}
}
