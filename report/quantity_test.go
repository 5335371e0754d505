package report

import (
	"math"
	"testing"
)

// Numbers do not break at a line's end, and are those of package number otherwise.
func TestNumbersAsText(t *testing.T) {
	for _, tc := range []struct {
		q    quantity
		x    float64
		want string
	}{{seconds, 0.00098, "980\u00a0µs"}, {amount, 1 << 30, "1.0\u00a0GiB"}, {count, 1234567, "1,234,567"}, {score, 1, "1.0000"}, {plain, math.Inf(1), "-"}} {
		if got := written(tc.q, tc.x); got != tc.want {
			t.Errorf("%s %v is written %q, want %q", tc.q, tc.x, got, tc.want)
		}
	}
}
