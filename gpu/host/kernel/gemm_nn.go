package kernel

import "capgnn/gpu/host/workers"

// GemmStep returns how many of C's rows a work item takes. It decides no bits.
func GemmStep(p *workers.Pool, rows int) int {
	mr := gemmKernel().mr
	return max(mr, min(gemmRows, RoundUp((rows+4*p.Threads-1)/(4*p.Threads), mr)))
}

// RowRange returns rows lo to hi (hi excluded) of m.
func (m Dense) RowRange(lo, hi int) Dense {
	if m.Cols == 0 || lo == hi {
		return Dense{nil, hi - lo, m.Cols, m.LD}
	}
	return Dense{m.V[lo*m.LD : (hi-1)*m.LD+m.Cols], hi - lo, m.Cols, m.LD}
}

// Packed is the second operand of a product, k×n: for each gemmDepth rows, panels as wide as kern.panel says (the
// last one rounded up to lanes and filled with zeros), each panel row by row.
type Packed struct {
	kern  *tileKernel
	v     []float32
	k, n  int
	width int // n rounded up to lanes
}

// Product computes C = A·B + beta·C on one thread, for a block of rows of A and C; with beta 0, C is not read. An element's
// bits do not depend on the block it is in.
// Method: Goto and van de Geijn, Anatomy of High-Performance Matrix Multiplication (2008), without packing A: broadcasts
// from a few rows in place cost nothing, and A is by far the largest operand here.
func (w Packed) Product(c, a Dense, beta float32) {
	add := beta != 0 && w.k > 0
	if beta != 0 || w.k == 0 {
		scaleRows(c, beta)
	}
	for k0 := 0; k0 < w.k; k0 += gemmDepth {
		w.slice(c, a, k0, min(gemmDepth, w.k-k0), add)
		add = true
	}
}

// slice adds or assigns columns k0 to k0+depth of A times their panels to C.
func (w Packed) slice(c, a Dense, k0, depth int, add bool) {
	kern, panels := w.kern, w.v[k0*w.width:]
	for j := 0; j < w.n; {
		n, rows := kern.panel(w.n - j)
		panel, stride := panels[j*depth:], RoundUp(n, kern.lanes)
		for i := 0; i < c.Rows; i += rows {
			kern.tile(min(rows, c.Rows-i), n, depth, a.V[i*a.LD+k0:], a.LD, 1, panel, stride, c.V[i*c.LD+j:], c.LD, add,
				w.coming(c, a, k0, depth, i, j, rows))
		}
		j += n
	}
}

// coming is what a tile prefetches: the next tile's rows of A. Where these are short, C is the larger: there, tiles take the
// lines of C that the next panel's tiles will write, one line of depth rows each; other rows may be another worker's.
func (w Packed) coming(c, a Dense, k0, depth, i, j, rows int) hint {
	n, _ := w.kern.panel(w.n - j)
	if depth <= gemmShort && j > 0 {
		tile := i / rows
		row := max(0, min(tile/2*depth, c.Rows-depth))
		return soon(c.V, row*c.LD+min(j+n+tile%2*line, w.n-1), c.LD)
	}
	next := i + rows
	if next >= c.Rows && j+n < w.n {
		next = 0
	}
	return soon(a.V, next*a.LD+k0, min(line, rows*a.LD/depth))
}

// Pack copies op(B), transposed if told to, into panels in *buf, which grows as needed.
func Pack(p *workers.Pool, buf *[]float32, b Dense, trans bool) Packed {
	k, n := b.Rows, b.Cols
	if trans {
		k, n = n, k
	}
	kern := gemmKernel()
	w := Packed{kern: kern, k: k, n: n, width: RoundUp(n, kern.lanes)}
	w.v = workers.Aligned(buf, k*w.width)
	slices := (k + gemmDepth - 1) / gemmDepth
	steps := (n + kern.lanes - 1) / kern.lanes
	p.Each(slices*steps, func(_, item int) {
		k0, j := item/steps*gemmDepth, item%steps*kern.lanes
		w.packLanes(b, trans, k0, min(gemmDepth, k-k0), j)
	})
	return w
}

// packLanes fills columns j to j+lanes of the panels of rows k0 to k0+depth.
func (w Packed) packLanes(b Dense, trans bool, k0, depth, j int) {
	lanes := w.kern.lanes
	first := 0 // column of the panel that has column j
	n, _ := w.kern.panel(w.n)
	for first+n <= j {
		first += n
		n, _ = w.kern.panel(w.n - first)
	}
	stride := RoundUp(n, lanes)
	dst := w.v[k0*w.width+first*depth+j-first:]
	if trans {
		packTransposed(dst, b, k0, depth, j, min(lanes, w.n-j), lanes, stride)
	} else {
		packRows(dst, b, k0, depth, j, min(lanes, w.n-j), lanes, stride)
	}
}

// packRows copies rows k0 to k0+depth, columns j to j+w of b to the first columns of rows of dst of the given stride, and
// fills up to full columns with zeros.
func packRows(dst []float32, b Dense, k0, depth, j, w, full, stride int) {
	for r := range depth {
		row := dst[r*stride : r*stride+full]
		at := (k0+r)*b.LD + j
		copy(row, b.V[at:at+w])
		clear(row[w:])
	}
}

// packTransposed is packRows of the transpose of b.
func packTransposed(dst []float32, b Dense, k0, depth, j, w, full, stride int) {
	for r0 := 0; r0 < depth; r0 += 16 {
		rows := min(16, depth-r0)
		part := dst[r0*stride:]
		for col := range full {
			if col >= w {
				for r := range rows {
					part[r*stride+col] = 0
				}
				continue
			}
			at := (j+col)*b.LD + k0 + r0
			for r, v := range b.V[at : at+rows] {
				part[r*stride+col] = v
			}
		}
	}
}
