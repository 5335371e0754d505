package kernel

// DotWide returns Σ_j a[j]·b[j], products and sum in float64.
func DotWide(a, b []float32) float64 {
	if len(a) == 0 {
		return 0
	}
	return dotWideRow(a, b[:len(a)])
}

// dotWideGo is DotWide in Go.
func dotWideGo(a, b []float32) float64 {
	s := 0.0
	for j, v := range a {
		s += float64(v) * float64(b[j])
	}
	return s
}

// dot returns Σ_j a[j]·b[j], in eight sums side by side.
func dot(a, b []float32) float32 {
	b = b[:len(a)]
	var s0, s1, s2, s3, s4, s5, s6, s7 float32
	for len(a) >= 8 && len(b) >= 8 {
		s0 += a[0] * b[0]
		s1 += a[1] * b[1]
		s2 += a[2] * b[2]
		s3 += a[3] * b[3]
		s4 += a[4] * b[4]
		s5 += a[5] * b[5]
		s6 += a[6] * b[6]
		s7 += a[7] * b[7]
		a, b = a[8:], b[8:]
	}
	for j, v := range a {
		s0 += v * b[j]
	}
	return ((s0 + s4) + (s2 + s6)) + ((s1 + s5) + (s3 + s7))
}
