package gputest

import (
	"math"

	"capgnn/internal/ref"
)

const (
	// unit is the rounding unit of float32.
	unit = 1.0 / (1 << 24)
	// flushed is the size of a term that a backend may take for 0: below 2⁻¹²⁶ float32 is subnormal. Terms are products of
	// such a number with others of up to 64.
	flushed = 0x1p-120
)

// tolerance of an element that sums k terms of which the absolute values add up to size. See the package comment.
func tolerance(k int, size float64) float64 {
	return 4*unit*math.Sqrt(float64(k+8))*size + float64(k)*flushed
}

// near demands |got - want| ≤ tolerance(k, size) for every element. It reports the worst one.
func (b *bench) near(what string, got, want ref.Matrix, k int, size func(i, j int) float64) {
	b.Helper()
	if got.Rows != want.Rows || got.Cols != want.Cols {
		b.Fatalf("%s is %d×%d, want %d×%d", what, got.Rows, got.Cols, want.Rows, want.Cols)
	}
	worst, at, bad := 0.0, 0, 0
	for e := range want.V {
		i, j := e/want.Cols, e%want.Cols
		limit := tolerance(k, size(i, j))
		excess := math.Abs(got.V[e]-want.V[e]) / limit
		if got.V[e] == want.V[e] {
			excess = 0
		}
		if !(excess <= 1) {
			bad++
			if !(excess <= worst) {
				worst, at = excess, e
			}
		}
	}
	if bad > 0 {
		b.Errorf("%s: %d of %d elements are off; worst [%d][%d]: got %.9g, want %.9g, %.3g × the tolerance",
			what, bad, len(want.V), at/want.Cols, at%want.Cols, got.V[at], want.V[at], worst)
	}
}

// nearVec is near for a vector.
func (b *bench) nearVec(what string, got, want []float64, k int, size func(j int) float64) {
	b.Helper()
	b.near(what, ref.Matrix{Rows: 1, Cols: len(got), V: got}, ref.Matrix{Rows: 1, Cols: len(want), V: want}, k,
		func(_, j int) float64 { return size(j) })
}

// nearNumber is near for one number.
func (b *bench) nearNumber(what string, got, want float64, k int, size float64) {
	b.Helper()
	b.nearVec(what, []float64{got}, []float64{want}, k, func(int) float64 { return size })
}

// equal demands the same values, NaN being equal to NaN.
func (b *bench) equal(what string, got, want ref.Matrix) {
	b.Helper()
	for e, w := range want.V {
		if g := got.V[e]; g != w && !(math.IsNaN(g) && math.IsNaN(w)) {
			b.Errorf("%s[%d][%d]: got %.9g, want %.9g exactly", what, e/want.Cols, e%want.Cols, g, w)
			return
		}
	}
}

// abs returns the absolute values of m: a loop over them gives the size of its terms.
func abs(m ref.Matrix) ref.Matrix {
	return ref.Map(m.Rows, m.Cols, func(i, j int) float64 { return math.Abs(m.At(i, j)) })
}

// absVec returns the absolute values of v, nil for nil.
func absVec(v []float64) []float64 {
	if v == nil {
		return nil
	}
	return abs(ref.Matrix{Rows: 1, Cols: len(v), V: v}).V
}

// float32s rounds to float32.
func float32s(m ref.Matrix) ref.Matrix {
	return ref.Map(m.Rows, m.Cols, func(i, j int) float64 { return float64(float32(m.At(i, j))) })
}
