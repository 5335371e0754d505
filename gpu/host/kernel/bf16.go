package kernel

import "math"

// toBF16Go is toBF16 in Go: adding half a unit, less one where the result is even, carries into the upper half.
func toBF16Go(dst []uint16, src []float32) {
	dst = dst[:len(src)]
	for j, v := range src {
		b := math.Float32bits(v)
		if v != v {
			dst[j] = uint16(b>>16) | 0x40
			continue
		}
		dst[j] = uint16((b + 0x7FFF + b>>16&1) >> 16)
	}
}

// fromBF16Go is fromBF16 in Go.
func fromBF16Go(dst []float32, src []uint16) {
	dst = dst[:len(src)]
	for j, v := range src {
		dst[j] = math.Float32frombits(uint32(v) << 16)
	}
}

// CopyRow: row i of dst = row k of src, converted.
func CopyRow(dst Either, i int, src Either, k int) {
	switch {
	case !dst.Half && !src.Half:
		copy(dst.D32.Row(i), src.D32.Row(k))
	case dst.Half && src.Half:
		copy(dst.D16.Row(i), src.D16.Row(k))
	case dst.Half:
		toBF16(dst.D16.Row(i), src.D32.Row(k))
	default:
		fromBF16(dst.D32.Row(i), src.D16.Row(k))
	}
}
