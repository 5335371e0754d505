package bench

import "testing"

// However short a logarithmic axis is, at least two of its marks are numbers.
func TestLogTicks(t *testing.T) {
	for _, x := range [][2]float64{{12, 13.9}, {12, 42}, {25, 73}, {9, 11}, {1, 1000}, {0.3, 0.9}, {95, 105}, {8, 2000}} {
		n := 0
		for _, k := range (logTicks{}).Ticks(x[0], x[1]) {
			if k.Label != "" && k.Value >= x[0] && k.Value <= x[1] {
				n++
			}
		}
		if n < 2 {
			t.Errorf("%v: %d numbers", x, n)
		}
	}
}
