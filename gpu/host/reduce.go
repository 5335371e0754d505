package host

import (
	"capgnn/gpu"
	"capgnn/gpu/host/kernel"
	"capgnn/gpu/host/workers"
)

// ColSum: dst[j] = Σ_i m[i][j] + b·dst[j], in blocks of rows; with b = 0, dst is not read.
func (q *Queue) ColSum(dst gpu.Vec, m gpu.Matrix, b float32) {
	q.check("ColSum").ColSum(dst, m)
	d, s := values(dst), eitherOf(m)
	if len(d) == 0 {
		return
	}
	q.compute("ColSum", gpu.PhaseOther, func() {
		part := workers.Zeros(&q.dev.work.f32, workers.BlockCount(m.Rows)*m.Cols)
		room := q.dev.pool.Own(&q.dev.work.row, s.Spare())
		n := q.dev.pool.Blocks(m.Rows, func(w, block, lo, hi int) {
			sum := part[block*m.Cols : (block+1)*m.Cols]
			for i := lo; i < hi; i++ {
				kernel.Axpby(sum, 1, s.WideRow(i, room.Of(w)), 1)
			}
		})
		kernel.AddBlocks(d, part, n, m.Cols, b)
	})
}

// Dot: dst[0] = Σ_i Σ_j x[i][j]·y[i][j] + b·dst[0], in float64; with b = 0, dst is not read.
func (q *Queue) Dot(dst gpu.Vec, x, y gpu.Matrix, b float32) {
	q.check("Dot").Dot(dst, x, y)
	d, u, v := values(dst), eitherOf(x), eitherOf(y)
	q.compute("Dot", gpu.PhaseOther, func() {
		sum := 0.0
		if !x.Empty() {
			room := q.dev.pool.Own(&q.dev.work.row, u.Spare()+v.Spare())
			sum = q.dev.sum64(x.Rows, func(w, lo, hi int) float64 {
				s, wide := 0.0, room.Of(w)
				for i := lo; i < hi; i++ {
					s += kernel.DotWide(u.WideRow(i, wide), v.WideRow(i, wide[u.Spare():]))
				}
				return s
			})
		}
		if b != 0 {
			sum += float64(b) * float64(d[0])
		}
		d[0] = float32(sum)
	})
}

// sum64 adds f over the blocks of n rows, in block order.
func (d *Device) sum64(n int, f func(worker, lo, hi int) float64) float64 {
	part := workers.Grown(&d.work.f64, workers.BlockCount(n))
	count := d.pool.Blocks(n, func(w, block, lo, hi int) {
		part[block] = f(w, lo, hi)
	})
	s := 0.0
	for _, p := range part[:count] {
		s += p
	}
	return s
}
