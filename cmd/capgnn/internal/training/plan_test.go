package training

import (
	"math"
	"testing"

	"capgnn/profiler"
	"capgnn/rapa"
)

func TestShares(t *testing.T) {
	row := func(uuid string, mm, spmm float64) profiler.DeviceProfile {
		return profiler.DeviceProfile{UUID: uuid, MM: profiler.Timing{Median: mm}, SpMM: profiler.Timing{Median: spmm}}
	}
	half := math.Pow(1.05, -math.Round(math.Log(2)/math.Log(1.05))) // 1/2 on rapa's grid
	for _, tc := range []struct {
		name  string
		rows  []profiler.DeviceProfile
		parts int
		want  []float64 // nil = equal
	}{
		{"one", []profiler.DeviceProfile{row("a", 1, 1)}, 1, nil},
		{"equal", []profiler.DeviceProfile{row("a", 1, 1), row("b", 1, 1)}, 2, nil},
		{"equal within noise", []profiler.DeviceProfile{row("a", 1, 1), row("b", 1.02, 1.02)}, 2, nil},
		{"same hardware, noisy", []profiler.DeviceProfile{row("a", 1, 1), row("a", 2, 1)}, 2, nil},
		{"half", []profiler.DeviceProfile{row("a", 1, 1), row("b", 2, 2)}, 2, []float64{1 / (1 + half), half / (1 + half)}},
		{"half in one of two", []profiler.DeviceProfile{row("a", 1, 2), row("b", 2, 4)}, 2, []float64{1 / (1 + half), half / (1 + half)}},
		{"three parts on two devices", []profiler.DeviceProfile{row("a", 1, 1), row("b", 1, 1)}, 3, []float64{0.25, 0.5, 0.25}},
		{"first device only", []profiler.DeviceProfile{row("a", 9, 9), row("b", 1, 1)}, 1, nil},
	} {
		t.Run(tc.name, func(t *testing.T) {
			got, err := shares(tc.rows, tc.parts, func(part int) int { return part % len(tc.rows) }, rapa.DefaultAlpha)
			if err != nil || len(got) != len(tc.want) {
				t.Fatalf("got %v, %v, want %v", got, err, tc.want)
			}
			for p := range got {
				if math.Abs(got[p]-tc.want[p]) > 1e-14 { // quotients of sums of at most three terms
					t.Errorf("got %v, want %v", got, tc.want)
				}
			}
		})
	}
}
