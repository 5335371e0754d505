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
