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

// laySparse gives the sparse features of a step their places.
func (g *stage) laySparse(l *layout, e *extent) {
	l.csr(&l.x.rows, e.ids, g.p.Features.Cols, e.features, 1)
	l.csr(&l.x.back, g.p.Features.Cols, e.ids, e.features, 1)
	add(l, &l.x.ends, g.p.Features.Cols)
	if g.drops {
		add(l, &l.x.numbers, e.features)
		add(l, &l.x.numbersT, e.features)
	}
}

// putSparse writes the sparse features of a sampledUnit's vertices, all of which the part has at hand.
func (g *stage) putSparse(d *sampledUnit) {
	d.begins(d.layout.x.rows.begin.on(d.host)[:0], &g.p.Features)
	g.seatOwnSparse(d)
	g.spreadSparse(d)
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

// spreadSparse writes a sampledUnit's sparse features transposed: each column's entries ascend, so that those of the first layer's own rows, the first ones, come first.
// It numbers the entries of both, where features are dropped.
func (g *stage) spreadSparse(d *sampledUnit) {
	f, x, mem := &g.p.Features, &d.layout.x, d.host
	begin, indices, values := x.rows.begin.on(mem), x.rows.indices.on(mem), x.rows.values.on(mem)
	tBegin, tIndices, tValues := x.back.begin.on(mem), x.back.indices.on(mem), x.back.values.on(mem)
	numbers, numbersT := x.numbers.on(mem), x.numbersT.on(mem)
	own, ends, n := d.layout.layers[0].rows, x.ends.on(mem), len(d.stack.IDs)
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
