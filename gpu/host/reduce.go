package host

import "capgnn/gpu"

// ColSum: dst[j] = Σ_i m[i][j] + b·dst[j], in blocks of rows; with b = 0, dst is not read.
func (q *Queue) ColSum(dst gpu.Vec, m gpu.Matrix, b float32) {
	c := q.check("ColSum")
	d, s := c.vec("dst", dst, m.Cols), c.mat("m", m)
	if len(d) == 0 {
		return
	}
	q.compute("ColSum", gpu.PhaseOther, func() {
		part := zeros(&q.dev.work.f32, blockCount(s.rows)*s.cols)
		n := q.dev.blocks(s.rows, func(_, block, lo, hi int) {
			sum := part[block*s.cols : (block+1)*s.cols]
			for i := lo; i < hi; i++ {
				axpby(sum, 1, s.row(i), 1)
			}
		})
		addBlocks(d, part, n, s.cols, b)
	})
}

// Dot: dst[0] = Σ_i Σ_j x[i][j]·y[i][j] + b·dst[0], in float64; with b = 0, dst is not read.
func (q *Queue) Dot(dst gpu.Vec, x, y gpu.Matrix, b float32) {
	c := q.check("Dot")
	d, u, v := c.vec("dst", dst, 1), c.mat("x", x), c.shaped("y", y, x.Rows, x.Cols)
	q.compute("Dot", gpu.PhaseOther, func() {
		sum := 0.0
		if !u.empty() {
			sum = q.dev.sum64(u.rows, func(lo, hi int) float64 {
				s := 0.0
				for i := lo; i < hi; i++ {
					w := v.row(i)
					for j, a := range u.row(i) {
						s += float64(a) * float64(w[j])
					}
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
func (d *Device) sum64(n int, f func(lo, hi int) float64) float64 {
	part := grown(&d.work.f64, blockCount(n))
	count := d.blocks(n, func(_, block, lo, hi int) {
		part[block] = f(lo, hi)
	})
	s := 0.0
	for _, p := range part[:count] {
		s += p
	}
	return s
}
