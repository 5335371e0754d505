package main

import (
	"encoding/json"
	"strings"
	"testing"
)

// What plan says a run takes is what the run takes, on every device.
func TestPlanEqualsRun(t *testing.T) {
	s := newSandbox(t)
	newStore().write(s, "ok.npz")
	for _, more := range [][]string{
		{"--devices", "cpu:threads=1"},
		{"--devices", "cpu:threads=1,cpu:threads=1", "--parts", "3", "--model", "sage"},
		{"--devices", "cpu:threads=1,cpu:threads=1", "--model", "gat", "--hidden", "8"},
	} {
		args := small(more...)
		var m memoryPlan
		if err := json.Unmarshal([]byte(s.must(append([]string{"plan", "--json", "--quiet"}, args...)...)), &m); err != nil {
			t.Fatal(err)
		}
		r := s.train(args...)
		if len(m.Devices) != len(r.PeakBytes.Devices) || len(m.Devices) == 0 {
			t.Fatalf("%v: %d devices planned, %d used", more, len(m.Devices), len(r.PeakBytes.Devices))
		}
		for i, d := range m.Devices {
			if d.Peak != r.PeakBytes.Devices[i] || !d.Fits || d.Device != r.Devices[i] {
				t.Errorf("%v: %s: planned %d bytes (fits: %t), took %d", more, d.Device, d.Peak, d.Fits, r.PeakBytes.Devices[i])
			}
		}
	}
}

// A device that is too small is named with what is missing, by plan and by train alike, and nothing is left behind.
func TestPlanDoesNotFit(t *testing.T) {
	s := newSandbox(t)
	newStore().write(s, "ok.npz")
	args := small("--devices", "cpu:threads=1,mem=8KiB")
	stdout, stderr, code := s.run(append([]string{"plan"}, args...)...)
	if code != exitDoesNotFit || !strings.Contains(stdout, "does not fit") || !strings.Contains(stdout, "aggregated features") {
		t.Errorf("plan: exit code %d, %s%s", code, stdout, stderr)
	}
	for _, command := range []string{"plan", "train"} {
		_, stderr, code := s.run(append([]string{command, "--quiet"}, args...)...)
		if code != exitDoesNotFit || strings.Count(stderr, "\n") != 1 || !strings.Contains(stderr, "the device has 8.0 KiB") {
			t.Errorf("%s: exit code %d, %q", command, code, stderr)
		}
	}
	if exists(s.path("runs")) {
		t.Error("train has left a run folder")
	}
}
