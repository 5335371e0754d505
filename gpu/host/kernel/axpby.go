package kernel

// Axpby: dst[j] = a·src[j] + b·dst[j]; with b = 0, dst is not read. dst may be src.
func Axpby(dst []float32, a float32, src []float32, b float32) {
	if len(dst) > 0 {
		axpbyRow(dst, a, src[:len(dst)], b)
	}
}

// axpbyGo is Axpby in Go.
func axpbyGo(dst []float32, a float32, src []float32, b float32) {
	src = src[:len(dst)]
	switch b {
	case 0:
		for j := range dst {
			dst[j] = a * src[j]
		}
	case 1:
		for j := range dst {
			dst[j] += a * src[j]
		}
	default:
		for j := range dst {
			dst[j] = a*src[j] + b*dst[j]
		}
	}
}
