package learn

import "capgnn/graph"

// Features is the input of layer 0: dense rows, or CSR rows where Indptr is given.
type Features struct {
	Cols    int
	Dense   []float32 // vertices × Cols, nil if sparse
	Indptr  []int64   // len vertices+1
	Indices []int32   // columns, ascending in a row
	Data    []float32 // values
}

// Sparse reports whether the features are stored as CSR.
func (f *Features) Sparse() bool { return f.Indptr != nil }

// Fill writes row v of the features, dense, to dst.
func (f *Features) Fill(dst []float32, v graph.NodeID) {
	if !f.Sparse() {
		copy(dst, f.Dense[int(v)*f.Cols:][:f.Cols])
		return
	}
	clear(dst)
	for e := f.Indptr[v]; e < f.Indptr[v+1]; e++ {
		dst[f.Indices[e]] += f.Data[e]
	}
}

// Lying returns dense rows of consecutive vertices where they lie, nil if they do not lie so.
func (f *Features) Lying(ids []graph.NodeID) []float32 {
	if f.Sparse() || len(ids) == 0 {
		return nil
	}
	for i, v := range ids {
		if v != ids[0]+graph.NodeID(i) {
			return nil
		}
	}
	return f.Dense[int(ids[0])*f.Cols:][:len(ids)*f.Cols]
}

// gatherRows is the number of rows that a goroutine gathers at a time.
const gatherRows = 1 << 9

// Rows returns the sparse features of some vertices.
func (f *Features) Rows(ids []graph.NodeID) (*graph.CSR, []float32) {
	return sparseRows(f.Cols, ids, func(v graph.NodeID) (*Features, graph.NodeID) { return f, v })
}

// sparseRows returns the sparse features of some vertices, which at finds.
func sparseRows(cols int, ids []graph.NodeID, at func(v graph.NodeID) (*Features, graph.NodeID)) (*graph.CSR, []float32) {
	c := &graph.CSR{Indptr: make([]int64, len(ids)+1), Cols: cols}
	for i, v := range ids {
		f, v := at(v)
		c.Indptr[i+1] = c.Indptr[i] + f.Indptr[v+1] - f.Indptr[v]
	}
	entries := c.Indptr[len(ids)]
	c.Indices = make([]int32, entries)
	val := make([]float32, entries)
	graph.EachBlock(len(ids), gatherRows, func(lo, hi int) {
		for i := lo; i < hi; i++ {
			f, v := at(ids[i])
			from, to := f.Indptr[v], f.Indptr[v+1]
			copy(c.Indices[c.Indptr[i]:], f.Indices[from:to])
			copy(val[c.Indptr[i]:], f.Data[from:to])
		}
	})
	return c, val
}
