package axis

import (
	"strings"
	"testing"

	"capgnn/internal/number"
)

func TestAxes(t *testing.T) {
	for _, tc := range []struct {
		lo, hi float64
		q      number.Kind
		want   string // texts of the ticks
	}{
		{0, 0.00098, number.Seconds, "0|0.5 ms|1.0 ms"},
		{0, 3.5, number.Plain, "0|1|2|3|4"},
		{0, 59, number.Count, "0|20|40|60"},
		{0, 1, number.Count, "0|1"},
		{0, 1 << 20, number.Bytes, "0|0.5 MiB|1.0 MiB"},
		{0, 1, number.Share, "0|50 %|100 %"},
		{0.61, 0.83, number.Score, "0.6|0.7|0.8|0.9"},
		{0, 3e-7, number.Plain, "0|1e-07|2e-07|3e-07"},
		{1e7, 1.02e7, number.Plain, "1.000e+07|1.005e+07|1.010e+07|1.015e+07|1.020e+07"},
		{1e-12, 2.9e-12, number.Plain, "1.0e-12|1.5e-12|2.0e-12|2.5e-12|3.0e-12"},
	} {
		a := Linear(tc.lo, tc.hi, tc.q, 4, true)
		var texts []string
		for _, k := range a.Ticks {
			texts = append(texts, strings.ReplaceAll(k.Text, "\u00a0", " "))
		}
		if got := strings.Join(texts, "|"); got != tc.want {
			t.Errorf("axis from %v to %v has %s, want %s", tc.lo, tc.hi, got, tc.want)
		}
	}
	for _, x := range [][2]float64{{1, 1}, {0, 0}, {-5, 5}, {1e18, 1e18 + 256}, {-1e30, 1e30}, {1e-30, 2e-30}, {-3, -1}} {
		a := Linear(x[0], x[1], number.Plain, 4, true).Between(0, 100)
		if !(a.Lo < a.Hi) || len(a.Ticks) > maxTicks || a.Place(x[0]) < -1e-6 || a.Place(x[1]) > 100+1e-6 {
			t.Errorf("axis of %v: from %v to %v with %d ticks", x, a.Lo, a.Hi, len(a.Ticks))
		}
	}
	var times []string
	for _, k := range Log(3e-6, 0.9, number.Seconds).Ticks {
		times = append(times, strings.ReplaceAll(k.Text, "\u00a0", " "))
	}
	if got := strings.Join(times, "|"); got != "1 µs|10 µs|100 µs|1 ms|10 ms|100 ms|1 s" {
		t.Errorf("logarithmic axis of times has %s", got)
	}
	if a := Log(1e-25, 1e25, number.Plain).Between(0, 100); len(a.Ticks) > 8 || a.Place(1) < 49 || a.Place(1) > 51 {
		t.Errorf("logarithmic axis with %d ticks, 1 at %v", len(a.Ticks), a.Place(1))
	}
}
