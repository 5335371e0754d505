package minibatch

import (
	"slices"

	"capgnn/gpu"
	"capgnn/graph"
	"capgnn/hostmem"
)

// A packed row is all that a step reads of a vertex, as it lies in requests and caches: its row of every table, one
// behind the other; of sparse features the columns and then the values of its entries.

// rowSize returns the bytes of a vertex's packed row.
func (g *stage) rowSize(v graph.NodeID) int {
	if f := g.sparse(); f != nil {
		return entryBytes * int(f.Indptr[v+1]-f.Indptr[v])
	}
	return int(g.rowBytes())
}

// largestRow returns the bytes of the largest packed row, at least those of a number.
func (g *stage) largestRow() int {
	n := max(int(g.rowBytes()), entryBytes)
	if f := g.sparse(); f != nil {
		for v := range len(f.Indptr) - 1 {
			n = max(n, entryBytes*int(f.Indptr[v+1]-f.Indptr[v]))
		}
	}
	return n
}

// packRow writes a vertex's packed row to dst, and returns its size.
func (g *stage) packRow(dst []byte, v graph.NodeID) (n int) {
	if g.sparse() != nil {
		n, half := g.rowSize(v), g.rowSize(v)/2
		g.p.CopySparse(hostmem.Of[int32](dst[:half]), hostmem.Of[float32](dst[half:n]), v)
		return n
	}
	for i := range g.tables {
		t := &g.tables[i]
		t.row(hostmem.Of[float32](dst[n:][:4*t.cols]), v)
		n += 4 * t.cols
	}
	return n
}

// seat writes a packed row to where the step reads that of its i-th vertex.
func (g *stage) seat(d *sampledUnit, mem []byte, i int, row []byte) {
	l := &d.layout
	if g.sparse() == nil {
		if g.resident != nil { // it is missing there
			i, _ = slices.BinarySearch(d.missing, int32(i))
		}
		for k := range g.tables {
			n := 4 * g.tables[k].cols
			copy(mem[4*g.dense(l)[k].Off+i*n:][:n], row)
			row = row[n:]
		}
		return
	}
	x, half := l.in.X.Sparse, len(row)/2
	begin := ptr(mem, x)[i]
	copy(mem[4*(int64(x.Indices.Off)+begin):], row[:half])
	copy(mem[4*(int64(x.Val.Off)+begin):], row[half:])
}

// collect writes the rows of a table that a sampledUnit reads to dst, each from where it lies (stage.near).
func (g *stage) collect(dst []float32, d *sampledUnit, table int) {
	t, first := &g.tables[table], 0 // of its packed row
	for k := range table {
		first += g.tables[k].cols
	}
	var cache, staged []float32
	row := 0
	if f := g.whole; f != nil {
		cache, row = of[float32](f.cache.Bytes()), f.row/4
	} else {
		staged = on(d.host, d.layout.tables[table])
	}
	for i, v := range d.ids() {
		to := dst[i*t.cols:][:t.cols]
		switch {
		case !g.away(v):
			t.row(to, v)
		case row > 0:
			copy(to, cache[int(d.kept[i])*row+first:])
		default:
			copy(to, staged[i*t.cols:])
		}
	}
}

// dense says where a slot has dense rows: those of all vertices, or those that are not resident.
func (g *stage) dense(l *layout) *[2]gpu.Vec {
	if g.resident != nil {
		return &l.missing
	}
	return &l.tables
}

// rowsAtOnce is how many rows one goroutine copies before it takes others.
const rowsAtOnce = 64

// each calls f for blocks of n rows, on all cores where these are idle.
func (g *stage) each(n int, f func(lo, hi int)) {
	if g.idle {
		graph.EachBlock(n, rowsAtOnce, f)
	} else {
		f(0, n)
	}
}

// seatOwn writes the rows of the vertices that are at home, or read as if they were, to where the step reads them;
// not those that are resident.
func (g *stage) seatOwn(d *sampledUnit) {
	mem, ids := d.host, d.ids()
	if g.sparse() != nil {
		g.seatOwnSparse(d)
		return
	}
	for k := range g.tables {
		t, n := &g.tables[k], g.tables[k].cols
		dst := on(mem, g.dense(&d.layout)[k])
		g.each(len(dst)/n, func(lo, hi int) {
			for i := lo; i < hi; i++ {
				at := i
				if g.resident != nil {
					at = int(d.missing[i])
				}
				if v := ids[at]; !g.fetches || !g.away(v) {
					t.row(dst[i*n:][:n], v)
				}
			}
		})
	}
}

// seatOwnSparse is seatOwn of sparse features, whose rows have their beginnings.
func (g *stage) seatOwnSparse(d *sampledUnit) {
	x, mem := d.layout.in.X.Sparse, d.host
	begin, indices, values := ptr(mem, x), on(mem, x.Indices), on(mem, x.Val)
	for i, v := range d.ids() {
		if g.fetches && g.away(v) {
			continue
		}
		g.p.CopySparse(indices[begin[i]:], values[begin[i]:], v)
	}
}
