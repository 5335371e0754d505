package minibatch

import "capgnn/internal/learn"

// sparse returns features that travel as they are stored, and are computed so; nil: rows are dense.
func (g *stage) sparse() *learn.Features {
	if len(g.tables) > 0 {
		return nil
	}
	return &g.p.Features
}

// laySparse gives the sparse features of a step their places.
func (g *stage) laySparse(l *layout, e *extent) {
	l.csr(&l.x.rows, e.ids, g.p.Features.Cols, e.features, true)
	l.csr(&l.x.back, g.p.Features.Cols, e.ids, e.features, true)
	add(l, &l.x.ends, g.p.Features.Cols)
}

// putSparse writes the sparse features of a draft's vertices, and transposed: each column's entries ascend, so that those of the first layer's own rows, the
// first ones, come first.
func (g *stage) putSparse(d *draft, mem []byte) {
	f, x := &g.p.Features, &d.layout.x
	begin, indices, values := x.rows.begin.on(mem), x.rows.indices.on(mem), x.rows.values.on(mem)
	tBegin, tIndices, tValues := x.back.begin.on(mem), x.back.indices.on(mem), x.back.values.on(mem)
	own, ends := d.layout.layers[0].rows, x.ends.on(mem)
	at := int64(0)
	clear(tBegin)
	clear(ends)
	for i, v := range d.stack.IDs {
		begin[i] = at
		for e := f.Indptr[v]; e < f.Indptr[v+1]; e++ {
			c := f.Indices[e]
			indices[at], values[at] = c, f.Data[e]
			tBegin[c+2]++
			if i < own {
				ends[c]++
			}
			at++
		}
	}
	begin[len(d.stack.IDs)] = at
	for c := range f.Cols {
		tBegin[c+2] += tBegin[c+1]
		ends[c] += tBegin[c+1]
	}
	next := tBegin[1:]
	for i := range d.stack.IDs {
		for e := begin[i]; e < begin[i+1]; e++ {
			to := &next[indices[e]]
			tIndices[*to], tValues[*to] = int32(i), values[e]
			*to++
		}
	}
}
