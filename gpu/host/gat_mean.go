package host

import "capgnn/gpu"

// HeadMean: dst[i][c] = bias[c] + Σ_h src[i][hC+c] / heads.
func (q *Queue) HeadMean(dst, src gpu.Matrix, bias gpu.Vec) {
	q.check("HeadMean").HeadMean(dst, src, bias)
	if dst.Empty() {
		return
	}
	d, s, b, heads := denseOf(dst), denseOf(src), values(bias), src.Cols/dst.Cols
	q.compute("HeadMean", gpu.PhaseOther, func() {
		q.dev.pool.rows(d.rows, s.cols, func(_, lo, hi int) {
			gatMean(heads, d.rowRange(lo, hi), s.rowRange(lo, hi), b)
		})
	})
}

// HeadMeanBackward: dst[i][hC+c] = src[i][c] / heads.
func (q *Queue) HeadMeanBackward(dst, src gpu.Matrix) {
	q.check("HeadMeanBackward").HeadMeanBackward(dst, src)
	if dst.Empty() {
		return
	}
	d, s, heads := denseOf(dst), denseOf(src), dst.Cols/src.Cols
	q.compute("HeadMeanBackward", gpu.PhaseOther, func() {
		q.dev.pool.rows(d.rows, d.cols, func(_, lo, hi int) {
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
