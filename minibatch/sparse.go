package minibatch

import (
	"capgnn/gnn"
	"capgnn/internal/learn"
)

// sparse returns features that travel as they are stored, and are computed so; nil: rows are dense.
func (g *stage) sparse() *learn.Features {
	if len(g.tables) > 0 {
		return nil
	}
	return &g.p.Features
}

func (g *stage) laySparse(l *layout, e *extent) {
	cols, x := g.p.Features.Cols, &l.in.X
	x.Sparse, x.SparseT = l.csr(e.ids, cols, e.features, 1), l.csr(cols, e.ids, e.features, 1)
	l.ends = add[int64](l, cols)
	if g.drops {
		x.Numbers, x.NumbersT = add[int32](l, e.features), add[int32](l, e.features)
	}
	l.layers[0].Stored = e.features
	if l.in.RootT = x.SparseT; l.layers[0].Rows < e.ids {
		l.in.RootT.Cols, l.in.RootT.End = l.layers[0].Rows, l.ends
	}
}

// begins appends where the rows of a sampledUnit's sparse features begin, and where the last one ends.
func (d *sampledUnit) begins(dst []int64, f *learn.Features) []int64 {
	at := int64(0)
	for _, v := range d.stack.IDs {
		dst = append(dst, at)
		at += f.Indptr[v+1] - f.Indptr[v]
	}
	return append(dst, at)
}

// spreadSparse writes a sampledUnit's sparse features transposed: each column's entries ascend, so that those of
// the first layer's own rows, the first ones, come first. It numbers the entries of both, where features are
// dropped.
func (g *stage) spreadSparse(d *sampledUnit) {
	f, l, mem := &g.p.Features, &d.layout, d.host
	x, t := l.in.X.Sparse, l.in.X.SparseT
	begin, indices, values := ptr(mem, x), on(mem, x.Indices), on(mem, x.Val)
	tBegin, tIndices, tValues := ptr(mem, t), on(mem, t.Indices), on(mem, t.Val)
	numbers, numbersT := on(mem, l.in.X.Numbers), on(mem, l.in.X.NumbersT)
	own, ends, n := l.layers[0].Rows, on(mem, l.ends), len(d.stack.IDs)
	clear(tBegin)
	clear(ends)
	for _, c := range indices[:begin[n]] {
		tBegin[c+2]++
	}
	for _, c := range indices[:begin[own]] {
		ends[c]++
	}
	for c := range f.Cols {
		tBegin[c+2] += tBegin[c+1]
		ends[c] += tBegin[c+1]
	}
	next := tBegin[1:]
	for i := range n {
		for e := begin[i]; e < begin[i+1]; e++ {
			to := &next[indices[e]]
			tIndices[*to], tValues[*to] = int32(i), values[e]
			if g.drops {
				number := gnn.EntryNumber(d.stack.IDs[i], indices[e], f.Cols)
				numbers[e], numbersT[*to] = number, number
			}
			*to++
		}
	}
}
