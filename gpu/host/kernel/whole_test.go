package kernel

import (
	"fmt"

	"capgnn/gpu/host/workers"
)

// gemm computes C = op(A)·op(B) + beta·C, where op transposes if told to. With beta 0, C is not read. Not both of A and B
// may be transposed. The result is the same for any number of threads: see tnBlock for sums over rows.
func gemm(p *workers.Pool, sc *Scratch, c, a, b Dense, transA, transB bool, beta float32) {
	switch {
	case transA && transB:
		panic("kernel: gemm with both operands transposed")
	case transA:
		checkGemm(c, a.Cols, a.Rows, b.Rows, b.Cols)
	case transB:
		checkGemm(c, a.Rows, a.Cols, b.Cols, b.Rows)
	default:
		checkGemm(c, a.Rows, a.Cols, b.Rows, b.Cols)
	}
	switch {
	case c.Rows == 0 || c.Cols == 0:
	case !transA:
		gemmNN(p, sc, c, a, b, transB, beta, nil)
	case a.Rows == 0 || a.Cols == 0:
		scaleRows(c, beta)
	default:
		GemmTN(p, sc, c, Either{D32: a}, Either{D32: b}, beta)
	}
}

func checkGemm(c Dense, m, k, k2, n int) {
	if c.Rows != m || c.Cols != n || k != k2 {
		panic(fmt.Sprintf("kernel: gemm of %d×%d and %d×%d into %d×%d", m, k, k2, n, c.Rows, c.Cols))
	}
}

// gemmNN is gemm without transposition of A, blocks of rows of C being the work items: B is packed once. If after is not
// nil, it is called with every block of rows of C once these are final, by the worker that has made them and while they are
// in its cache; the blocks cover all rows of C.
func gemmNN(p *workers.Pool, sc *Scratch, c, a, b Dense, transB bool, beta float32, after func(worker, lo, hi int)) {
	w := Pack(p, &sc.panels, b, transB)
	step := GemmStep(p, c.Rows)
	p.Each((c.Rows+step-1)/step, func(worker, item int) {
		lo := item * step
		hi := min(lo+step, c.Rows)
		w.Product(c.RowRange(lo, hi), a.RowRange(lo, hi), beta)
		if after != nil {
			after(worker, lo, hi)
		}
	})
}
