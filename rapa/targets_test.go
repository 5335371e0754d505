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
