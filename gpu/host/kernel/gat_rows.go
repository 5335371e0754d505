package kernel

// dots is GATDots for the heads of the group's rows.
func (w *attention) dots(a, b Dense, bias, less []float32, out Dense) {
	GATDots(w.channels, a, b, bias, less, out)
}

// dotsGo computes, for every row i of out and each of its columns h, with n columns of a and b each:
//
//	out[i][h] = Σ_c a[i][hn+c]·(b[i][hn+c] - bias[hn+c]) - less[i][h]
//
// bias and less may be nil; less has gatLanes numbers per row.
func dotsGo(n int, a, b Dense, bias, less []float32, out Dense) {
	for i := range out.Rows {
		x, y := a.Row(i), b.Row(i)
		for h := range out.Cols {
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
			out.Row(i)[h] = s
		}
	}
}

// meanGo computes dst[i][c] = Σ_h src[i][hC+c] / heads (+ bias[c]). bias may be nil.
func meanGo(heads int, dst, src Dense, bias []float32) {
	for i := range dst.Rows {
		out, in := dst.Row(i), src.Row(i)
		copy(out, in)
		for h := 1; h < heads; h++ {
			Axpby(out, 1, in[h*dst.Cols:], 1)
		}
		Axpby(out, 1/float32(heads), out, 0)
		if bias != nil {
			Axpby(out, 1, bias, 1)
		}
	}
}
