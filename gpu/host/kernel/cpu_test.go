package kernel

import (
	"fmt"
	"math"
	"math/rand/v2"
	"runtime/debug"
	"testing"

	"capgnn/gpu/host/internal/levels"
)

// unit is float32's unit roundoff.
const unit = 1.0 / (1 << 24)

// forLevels runs f for the portable kernels and for each instruction set that this machine has.
func forLevels(t *testing.T, f func(t *testing.T)) { levels.Each(t, &Active, f) }

// faults runs f and reports an access outside of the test's memory as an error of the case.
func faults(t *testing.T, what string, f func()) {
	t.Helper()
	defer debug.SetPanicOnFault(debug.SetPanicOnFault(true))
	defer func() {
		if err := recover(); err != nil {
			t.Fatalf("%s: %v", what, err)
		}
	}()
	f()
}

// sentinel fills memory that a kernel may not write.
const sentinel = 12345.5

// randDense returns a matrix that ends where readable memory ends, with junk in its gaps.
func randDense(t *testing.T, r *rand.Rand, rows, cols, ld int) Dense {
	v := guarded[float32](t, span(rows, cols, ld))
	for i := range v {
		v[i] = sentinel
	}
	d := Dense{v, rows, cols, ld}
	for i := range rows {
		for j := range cols {
			v[i*ld+j] = float32(r.NormFloat64())
		}
	}
	return d
}

// span is the number of elements from the first to the last one of a matrix.
func span(rows, cols, ld int) int {
	if rows == 0 || cols == 0 {
		return 0
	}
	return (rows-1)*ld + cols
}

// randFloats returns n normal floats that end where readable memory ends.
func randFloats(t *testing.T, r *rand.Rand, n int) []float32 {
	return randDense(t, r, 1, n, n).V
}

// gaps returns an error if an element between the rows of d is not the sentinel.
func gaps(d Dense) error {
	for i := range d.V {
		if i%d.LD >= d.Cols && d.V[i] != sentinel {
			return fmt.Errorf("element %d of row %d, behind the last column, is overwritten", i%d.LD, i/d.LD)
		}
	}
	return nil
}

// sameBits returns an error if two results differ in any bit.
func sameBits(got, want []float32) error {
	for i := range want {
		if math.Float32bits(got[i]) != math.Float32bits(want[i]) {
			return fmt.Errorf("element %d is %v, with one thread %v", i, got[i], want[i])
		}
	}
	return nil
}
