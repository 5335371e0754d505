package main

import (
	"encoding/json"
	"strings"
	"testing"

	"capgnn/cmd/capgnn/internal/devices"
)

// doctor reports with and without GPUs, for people and as JSON, and ends with 0.
func TestDoctor(t *testing.T) {
	s := newSandbox(t)
	text := s.must("doctor")
	for _, want := range []string{"cores", "free of", "ulimit -l"} {
		if !strings.Contains(text, want) {
			t.Errorf("doctor does not say %q:\n%s", want, text)
		}
	}
	var d diagnosis
	if err := json.Unmarshal([]byte(s.must("doctor", "--json")), &d); err != nil {
		t.Fatal(err)
	}
	if d.CUDA != devices.BuiltWithCUDA || d.Cores < 1 || d.Total < d.Free || d.GPUs == nil {
		t.Errorf("doctor says %+v", d)
	}
	if len(d.GPUs) == 0 && len(d.Problems) == 0 {
		t.Error("no GPU, and nothing is wrong")
	}
	for _, p := range d.Problems {
		if p.What == "" || p.Mend == "" || strings.Contains(p.What+p.Mend, "\n") {
			t.Errorf("a problem that is not two lines: %+v", p)
		}
	}
}
