package kernel

import (
	"unsafe"

	"capgnn/gpu/host/workers"
)

// Sizes of gemm's blocks. Those that decide the order of a sum are constants so that results depend on shapes only; tnGroup
// and gemmRows only deal out work.
const (
	gemmDepth    = 768        // rows of B per pass: 12 rows of A and a 32-wide panel of B stay in the L2 cache
	gemmRows     = 96         // rows of C per work item, a multiple of every kernel's mr
	gemmShort    = 64         // rows of B up to which C is prefetched instead of A: 1.25 times as fast with 41, no gain with 100
	tnBlock      = 96         // rows of A and B per tile call: measured best of 64 to 256
	tnParts      = 32         // partial sums at most
	tnPartRows   = 256        // rows per partial sum at least, so that adding it costs little beside making it
	tnPartFloats = 4 << 20    // all partial sums together: about 16 MiB
	tnGroup      = 192 * 1024 // floats of a partial sum per work item: 768 KiB, within the L2 cache
)

// tileKernel is the innermost loop of gemm for one instruction set.
//
//	C[i][j] = Σ_k A(i,k)·B[k][j] (+ C[i][j] if add), 0 ≤ i < m ≤ mr, 0 ≤ j < n ≤ nr, or m ≤ mr3 and n ≤ 3·lanes
//
// with A(i,k) = a[i·rs+k·cs], B[k][j] = b[k·bs+j], C[i][j] = c[i·ldc+j]. k ≥ 1 runs in order from 0 and the old C is added
// last, so an element's bits do not depend on its place in a tile. Rows of B are read up to n rounded up to lanes; nothing
// else is read or written outside of the loop.
type tileKernel struct {
	mr, nr, lanes int
	mr3           int // rows of a tile of three lanes; 0: there is none
	tile          func(m, n, k int, a []float32, rs, cs int, b []float32, bs int, c []float32, ldc int, add bool, h hint)
}

// panel returns the width of the first panel of n columns and the most rows of a tile that wide. An odd number of vectors
// begins with three of them, so that none is left alone: a tile of one vector waits for its loads.
func (t *tileKernel) panel(n int) (width, rows int) {
	if v := (n + t.lanes - 1) / t.lanes; t.mr3 > 0 && v%2 == 1 && v > 1 {
		return min(n, 3*t.lanes), t.mr3
	}
	return min(n, t.nr), t.mr
}

// hint names memory that is needed soon: a tile prefetches a line at next, next+step, …, one per k. An address only: it
// may lie outside of every array.
type hint struct{ next, step uintptr }

// soon returns the hint for element at of v, which may be behind its end, and steps of so many elements.
func soon(v []float32, at, step int) hint {
	return hint{uintptr(unsafe.Pointer(&v[0])) + uintptr(at)*4, uintptr(step) * 4}
}

// Scratch is memory that products and attention work in. The zero value is ready; it grows to the largest operation seen and
// stays. It is used by one operation at a time.
type Scratch struct {
	panels []float32 // B in panels of nr columns
	parts  []float32 // partial sums of TN
	room   []float32 // one row block of TN's B per worker, packed
	spmm   spmmRoom
	att    []attention // per worker
	sums   []float32   // partial sums of GATScoresBackward
	blocks []float32   // rows of operands and results, divided among workers
	list   []int32     // rows of SpMM16's blocks, divided among workers
}

// scaleRows sets c to beta times itself, without reading it if beta is 0.
func scaleRows(c Dense, beta float32) {
	for i := range c.Rows {
		row := c.V[i*c.LD : i*c.LD+c.Cols]
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

// line is the number of float32s in a cache line.
const line = 64 / 4

// RoundUp returns the smallest multiple of m that is at least n.
func RoundUp(n, m int) int { return (n + m - 1) / m * m }

// Scale: m = beta·m; with beta = 0, m is not read.
func Scale(p *workers.Pool, m Dense, beta float32) {
	if beta == 1 {
		return
	}
	p.Rows(m.Rows, m.Cols, func(_, lo, hi int) { scaleRows(m.RowRange(lo, hi), beta) })
}
