package host

import "capgnn/gpu"

// GATScores: s[i][h] = Σ_c aSrc[hC+c]·T[i][hC+c], d likewise with aDst.
func (q *Queue) GATScores(s, d, t gpu.Matrix, aSrc, aDst gpu.Vec) {
	q.check("GATScores").GATScores(s, d, t, aSrc, aDst)
	feat, src, w := denseOf(t), denseOf(s), values(aSrc)
	var dst dense
	var wd []float32
	if !d.Empty() {
		dst, wd = denseOf(d), values(aDst)
	}
	if src.empty() {
		return
	}
	n := t.Cols / s.Cols
	q.compute("GATScores", gpu.PhaseOther, func() {
		q.dev.pool.rows(feat.rows, feat.cols, func(_, lo, hi int) {
			rows := feat.rowRange(lo, hi)
			gatDots(n, rows, dense{w, hi - lo, feat.cols, 0}, nil, nil, src.rowRange(lo, hi))
			if wd != nil {
				gatDots(n, rows, dense{wd, hi - lo, feat.cols, 0}, nil, nil, dst.rowRange(lo, hi))
			}
		})
	})
}

// dots is gatDots for the heads of the group's rows.
func (w *attention) dots(a, b dense, bias, less []float32, out dense) {
	gatDots(w.channels, a, b, bias, less, out)
}

// dotsGo computes, for every row i of out and each of its columns h, with n columns of a and b each:
//
//	out[i][h] = Σ_c a[i][hn+c]·(b[i][hn+c] - bias[hn+c]) - less[i][h]
//
// bias and less may be nil; less has gatLanes numbers per row.
func dotsGo(n int, a, b dense, bias, less []float32, out dense) {
	for i := range out.rows {
		x, y := a.row(i), b.row(i)
		for h := range out.cols {
			lo, hi := h*n, (h+1)*n
			var s float32
			if bias == nil {
				s = dot(x[lo:hi], y[lo:hi])
			} else {
				for j := lo; j < hi; j++ {
					s += x[j] * (y[j] - bias[j])
				}
			}
			if less != nil {
				s -= less[i*gatLanes+h]
			}
			out.row(i)[h] = s
		}
	}
}
