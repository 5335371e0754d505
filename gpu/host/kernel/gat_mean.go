package kernel

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
