package host

import (
	"fmt"
	"unsafe"
)

// Sizes of gemm's blocks. Those that decide the order of a sum are constants so that results depend on shapes only; tnGroup
// and gemmRows only deal out work.
const (
	gemmDepth    = 768        // rows of B per pass: 12 rows of A and a 32-wide panel of B stay in the L2 cache
	gemmRows     = 96         // rows of C per work item, a multiple of every kernel's mr
	tnBlock      = 128        // rows of A and B per tile call: measured best at 96 to 192
	tnParts      = 16         // partial sums at most
	tnPartRows   = 256        // rows per partial sum at least, so that adding it costs little beside making it
	tnPartFloats = 4 << 20    // all partial sums together: 16 MiB
	tnGroup      = 192 * 1024 // floats of a partial sum per work item: 768 KiB, within the L2 cache
)

// tileKernel is the innermost loop of gemm for one instruction set.
//
//	C[i][j] = Σ_k A(i,k)·B[k][j] (+ C[i][j] if add), 0 ≤ i < m ≤ mr, 0 ≤ j < n ≤ nr
//
// with A(i,k) = a[i·rs+k·cs], B[k][j] = b[k·bs+j], C[i][j] = c[i·ldc+j]. k ≥ 1 runs in order from 0 and the old C is added
// last, so an element's bits do not depend on its place in a tile. Rows of B are read up to n rounded up to lanes; nothing
// else is read or written outside of the loop.
type tileKernel struct {
	mr, nr, lanes int
	tile          func(m, n, k int, a []float32, rs, cs int, b []float32, bs int, c []float32, ldc int, add bool, h hint)
}

// hint names memory that is needed soon: a tile prefetches a line at next, next+step, …, one per k. An address only: it
// may lie outside of every array.
type hint struct{ next, step uintptr }

// soon returns the hint for element at of v, which may be behind its end, and steps of so many elements.
func soon(v []float32, at, step int) hint {
	return hint{uintptr(unsafe.Pointer(&v[0])) + uintptr(at)*4, uintptr(step) * 4}
}

// scratch is the workspace of matrix products. The zero value is ready; it grows to the largest product seen and stays.
// It is used by one operation at a time.
type scratch struct {
	panels []float32 // B in panels of nr columns
	parts  []float32 // partial sums of TN
	tails  []float32 // last columns of B's current row block, one block per worker
}

// line is the number of float32s in a cache line.
const line = 64 / 4

// grow returns n floats on a 64-byte border from *buf, which it replaces if it is too small. Their content is undefined.
func grow(buf *[]float32, n int) []float32 {
	if n == 0 {
		return nil
	}
	if cap(*buf) < n+line {
		*buf = make([]float32, n+line)
	}
	s := (*buf)[:n+line]
	off := int(-uintptr(unsafe.Pointer(&s[0])) / 4 % line)
	return s[off : off+n]
}

// gemm computes C = op(A)·op(B) + beta·C, where op transposes if told to. With beta 0, C is not read. Not both of A and B
// may be transposed. The result is the same for any number of threads: see tnBlock for sums over rows.
func gemm(p *pool, sc *scratch, c, a, b dense, transA, transB bool, beta float32) {
	switch {
	case transA && transB:
		panic("host: gemm with both operands transposed")
	case transA:
		checkGemm(c, a.cols, a.rows, b.rows, b.cols)
	case transB:
		checkGemm(c, a.rows, a.cols, b.cols, b.rows)
	default:
		checkGemm(c, a.rows, a.cols, b.rows, b.cols)
	}
	if c.rows == 0 || c.cols == 0 {
		return
	}
	if a.rows == 0 || a.cols == 0 {
		scaleRows(c, 0, c.rows, beta)
		return
	}
	if transA {
		gemmTN(p, sc, c, a, b, beta)
	} else {
		gemmNN(p, sc, c, a, b, transB, beta)
	}
}

func checkGemm(c dense, m, k, k2, n int) {
	if c.rows != m || c.cols != n || k != k2 {
		panic(fmt.Sprintf("host: gemm of %d×%d and %d×%d into %d×%d", m, k, k2, n, c.rows, c.cols))
	}
}

// scaleRows sets rows lo to hi of c to beta times themselves, without reading them if beta is 0.
func scaleRows(c dense, lo, hi int, beta float32) {
	for i := lo; i < hi; i++ {
		row := c.v[i*c.ld : i*c.ld+c.cols]
		switch beta {
		case 1:
		case 0:
			clear(row)
		default:
			for j := range row {
				row[j] *= beta
			}
		}
	}
}

// gemmNN is gemm without transposition of A: B is packed once, A is read in place, blocks of rows of C are the work items.
// Method: Goto and van de Geijn, Anatomy of High-Performance Matrix Multiplication (2008), without packing A: broadcasts
// from a few rows in place cost nothing, and A is by far the largest operand here.
func gemmNN(p *pool, sc *scratch, c, a, b dense, transB bool, beta float32) {
	kern := gemmKernel()
	k, n := a.cols, c.cols
	width := roundUp(n, kern.lanes)
	panels := grow(&sc.panels, k*width)
	packB(p, kern, panels, b, k, n, transB)

	block := min(gemmRows, roundUp((c.rows+4*p.threads-1)/(4*p.threads), kern.mr))
	p.each((c.rows+block-1)/block, func(_, item int) {
		lo := item * block
		hi := min(lo+block, c.rows)
		add := beta != 0
		if add {
			scaleRows(c, lo, hi, beta)
		}
		for k0 := 0; k0 < k; k0 += gemmDepth {
			depth := min(gemmDepth, k-k0)
			gemmBlock(kern, c, a, panels[k0*width:], k0, depth, lo, hi, add)
			add = true
		}
	})
}

// gemmBlock adds or assigns columns k0 to k0+depth of A times their packed panels to rows lo to hi of C.
func gemmBlock(kern *tileKernel, c, a dense, panels []float32, k0, depth, lo, hi int, add bool) {
	for j := 0; j < c.cols; j += kern.nr {
		n := min(kern.nr, c.cols-j)
		panel := panels[j*depth:]
		stride := roundUp(n, kern.lanes)
		for i := lo; i < hi; i += kern.mr {
			m := min(kern.mr, hi-i)
			next := i + kern.mr
			if next >= hi && j+kern.nr < c.cols {
				next = lo
			}
			kern.tile(m, n, depth, a.v[i*a.ld+k0:], a.ld, 1, panel, stride, c.v[i*c.ld+j:], c.ld, add,
				soon(a.v, next*a.ld+k0, min(line, kern.mr*a.ld/depth)))
		}
	}
}

// packB copies op(B), k×n, into dst: for each gemmDepth rows, panels of kern.nr columns (the last one narrower, rounded up
// to lanes and filled with zeros), each panel row by row.
func packB(p *pool, kern *tileKernel, dst []float32, b dense, k, n int, trans bool) {
	width := roundUp(n, kern.lanes)
	cols := (n + kern.nr - 1) / kern.nr
	depths := (k + gemmDepth - 1) / gemmDepth
	p.each(cols*depths, func(_, item int) {
		k0 := item / cols * gemmDepth
		j := item % cols * kern.nr
		depth := min(gemmDepth, k-k0)
		w := min(kern.nr, n-j)
		panel := dst[k0*width+j*depth:]
		if trans {
			packTransposed(panel, b, k0, depth, j, w, roundUp(w, kern.lanes))
		} else {
			packRows(panel, b, k0, depth, j, w, roundUp(w, kern.lanes))
		}
	})
}

// packRows copies rows k0 to k0+depth, columns j to j+w of b to rows of dst of the given stride, and fills with zeros.
func packRows(dst []float32, b dense, k0, depth, j, w, stride int) {
	for r := range depth {
		row := dst[r*stride : (r+1)*stride]
		at := (k0+r)*b.ld + j
		copy(row, b.v[at:at+w])
		clear(row[w:])
	}
}

// packTransposed is packRows of the transpose of b.
func packTransposed(dst []float32, b dense, k0, depth, j, w, stride int) {
	for r0 := 0; r0 < depth; r0 += 16 {
		rows := min(16, depth-r0)
		part := dst[r0*stride : (r0+rows)*stride]
		for col := range stride {
			if col >= w {
				for r := range rows {
					part[r*stride+col] = 0
				}
				continue
			}
			at := (j+col)*b.ld + k0 + r0
			for r, v := range b.v[at : at+rows] {
				part[r*stride+col] = v
			}
		}
	}
}

// roundUp returns the smallest multiple of m that is at least n.
func roundUp(n, m int) int { return (n + m - 1) / m * m }
