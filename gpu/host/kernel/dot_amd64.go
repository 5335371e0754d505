//go:build !noasm

package kernel

// dotWideRow is DotWide of one element or more.
func dotWideRow(a, b []float32) float64 {
	switch {
	case Active == generic || len(a) < short:
		return dotWideGo(a, b)
	case Active == avx512:
		return dot512wide(len(a), &a[0], &b[0])
	}
	return dot256wide(len(a), &a[0], &b[0])
}
