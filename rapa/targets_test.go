package rapa

import (
	"errors"
	"math"
	"testing"
)

func TestTargets(t *testing.T) {
	equal := Rate{MM: 1, SpMM: 1}
	for _, tc := range []struct {
		name  string
		rates []Rate
		alpha float64
		bytes int64
		want  []float64
	}{
		{"one", []Rate{equal}, 0.5, 0, []float64{1}},
		{"equal", []Rate{equal, equal}, 0.5, 0, []float64{0.5, 0.5}},
		// noise of 2 % is under half a step
		{"noise", []Rate{equal, {MM: 1.02, SpMM: 0.99}}, 0.5, 0, []float64{0.5, 0.5}},
		// 1.05^-14 = 0.505 is the step next to 1/2
		{"half as fast", []Rate{equal, {MM: 2, SpMM: 2}}, 0.5, 0, []float64{1 / (1 + math.Pow(1.05, -14)), 1 - 1/(1+math.Pow(1.05, -14))}},
		{"alpha 1 sees spmm only", []Rate{equal, {MM: 9, SpMM: 1}}, 1, 0, []float64{0.5, 0.5}},
		{"class", []Rate{{Class: "a", MM: 1, SpMM: 1}, {Class: "a", MM: 3, SpMM: 3}}, 0.5, 0, []float64{0.5, 0.5}},
		{"memory", []Rate{{MM: 1, SpMM: 1, MemoryBytes: 20}, {MM: 1, SpMM: 1}, {MM: 1, SpMM: 1}}, 0.5, 100, []float64{0.2, 0.4, 0.4}},
		{"memory in turn", []Rate{{MM: 1, SpMM: 1, MemoryBytes: 20}, {MM: 1, SpMM: 1, MemoryBytes: 35}, equal}, 0.5, 100,
			[]float64{0.2, 0.35, 0.45}},
		{"just full", []Rate{{MM: 1, SpMM: 1, MemoryBytes: 20}, {MM: 1, SpMM: 1, MemoryBytes: 80}}, 0.5, 100, []float64{0.2, 0.8}},
	} {
		got, err := Targets(tc.rates, tc.alpha, tc.bytes)
		if err != nil {
			t.Errorf("%s: %v", tc.name, err)
			continue
		}
		for i := range tc.want {
			if math.Abs(got[i]-tc.want[i]) > 1e-12 {
				t.Errorf("%s: %v, want %v", tc.name, got, tc.want)
				break
			}
		}
		if err := checkTargets(got, len(tc.rates)); err != nil {
			t.Errorf("%s: %v", tc.name, err)
		}
	}
}

func TestTargetsErrors(t *testing.T) {
	var inf *InfeasibleError
	_, err := Targets([]Rate{{MM: 1, SpMM: 1, MemoryBytes: 20}, {MM: 1, SpMM: 1, MemoryBytes: 30}}, 0.5, 100)
	if !errors.As(err, &inf) || inf.NeedBytes != 100 || inf.HaveBytes != 50 {
		t.Errorf("too little memory: %v", err)
	}
	ok := Rate{MM: 1, SpMM: 1}
	for name, f := range map[string]func() ([]float64, error){
		"no devices": func() ([]float64, error) { return Targets(nil, 0.5, 0) },
		"alpha":      func() ([]float64, error) { return Targets([]Rate{ok}, 1.5, 0) },
		"zero time":  func() ([]float64, error) { return Targets([]Rate{{MM: 0, SpMM: 1}}, 0.5, 0) },
		"nan":        func() ([]float64, error) { return Targets([]Rate{{MM: math.NaN(), SpMM: 1}}, 0.5, 0) },
		"memory":     func() ([]float64, error) { return Targets([]Rate{{MM: 1, SpMM: 1, MemoryBytes: -1}}, 0.5, 0) },
		"bytes":      func() ([]float64, error) { return Targets([]Rate{ok}, 0.5, -1) },
	} {
		if _, err := f(); err == nil {
			t.Errorf("%s: accepted", name)
		}
	}
}

// TestTargetsByCost works the shares out by hand for 100 vertices and 1000 edges.
//
// Device 0: 10 + 1 per vertex + 0.1 per edge, so 10 + 200·share; device 1: 100·share. Equal at 10 + 200x = 100(1-x): x = 0.3.
// With 26 vertices' worth of bytes on device 0 it gets 0.26. With a fixed cost of 500 it gets one vertex: 500 + 2 ≥ 99.
func TestTargetsByCost(t *testing.T) {
	whole := Counts{Inner: 100, Edges: 1000}
	slow, fast := PartCost{Fixed: 10, PerInner: 1, PerEdge: 0.1}, PartCost{PerEdge: 0.1}
	foot := Footprint{Fixed: 7, PerInner: 10, PerEdge: 1}
	for _, tc := range []struct {
		name  string
		costs []PartCost
		m     Memory
		want  []float64
	}{
		{"free", []PartCost{slow, fast}, Memory{}, []float64{0.3, 0.7}},
		{"one", []PartCost{slow}, Memory{}, []float64{1}},
		{"equal", []PartCost{fast, fast, fast, fast}, Memory{}, []float64{0.25, 0.25, 0.25, 0.25}},
		{"memory", []PartCost{slow, fast}, Memory{foot, []int64{7 + 520, 0}}, []float64{0.26, 0.74}},
		{"just full", []PartCost{slow, fast}, Memory{foot, []int64{7 + 520, 7 + 1480}}, []float64{0.26, 0.74}},
		{"too slow", []PartCost{{Fixed: 500, PerInner: 1, PerEdge: 0.1}, fast}, Memory{}, []float64{0.01, 0.99}},
	} {
		got, err := TargetsByCost(tc.costs, whole, tc.m)
		if err != nil {
			t.Errorf("%s: %v", tc.name, err)
			continue
		}
		for i := range tc.want {
			if math.Abs(got[i]-tc.want[i]) > 1e-9 {
				t.Errorf("%s: %v, want %v", tc.name, got, tc.want)
				break
			}
		}
		if err := checkTargets(got, len(got)); err != nil {
			t.Errorf("%s: %v", tc.name, err)
		}
	}
	for name, tc := range map[string]struct {
		have       []int64
		need, less int64
	}{
		"in sum":     {[]int64{7 + 520, 7 + 1000}, 2014, 1534},
		"one vertex": {[]int64{8, 0}, 28, 8},
	} {
		var e *InfeasibleError
		_, err := TargetsByCost([]PartCost{slow, fast}, whole, Memory{foot, tc.have})
		if !errors.As(err, &e) || e.NeedBytes != tc.need || e.HaveBytes != tc.less || e.MoreBytes() != tc.need-tc.less {
			t.Errorf("%s: %v", name, err)
		}
	}
	if _, err := TargetsByCost([]PartCost{slow, fast}, Counts{Inner: 1}, Memory{}); err == nil {
		t.Error("one vertex for two devices: accepted")
	}
	if _, err := TargetsByCost([]PartCost{{}}, whole, Memory{}); err == nil {
		t.Error("free device: accepted")
	}
}
