//go:build cuda

package cuda

import "capgnn/gpu"

// Dense products that read or write BF16, or are asked to round as if they did (Half), by cuBLAS. It multiplies matrices of one type, so the
// FP32 ones of a pair are rounded into scratch first: a weight whole, rows of vertices a chunk at a time (docs/adr/0038).

const (
	halfCapability = 8        // major compute capability from which cuBLAS multiplies BF16
	halfAlign      = 8        // elements of BF16 in 16 bytes: where rows in scratch begin, as tensor cores load them
	halfChunk      = 64 << 20 // bytes of scratch for the rows of a chunk: enough that products are large, few enough for every queue to have them
	leastChunk     = 64       // rows of a chunk, however long they are
)

// HalfProducts reports whether cuBLAS is there and multiplies BF16 on a GPU.
func (d *Driver) HalfProducts(c Card) bool {
	_, err := d.blasLibrary()
	return err == nil && c.Major >= halfCapability
}

// anyBF16 reports whether one of the matrices is BF16.
func anyBF16(m ...gpu.Matrix) bool {
	for _, x := range m {
		if x.Type == gpu.BF16 {
			return true
		}
	}
	return false
}

// rounds reports whether operands are rounded that stand beside these matrices, or are among them.
func (p *product) rounds(m ...gpu.Matrix) bool { return p.half || anyBF16(m...) }

// scratchArea hands out matrices of a block of scratch, one behind the other.
type scratchArea struct {
	buf gpu.Buffer
	end gpu.Bytes
}

// matrix returns the next one. Its rows begin at multiples of 16 bytes.
func (a *scratchArea) matrix(rows, cols int, t gpu.DType) gpu.Matrix {
	size := t.Size()
	m := gpu.Matrix{Buf: a.buf, Off: int(a.end) / size, Rows: rows, Cols: cols, LD: (cols + halfAlign - 1) / halfAlign * halfAlign, Type: t}
	a.end += gpu.Bytes(rows) * gpu.Bytes(m.LD) * gpu.Bytes(size)
	return m
}

// rounded returns a place for rows of m in BF16; none if m is BF16.
func (a *scratchArea) rounded(m gpu.Matrix, rows int) gpu.Matrix {
	if m.Type == gpu.BF16 || m.Empty() {
		return gpu.Matrix{}
	}
	return a.matrix(rows, m.Cols, gpu.BF16)
}

// halves are the places of a chunk of rows of a product; an empty one is not needed.
type halves struct {
	a, a2 gpu.Matrix // rounded rows
	b, b2 gpu.Matrix // rounded weights
	c     gpu.Matrix // rows of the result that still have something to come
}

// place lays out what a chunk of rows needs in a block, nil to learn its size.
func (p *product) place(buf gpu.Buffer, rows int) (h halves, size gpu.Bytes) {
	at := scratchArea{buf: buf}
	if p.rounds(p.a, p.b, p.c) {
		h.b, h.a = at.rounded(p.b, p.b.Rows), at.rounded(p.a, rows)
	}
	if p.rounds(p.a2, p.c) {
		h.b2, h.a2 = at.rounded(p.b2, p.b2.Rows), at.rounded(p.a2, rows)
	}
	if p.beta != 0 && !p.rowScale.Empty() || p.c.Type == gpu.BF16 && !(p.rowScale.Empty() && p.bias.Empty() && p.a2.Empty()) {
		h.c = at.matrix(rows, p.n, gpu.FP32)
	}
	return h, at.end
}

// chunk returns how many rows, or of a product with the transpose of A how much of k, go at once.
func (d *device) chunk(rows int, row gpu.Bytes) int {
	if row == 0 {
		return rows
	}
	return min(rows, max(leastChunk, int(d.chunkBytes/row)))
}

// round returns rows lo to hi of m, in BF16 at a place if there is one.
func (q *queue) round(place, m gpu.Matrix, lo, hi int) gpu.Matrix {
	m = m.RowRange(lo, hi)
	if place.Empty() {
		return m
	}
	place = place.RowRange(0, hi-lo)
	q.move(place, m, 0)
	return place
}

// blasRows enqueues a product whose C has a row for every row of A, by cuBLAS.
func (q *queue) blasRows(p product) {
	_, fixed := p.place(nil, 0)
	_, one := p.place(nil, 1)
	rows := q.dev.chunk(p.m, one-fixed)
	h, size := p.place(nil, rows)
	if size > 0 {
		h, _ = p.place(q.dev.scratch(q, size), rows)
	}
	b := q.round(h.b, p.b, 0, p.b.Rows)
	var b2 gpu.Matrix
	if !p.a2.Empty() {
		b2 = q.round(h.b2, p.b2, 0, p.b2.Rows)
	}
	for lo := 0; lo < p.m; lo += rows {
		q.blasChunk(p, h, b, b2, lo, min(p.m, lo+rows))
	}
}

// blasChunk enqueues rows lo to hi of a product with weights b and b2.
func (q *queue) blasChunk(p product, h halves, b, b2 gpu.Matrix, lo, hi int) {
	c, scale, bias, beta := p.c.RowRange(lo, hi), p.rowScale, p.bias, p.beta
	if !scale.Empty() {
		scale = scale.Slice(lo, hi)
	}
	out := c
	if !h.c.Empty() {
		out, beta = h.c.RowRange(0, hi-lo), 0
	}
	q.blasProduct(false, p.transB, q.round(h.a, p.a, lo, hi), b, beta, out)
	if !p.a2.Empty() {
		q.scaleBias(out, scale, gpu.Vec{})
		scale = gpu.Vec{}
		q.blasProduct(false, true, q.round(h.a2, p.a2, lo, hi), b2, 1, out)
	}
	q.scaleBias(out, scale, bias)
	switch {
	case h.c.Empty():
	case c.Type == gpu.BF16:
		q.move(c, out, 0)
	default:
		q.axpby(c, 1, out, p.beta)
	}
}

// blasSums enqueues a product with the transpose of A by cuBLAS, in order of k where one of the operands has to be rounded.
func (q *queue) blasSums(p product) {
	var a, b gpu.Matrix
	place := func(buf gpu.Buffer, rows int) gpu.Bytes {
		at := scratchArea{buf: buf}
		if p.rounds(p.a, p.b) {
			a, b = at.rounded(p.a, rows), at.rounded(p.b, rows)
		}
		return at.end
	}
	rows := q.dev.chunk(p.k, place(nil, 1))
	if size := place(nil, rows); size > 0 {
		place(q.dev.scratch(q, size), rows)
	}
	beta := p.beta
	for lo := 0; lo < p.k; lo += rows {
		hi := min(p.k, lo+rows)
		q.blasProduct(true, false, q.round(a, p.a, lo, hi), q.round(b, p.b, lo, hi), beta, p.c)
		beta = 1
	}
}
