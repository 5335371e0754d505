package kernel

import (
	"math"
	"testing"
)

// TestExp32 holds exp32 to one unit in the last place, and its float64 form to the bound it states.
func TestExp32(t *testing.T) {
	for x := float32(-104); x < 89; x += 0.00317 {
		want := math.Exp(float64(x))
		if got := expNarrow(float64(x)); math.Abs(got-want) > 1e-8*want {
			t.Fatalf("expNarrow(%g) = %g, want %g", x, got, want)
		}
		got, near := exp32(x), float32(want)
		if d := int64(math.Float32bits(got)) - int64(math.Float32bits(near)); d < -1 || d > 1 {
			t.Fatalf("exp32(%g) = %g, want %g: %d units off", x, got, near, d)
		}
	}
	inf := float32(math.Inf(1))
	for _, c := range []struct{ x, want float32 }{{0, 1}, {inf, inf}, {-inf, 0}, {100, inf}, {-200, 0}} {
		if got := exp32(c.x); got != c.want {
			t.Errorf("exp32(%g) = %g, want %g", c.x, got, c.want)
		}
	}
	if got := exp32(float32(math.NaN())); got == got {
		t.Errorf("exp32(NaN) = %g", got)
	}
}
