package graph

import "slices"

// Rows are those of a graph, or of its transpose, for some of its vertices: all of them, or those of the parts that a shard has, in the numbering of the shard.
type Rows struct {
	*CSR
	At  []int32  // row of each vertex that has one; nil: its number
	IDs []NodeID // vertex of each column; nil: its number
}

// at returns the row of a vertex.
func (r *Rows) at(v NodeID) int {
	if r.At != nil {
		v = r.At[v]
	}
	return int(v)
}

// row returns the columns of a vertex.
func (r *Rows) row(v NodeID) []NodeID { return r.Row(r.at(v)) }

// id returns the vertex of a column.
func (r *Rows) id(k NodeID) NodeID {
	if r.IDs != nil {
		return r.IDs[k]
	}
	return k
}

// TransposeFor returns the rows of g's transpose, with weights if g has some, for the vertices with at[v] ≥ 0; row
// at[v] is that of v. Cost: two passes over the edges.
func (g *CSR) TransposeFor(at []int32, rows int) *Rows {
	t := &CSR{Indptr: make([]int64, rows+1), Cols: g.Rows()}
	for _, u := range g.Indices {
		if k := at[u]; k >= 0 {
			t.Indptr[k+1]++
		}
	}
	accumulate(t.Indptr)
	t.Indices = make([]NodeID, t.Indptr[rows])
	if g.Weights != nil {
		t.Weights = make([]float32, t.Indptr[rows])
	}
	next := slices.Clone(t.Indptr[:rows])
	for v := range g.Rows() {
		for e, u := range g.Row(v) {
			if k := at[u]; k >= 0 {
				t.Indices[next[k]] = NodeID(v)
				if g.Weights != nil {
					t.Weights[next[k]] = g.Weights[g.Indptr[v]+int64(e)]
				}
				next[k]++
			}
		}
	}
	return &Rows{CSR: t, At: at}
}
