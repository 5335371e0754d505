package bench

import (
	"math"
	"strconv"
	"testing"

	"gonum.org/v1/plot/vg"
)

// However an axis is, at least two of its marks are numbers; these are told apart, read as what they are, and do not touch each other.
func TestTicks(t *testing.T) {
	for _, x := range [][2]float64{
		{12, 13.9}, {12, 42}, {25, 73}, {9, 11}, {1, 1000}, {0.3, 0.9}, {95, 105}, {8, 2000}, {40, 130}, {1, 1e5}, {1e-9, 1e9}, {1e5, 3e6}, {1e-12, 2e-12}, {1234567, 2345678},
		{123456.7, 123456.9}, {99.995, 100.005}, {1e-7, 3e-7}, {0.5, 50}, {1, 1e9}, {1e15, 1e15 + 100}, {-5, 5}, {-2e-8, 1e-8}, {0, 3e7},
	} {
		for _, axis := range []ticks{ticksOf(panelWidth, true), ticksOf(panelWidth, false)} {
			for _, axis.log = range []bool{false, x[0] > 0} {
				lo, hi, n, seen, end := x[0], x[1], 0, map[string]bool{}, vg.Length(math.Inf(-1))
				for _, k := range axis.Ticks(lo, hi) {
					if k.Label == "" || k.Value < lo || k.Value > hi {
						continue
					}
					n++
					if read, _ := strconv.ParseFloat(k.Label, 64); seen[k.Label] || math.Abs(read-k.Value) > 1e-3*(hi-lo) {
						t.Errorf("%v, %+v: %g is marked %q", x, axis, k.Value, k.Label)
					}
					place, size := (k.Value-lo)/(hi-lo), letterHigh
					if axis.log {
						place = math.Log(k.Value/lo) / math.Log(hi/lo)
					}
					if axis.across {
						size = letterWide * vg.Length(len(k.Label))
					}
					middle := axis.long * vg.Length(place)
					if middle-size/2 < end-1e-9 {
						t.Errorf("%v, %+v: %q stands over its neighbour", x, axis, k.Label)
					}
					seen[k.Label], end = true, middle+size/2
				}
				if n < 2 {
					t.Errorf("%v, %+v: %d numbers", x, axis, n)
				}
			}
		}
	}
}
