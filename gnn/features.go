package gnn

import "capgnn/gpu"

// Features are input rows on a device: dense, or sparse with the transpose for the weight gradient.
type Features struct {
	Dense   gpu.Matrix
	Sparse  gpu.CSR
	SparseT gpu.CSR // columns: the rows that training reads; unused in evaluation
	Before  []int64 // entries of Sparse before each row, then the number of all of them; on the host
	// Numbers and NumbersT have the EntryNumber of every entry of Sparse and SparseT, where training drops features.
	Numbers, NumbersT gpu.Ints
}

func (f Features) sparse() bool { return f.Sparse.Cols > 0 }

// head returns the first n rows.
func (f Features) head(n int) Features {
	if f.sparse() {
		f.Sparse.Rows = n
		f.Sparse.Begin = f.Sparse.Begin.Slice(0, n)
		f.Sparse.End = f.Sparse.End.Slice(0, n)
		f.Sparse.Entries = f.Before[n]
		return f
	}
	f.Dense = f.Dense.RowRange(0, n)
	return f
}

// AggregateInput computes ax = A·X over inner and halo rows (saving 1), once before the first epoch.
func AggregateInput(q gpu.Queue, op Operand, inner, halo, ax gpu.Matrix) {
	q.Aggregate(gpu.AggregateArgs{Y: ax, A: op.Inner, X: inner, RowScale: op.RowScale, ColScale: op.ColScale})
	if halo.Rows > 0 {
		q.Aggregate(gpu.AggregateArgs{Y: ax, A: op.Halo, X: halo, RowScale: op.RowScale, ColScale: op.HaloScale, Accumulate: true})
	}
}

// EntryNumber returns the number of an entry of sparse features in the counters of dropout, where a row has its id:
// vertex·cols + column, modulo 2³², for features of cols columns. Entries whose numbers are the same are dropped
// together.
func EntryNumber(vertex, column int32, cols int) int32 {
	return int32(uint32(vertex)*uint32(cols) + uint32(column))
}

// featureDrop makes what dropout leaves of features: a copy of dense rows, or the values of sparse ones. Backward,
// the values of the transpose take the place of those that the forward pass read.
type featureDrop struct {
	then *then
	kept *value   // dense: Src × in; sparse: Stored × 1
	left Features // what forward or backward left
}

// forward makes what the first product reads.
func (d *featureDrop) forward(x *exec) {
	if d.left = x.in.X.head(x.graph(0).Src); d.left.sparse() {
		d.left.Sparse = d.sparse(x, d.left.Sparse, d.left.Numbers)
		return
	}
	x.q.Epilogue(gpu.Epilogue{Z: d.left.Dense, H: *d.kept.m, Dropout: x.dropped(d.then, d.left.Dense.Rows)})
	d.left.Dense = *d.kept.m
}

// backward makes what the gradient of the first weight reads: of sparse features what forward left, in the order of
// the transpose.
func (d *featureDrop) backward(x *exec) {
	if d.left.sparse() {
		d.left.SparseT = d.sparse(x, d.left.SparseT, d.left.NumbersT)
	}
}

// features returns the rows that layer 0 reads: in training what dropout leaves of them.
func (x *exec) features() Features {
	if x.drop != nil {
		return x.drop.left
	}
	return x.in.X.head(x.graph(0).Src)
}

// rootT returns Input.RootT with what dropout leaves of its values.
func (x *exec) rootT() gpu.CSR {
	t := x.in.RootT
	if x.drop != nil { // entries lie where those of the whole transpose do
		t.Indices, t.Val = x.drop.left.SparseT.Indices, x.drop.left.SparseT.Val
	}
	return t
}

// sparse returns a with the values that dropout leaves, in which numbers stand for rows: its values are a column of a
// dense matrix.
func (d *featureDrop) sparse(x *exec, a gpu.CSR, numbers gpu.Ints) gpu.CSR {
	n := int(a.Entries)
	column := func(v gpu.Vec) gpu.Matrix { return gpu.Matrix{Buf: v.Buf, Off: v.Off, Rows: n, Cols: 1, LD: 1} }
	kept := gpu.Vec{Buf: d.kept.m.Buf, Off: d.kept.m.Off, Len: n}
	x.q.Epilogue(gpu.Epilogue{Z: column(a.Val), H: column(kept), Dropout: x.dropout(d.then, numbers.Slice(0, n))})
	a.Indices, a.Val = a.Indices.Slice(0, n), kept
	return a
}
