package host

import "capgnn/gpu"

// channels returns the columns of one head.
func (c checker) channels(cols, heads int) int {
	if heads == 0 || cols%heads != 0 {
		c.fail("%d columns do not divide into %d heads", cols, heads)
	}
	return cols / heads
}

// GATScores: s[i][h] = Σ_c aSrc[hC+c]·T[i][hC+c], d likewise with aDst.
func (q *Queue) GATScores(s, d, t gpu.Matrix, aSrc, aDst gpu.Vec) {
	c := q.check("GATScores")
	n := c.channels(t.Cols, s.Cols)
	feat, src, w := c.mat("t", t), c.shaped("s", s, t.Rows, s.Cols), c.vec("aSrc", aSrc, t.Cols)
	var dst dense
	var wd []float32
	if !d.Empty() {
		dst, wd = c.shaped("d", d, t.Rows, s.Cols), c.vec("aDst", aDst, t.Cols)
	}
	if src.empty() {
		return
	}
	q.compute("GATScores", gpu.PhaseOther, func() {
		q.dev.rows(feat.rows, feat.cols, func(_, lo, hi int) {
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
