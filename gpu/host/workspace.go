package host

// workspace is scratch memory of a device that operations share, one at a time. It grows to what the largest operation
// needs and is then reused: nothing is allocated in the epoch loop.
type workspace struct {
	f32  []float32
	f64  []float64
	bits []uint32

	weights [2][]float32 // of products whose rows are made in the same pass, packed

	// Divided among workers.
	blocks []float32 // rows of operands and results
	row    []float32 // one row
}

// grown returns n elements of *s, in any state, enlarging it if it is too small.
func grown[T any](s *[]T, n int) []T {
	if cap(*s) < n {
		*s = make([]T, n)
	}
	return (*s)[:n]
}

// zeros returns n zeros in *s.
func zeros[T any](s *[]T, n int) []T {
	z := grown(s, n)
	clear(z)
	return z
}

// own is scratch memory that is divided among workers.
type own struct {
	v []float32
	n int
}

// own returns n floats of *s for each worker, in any state.
func (p *pool) own(s *[]float32, n int) own {
	n = roundUp(n, line)
	return own{grow(s, p.threads*n), n}
}

// of returns what belongs to a worker.
func (o own) of(worker int) []float32 { return o.v[worker*o.n : (worker+1)*o.n] }

const (
	// grain is about how many elements a thread takes at a time from an elementwise loop: 64 KiB, a part of L2.
	grain = 16 << 10
	// minBlock and maxBlocks cut reductions over rows: blocks of at least minBlock rows, and at most maxBlocks of them,
	// which bounds the memory of the partial sums. Shapes decide, never threads (docs/determinism.md).
	minBlock  = 64
	maxBlocks = 256
)

// rows calls f for ranges of rows that cover n rows of the given number of columns. Rows must not depend on each other.
func (p *pool) rows(n, cols int, f func(worker, lo, hi int)) {
	step := max(1, grain/max(cols, 1))
	p.each((n+step-1)/step, func(w, i int) {
		f(w, i*step, min((i+1)*step, n))
	})
}

// pieces calls f for pieces of rows, columns lo to hi of row i, that cover a matrix: whole rows unless they are long.
func (p *pool) pieces(rows, cols int, f func(i, lo, hi int)) {
	if cols <= grain {
		p.rows(rows, cols, func(_, first, last int) {
			for i := first; i < last; i++ {
				f(i, 0, cols)
			}
		})
		return
	}
	parts := (cols + grain - 1) / grain
	p.each(rows*parts, func(_, k int) {
		lo := k % parts * grain
		f(k/parts, lo, min(lo+grain, cols))
	})
}

// blockRows returns the rows of a block of a reduction over n rows.
func blockRows(n int) int { return max(minBlock, (n+maxBlocks-1)/maxBlocks) }

// blocks calls f for every block of n rows and returns their number.
func (p *pool) blocks(n int, f func(worker, block, lo, hi int)) int {
	step := blockRows(n)
	count := (n + step - 1) / step
	p.each(count, func(w, b int) {
		f(w, b, b*step, min((b+1)*step, n))
	})
	return count
}

// blockCount returns how many blocks a reduction over n rows has.
func blockCount(n int) int {
	step := blockRows(n)
	return (n + step - 1) / step
}

// addBlocks adds the partial sums of count blocks to dst, block after block: dst[j] = (Σ_b part[b·stride + j]) + b0·dst[j].
// With b0 = 0, dst is not read.
func addBlocks(dst, part []float32, count, stride int, b0 float32) {
	if count > 1 {
		sum := part[:len(dst)]
		for b := 1; b < count; b++ {
			axpby(sum, 1, part[b*stride:b*stride+len(dst)], 1)
		}
	}
	for j := range dst {
		var s float32
		if count > 0 {
			s = part[j]
		}
		if b0 != 0 {
			s += b0 * dst[j]
		}
		dst[j] = s
	}
}
