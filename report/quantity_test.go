package report

import (
	"math"
	"strings"
	"testing"
)

func TestNumbersAsText(t *testing.T) {
	for _, tc := range []struct {
		q    quantity
		x    float64
		want string
	}{
		{seconds, 0, "0 µs"}, {seconds, 0.00098, "980 µs"}, {seconds, 75, "75 s"}, {seconds, math.NaN(), "-"},
		{amount, 1000, "1000 B"}, {amount, 1 << 30, "1 GiB"}, {count, 999, "999"}, {count, 1234567, "1.235M"}, {count, 12345, "12 345"}, {count, -1234, "-1 234"},
		{share, 0.5, "50 %"}, {score, 1, "1.0000"}, {plain, 1e-9, "1e-09"}, {plain, math.Inf(1), "-"},
	} {
		if got := strings.NewReplacer("\u00a0", " ", "\u202f", " ").Replace(tc.q.text(tc.x)); got != tc.want {
			t.Errorf("%s %v is written %q, want %q", tc.q, tc.x, got, tc.want)
		}
	}
}
