package workers

const (
	// Grain is about how many elements a thread takes at a time from an elementwise loop: 64 KiB, a part of L2.
	Grain = 16 << 10
	// minBlock and maxBlocks cut reductions over rows: blocks of at least minBlock rows, and at most maxBlocks of them,
	// which bounds the memory of the partial sums. Shapes decide, never threads (docs/determinism.md).
	minBlock  = 64
	maxBlocks = 256
)

// Rows calls f for ranges of rows that cover n rows of the given number of columns. Rows must not depend on each other.
func (p *Pool) Rows(n, cols int, f func(worker, lo, hi int)) {
	step := max(1, Grain/max(cols, 1))
	p.Each((n+step-1)/step, func(w, i int) {
		f(w, i*step, min((i+1)*step, n))
	})
}

// Pieces calls f for pieces of rows, columns lo to hi of row i, that cover a matrix: whole rows unless they are long.
func (p *Pool) Pieces(rows, cols int, f func(i, lo, hi int)) {
	if cols <= Grain {
		p.Rows(rows, cols, func(_, first, last int) {
			for i := first; i < last; i++ {
				f(i, 0, cols)
			}
		})
		return
	}
	parts := (cols + Grain - 1) / Grain
	p.Each(rows*parts, func(_, k int) {
		lo := k % parts * Grain
		f(k/parts, lo, min(lo+Grain, cols))
	})
}

// blockRows returns the rows of a block of a reduction over n rows.
func blockRows(n int) int { return max(minBlock, (n+maxBlocks-1)/maxBlocks) }

// Blocks calls f for every block of n rows and returns their number.
func (p *Pool) Blocks(n int, f func(worker, block, lo, hi int)) int {
	step := blockRows(n)
	count := (n + step - 1) / step
	p.Each(count, func(w, b int) {
		f(w, b, b*step, min((b+1)*step, n))
	})
	return count
}

// BlockCount returns how many blocks a reduction over n rows has.
func BlockCount(n int) int {
	step := blockRows(n)
	return (n + step - 1) / step
}
