package graph

import "slices"

// Pair is the graph induced by two parts of a cut: the vertices of one, then those of the other, each in the order of its part, and the edges
// among them.
type Pair struct {
	IDs  []NodeID // original id of every row
	Base int      // rows of the first part
	In   *CSR     // row v lists in-neighbours
	Out  *CSR     // row u lists the vertices that read u; In itself where the graph is symmetric
}

// Pair returns the graph that parts a and b, which differ, induce in g, whose cut c is; loops is as in Split. The parts need not be the cut's own.
//
// Cost: two passes over the rows of both parts, in blocks on all processors.
func (c *Cut) Pair(g *CSR, loops Loops, a, b int) *Pair {
	base := len(c.Parts[a].Inner)
	p := &Pair{IDs: slices.Concat(c.Parts[a].Inner, c.Parts[b].Inner), Base: base}
	place := func(u NodeID) int32 {
		switch int(c.PartOf[u]) {
		case a:
			return c.LocalOf[u]
		case b:
			return int32(base) + c.LocalOf[u]
		}
		return -1
	}
	p.In = inducedBy(g, loops, p.IDs, place)
	if p.Out = p.In; !c.Symmetric {
		p.Out = p.In.Transpose()
	}
	return p
}

// inducedBy returns the edges of g among ids, whose places are their indices; place returns −1 for other vertices.
func inducedBy(g *CSR, loops Loops, ids []NodeID, place func(NodeID) int32) *CSR {
	out := &CSR{Indptr: make([]int64, len(ids)+1), Cols: len(ids)}
	EachBlock(len(ids), rowBlock, func(lo, hi int) {
		for i := lo; i < hi; i++ {
			before, behind, loop := loops.Split(g, ids[i])
			for _, u := range before {
				if place(u) >= 0 {
					out.Indptr[i+1]++
				}
			}
			for _, u := range behind {
				if place(u) >= 0 {
					out.Indptr[i+1]++
				}
			}
			if loop {
				out.Indptr[i+1]++
			}
		}
	})
	accumulate(out.Indptr)
	out.Indices = make([]NodeID, out.Indptr[len(ids)])
	EachBlock(len(ids), rowBlock, func(lo, hi int) {
		for i := lo; i < hi; i++ {
			row := out.Indices[out.Indptr[i]:out.Indptr[i]:out.Indptr[i+1]]
			before, behind, loop := loops.Split(g, ids[i])
			for _, u := range before {
				if k := place(u); k >= 0 {
					row = append(row, k)
				}
			}
			for _, u := range behind {
				if k := place(u); k >= 0 {
					row = append(row, k)
				}
			}
			if loop {
				row = append(row, int32(i))
			}
			slices.Sort(row)
		}
	})
	return out
}

// Outside returns the in-edges of rows from vertices that are in neither part: a CSR whose columns index ids, which ascend, and ids.
// Cost: a pass over the rows, in blocks on all processors, and one over the vertices of the graph.
func (c *Cut) Outside(g *CSR, rows []NodeID, a, b int) (edges *CSR, ids []NodeID) {
	outside := func(u NodeID) bool { q := int(c.PartOf[u]); return q != a && q != b }
	edges = &CSR{Indptr: make([]int64, len(rows)+1)}
	EachBlock(len(rows), rowBlock, func(lo, hi int) {
		for i := lo; i < hi; i++ {
			for _, u := range g.Row(int(rows[i])) {
				if outside(u) {
					edges.Indptr[i+1]++
				}
			}
		}
	})
	accumulate(edges.Indptr)
	edges.Indices = make([]NodeID, edges.Indptr[len(rows)])
	EachBlock(len(rows), rowBlock, func(lo, hi int) {
		for i := lo; i < hi; i++ {
			at := edges.Indptr[i]
			for _, u := range g.Row(int(rows[i])) {
				if outside(u) {
					edges.Indices[at] = u
					at++
				}
			}
		}
	})
	place := make([]int32, g.Rows())
	for _, u := range edges.Indices {
		place[u] = 1
	}
	for u, used := range place {
		if used != 0 {
			place[u] = int32(len(ids))
			ids = append(ids, NodeID(u))
		}
	}
	EachBlock(len(edges.Indices), rowBlock, func(lo, hi int) {
		for e := lo; e < hi; e++ {
			edges.Indices[e] = place[edges.Indices[e]]
		}
	})
	edges.Cols = len(ids)
	return edges, ids
}

// EdgesBetween returns how many edges go into each part from each: [i][j] are those from part j into part i.
func (c *Cut) EdgesBetween(g *CSR, loops Loops) [][]int64 {
	n := make([][]int64, len(c.Parts))
	EachBlock(len(n), 1, func(i, _ int) {
		n[i] = make([]int64, len(n))
		for _, v := range c.Parts[i].Inner {
			before, behind, loop := loops.Split(g, v)
			for _, u := range before {
				n[i][c.PartOf[u]]++
			}
			for _, u := range behind {
				n[i][c.PartOf[u]]++
			}
			if loop {
				n[i][i]++
			}
		}
	})
	return n
}
