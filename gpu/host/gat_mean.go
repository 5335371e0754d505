package host

import "capgnn/gpu"

// HeadMean: dst[i][c] = bias[c] + Σ_h src[i][hC+c] / heads.
func (q *Queue) HeadMean(dst, src gpu.Matrix, bias gpu.Vec) {
	c := q.check("HeadMean")
	d, s, b := c.mat("dst", dst), c.tall("src", src, dst.Rows, src.Cols), c.optional("bias", bias, dst.Cols)
	if d.empty() {
		return
	}
	heads := c.headsOf(src, dst)
	q.compute("HeadMean", gpu.PhaseOther, func() {
		q.dev.rows(d.rows, s.cols, func(_, lo, hi int) {
			gatMean(heads, d.rowRange(lo, hi), s.rowRange(lo, hi), b)
		})
	})
}

// HeadMeanBackward: dst[i][hC+c] = src[i][c] / heads.
func (q *Queue) HeadMeanBackward(dst, src gpu.Matrix) {
	c := q.check("HeadMeanBackward")
	d, s := c.mat("dst", dst), c.tall("src", src, dst.Rows, src.Cols)
	if d.empty() {
		return
	}
	heads := c.headsOf(dst, src)
	q.compute("HeadMeanBackward", gpu.PhaseOther, func() {
		q.dev.rows(d.rows, d.cols, func(_, lo, hi int) {
			for i := lo; i < hi; i++ {
				out, in := d.row(i), s.row(i)
				axpby(out[:s.cols], 1/float32(heads), in, 0)
				for h := 1; h < heads; h++ {
					copy(out[h*s.cols:(h+1)*s.cols], out)
				}
			}
		})
	})
}

// headsOf returns how often narrow fits into wide; both have the same rows.
func (c checker) headsOf(wide, narrow gpu.Matrix) int {
	if wide.Rows != narrow.Rows || narrow.Cols == 0 || wide.Cols < narrow.Cols || wide.Cols%narrow.Cols != 0 {
		c.fail("%d×%d is not a number of heads of %d×%d", wide.Rows, wide.Cols, narrow.Rows, narrow.Cols)
	}
	return wide.Cols / narrow.Cols
}

// meanGo computes dst[i][c] = Σ_h src[i][hC+c] / heads (+ bias[c]). bias may be nil.
func meanGo(heads int, dst, src dense, bias []float32) {
	for i := range dst.rows {
		out, in := dst.row(i), src.row(i)
		copy(out, in)
		for h := 1; h < heads; h++ {
			axpby(out, 1, in[h*dst.cols:], 1)
		}
		axpby(out, 1/float32(heads), out, 0)
		if bias != nil {
			axpby(out, 1, bias, 1)
		}
	}
}
