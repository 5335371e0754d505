package main

import (
	"encoding/json"
	"strings"
	"testing"

	"capgnn/cmd/capgnn/internal/term"
	"capgnn/cmd/capgnn/internal/training"
	"capgnn/internal/long"
	"capgnn/profiler"
)

// What plan says a run takes is what the run takes, on every device.
func TestPlanEqualsRun(t *testing.T) {
	t.Parallel()
	s := newSandbox(t)
	newStore().write(s, "ok.npz")
	s.measured("cpu:threads=1,cpu:threads=1")
	const two = "--devices cpu:threads=1,cpu:threads=1 "
	for _, more := range long.Some(t, []string{"--devices cpu:threads=1", two + "--parts 3 --model sage", two + "--model gat --hidden 8", two + "--parts 3 --model gcn --jk cat"}, 2) {
		args := small(strings.Fields(more)...)
		var m training.MemoryPlan
		if err := json.Unmarshal([]byte(s.must(append([]string{"plan", "--json", "--quiet"}, args...)...)), &m); err != nil {
			t.Fatal(err)
		}
		r := s.train(args...)
		if len(m.Devices) != len(r.PeakBytes.Devices) || len(m.Devices) == 0 {
			t.Fatalf("%s: %d devices planned, %d used", more, len(m.Devices), len(r.PeakBytes.Devices))
		}
		for i, d := range m.Devices {
			if int64(d.Peak) != r.PeakBytes.Devices[i] || !d.Fits || d.Device != r.Devices[i] {
				t.Errorf("%s: %s: planned %d bytes (fits: %t), took %d", more, d.Device, d.Peak, d.Fits, r.PeakBytes.Devices[i])
			}
		}
	}
}

// A device that is too small is named with what is missing, by plan and by train alike, and nothing is left behind.
func TestPlanDoesNotFit(t *testing.T) {
	s := newSandbox(t)
	newStore().write(s, "ok.npz")
	args := small("--devices", "cpu:threads=1,mem=8KiB")
	stdout, stderr, code := s.run(append([]string{"plan", "--buffers"}, args...)...)
	if code != term.ExitDoesNotFit || !strings.Contains(stdout, "does not fit") || !strings.Contains(stdout, "aggregated features") {
		t.Errorf("plan: exit code %d, %s%s", code, stdout, stderr)
	}
	for _, command := range []string{"plan", "train"} {
		_, stderr, code := s.run(append([]string{command, "--quiet"}, args...)...)
		if code != term.ExitDoesNotFit || strings.Count(stderr, "\n") != 1 || !strings.Contains(stderr, "the device has 8.0 KiB") {
			t.Errorf("%s: exit code %d, %q", command, code, stderr)
		}
	}
	if term.Exists(s.path("runs")) {
		t.Error("train has left a run folder")
	}
}

// What is lacking is what is needed beyond what there is, on devices and on the host.
func TestPlanSaysWhatLacks(t *testing.T) {
	t.Parallel()
	var b strings.Builder
	m := &training.MemoryPlan{Devices: []training.DeviceMemory{{Device: "cpu:0", Peak: 5 << 30, Budget: 3 << 30}}, Room: &training.HostRoom{Need: 7 << 30, May: 4 << 30}}
	if err := planAnswers(m, &b); err != nil || !strings.HasPrefix(b.String(), "fits    no, it does not fit: cpu:0 lacks 2.0 GiB, the host lacks 3.0 GiB\n") {
		t.Errorf("%v: %s", err, b.String())
	}
}

// plan answers first: whether it fits, how long an epoch takes, which choice is best and how much faster it is; buffers come only when
// asked for.
func TestPlanAnswersFirst(t *testing.T) {
	s := newSandbox(t)
	newStore().write(s, "ok.npz")
	args := append([]string{"plan", "--quiet"}, small("--devices", "sim:rtx3090,sim:a40")...)
	text := s.must(args...)
	lines := strings.Split(text, "\n")
	for i, want := range []string{"fits ", "epoch ", "best choice ", "gradients ", "memory "} {
		if i >= len(lines) || !strings.HasPrefix(lines[i], want) {
			t.Fatalf("line %d does not begin with %q:\n%s", i+1, want, text)
		}
	}
	if !strings.Contains(lines[0], "yes") || !strings.Contains(lines[1], "predicted") || !strings.Contains(lines[2], "times as fast") || !strings.Contains(text, "speed-up") {
		t.Errorf("answers:\n%s", text)
	}
	for _, line := range lines {
		if len([]rune(line)) > 80 {
			t.Errorf("a line of %d characters: %s", len([]rune(line)), line)
		}
	}
	const buffer = "aggregated features"
	if strings.Contains(text, buffer) {
		t.Errorf("buffers stand there without --buffers:\n%s", text)
	}
	if more := s.must(append(args, "--buffers")...); !strings.HasPrefix(more, text) || !strings.Contains(more, buffer) {
		t.Errorf("with --buffers:\n%s", more)
	}

	for speedup, want := range map[float64]bool{1.33: false, 2.34: true} { // of a device and one of a third of its speed
		var b strings.Builder
		m := &training.MemoryPlan{Devices: []training.DeviceMemory{{Device: "cpu:0"}, {Device: "cpu:1"}}, Subsets: []training.Subset{{Devices: []string{"cpu:0", "cpu:1"}, EpochS: 1, Fits: true, Speedup: speedup, Sum: 4.0 / 3}, {Devices: []string{"cpu:0"}, EpochS: 2.34, Fits: true, Speedup: 1, Sum: 1}}}
		if err := printPlan(m, &term.Console{Out: &b}, false); err != nil {
			t.Fatal(err)
		}
		for _, says := range []string{"doubtful     more than their sum, 1.33: run `capgnn profile` on an idle machine\n", "more than the sum\n"} {
			if strings.Contains(b.String(), says) != want {
				t.Errorf("%g times as fast:\n%s", speedup, b.String())
			}
		}
	}
	if one := s.must(append([]string{"plan", "--quiet"}, small("--devices", "cpu:threads=1")...)...); !strings.Contains(one, "not predicted: this device is not measured: run `capgnn profile --devices cpu:threads=1`\n") || strings.Contains(one, "speed-up") {
		t.Errorf("one device:\n%s", one)
	}
	s.measured("cpu:threads=1")
	if one := s.must(append([]string{"plan", "--quiet"}, small("--devices", "cpu:threads=1")...)...); !strings.Contains(one, " predicted, ") {
		t.Errorf("one device whose profile is in the cache:\n%s", one)
	}
	epoch := func(devices string) float64 {
		var m training.MemoryPlan
		if err := json.Unmarshal([]byte(s.must(append([]string{"plan", "--quiet", "--json"}, small("--devices", devices)...)...)), &m); err != nil || len(m.Subsets) != 1 {
			t.Fatalf("%s: %v: %+v", devices, err, m.Subsets)
		}
		return m.Subsets[0].EpochS
	}
	if one, three := epoch("cpu:threads=1"), epoch("cpu:threads=1,slow=3"); !(three > 2.9*one && three < 3.1*one) { // copies are not slowed, and times are whole nanoseconds
		t.Errorf("an epoch takes %g s on a device of three times the %g s of another", three, one)
	}
	p, err := profiler.Read(s.path("cache/capgnn/profile.json"))
	if err != nil {
		t.Fatal(err)
	}
	for load, want := range map[float64]bool{0.05: false, 0.35: true} {
		p.Load = &load
		if err := p.Write(s.path("cache/capgnn/profile.json")); err != nil {
			t.Fatal(err)
		}
		const says = "profile.json: other programs kept 35.0 % of the machine's processors busy while it was measured, so forecasts may be wrong"
		if _, stderr, _ := s.run(append([]string{"plan"}, small("--devices", "cpu:threads=1")...)...); strings.Contains(stderr, says) != want {
			t.Errorf("a profile measured under a load of %g:\n%s", load, stderr)
		}
	}
}
