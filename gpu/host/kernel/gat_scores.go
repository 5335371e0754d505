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
