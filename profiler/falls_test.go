package profiler

import (
	"fmt"
	"math"
	"strings"
	"testing"
	"time"

	"capgnn/gpu"
)

// A size that other work came between is measured again, until its curve rises; one that always takes too long is measured so often at most, and named.
func TestFallingCurves(t *testing.T) {
	measure := func(other func(run int) float64) (*Profile, int) {
		c := &clock{}
		dev, times := newFake("cpu:0", c, 1e11), 0
		small := 16 * float64((2<<20)/(8*calibrateRow)) * calibrateRow / (dev.flops / intensity) // seconds of the gather of 2 MiB
		dev.other = func(op string, seconds float64) float64 {
			if op != "Gather" || math.Abs(seconds-small) > 1e-12 {
				return 0
			}
			times++
			return other(times)
		}
		return measureFake(t, c, Options{}, dev), times
	}
	first := func(runs int) func(run int) float64 { // of which other work takes 0.1 s
		return func(run int) float64 {
			if run > runs {
				return 0
			}
			return 0.1
		}
	}
	const atFirst = 1 + calibrationRounds // runs, where one takes so long
	quiet, _ := measure(first(0))
	if lines := quiet.Falls(); lines != nil || strings.Contains(quiet.Table(), "implausible") {
		t.Fatalf("a quiet machine: %q", lines)
	}
	once, times := measure(first(atFirst))
	if lines := once.Falls(); lines != nil || times < atFirst+fewest {
		t.Errorf("disturbed once, measured %d times: %q", times, lines)
	}
	for i, k := range once.Devices[0].Calibration {
		if want := quiet.Devices[0].Calibration[i]; k != want {
			t.Errorf("disturbed once: %+v, on a quiet machine %+v", k, want)
		}
	}
	always, times := measure(first(math.MaxInt))
	if lines := always.Falls(); len(lines) != 1 || !strings.Contains(lines[0], "cpu:0: gather of ") || !strings.Contains(always.Table(), "implausible: "+lines[0]) {
		t.Errorf("disturbed always: %q in\n%s", lines, always.Table())
	}
	if most := (1 + mostAgain) * atFirst; times > most {
		t.Errorf("disturbed always: measured %d times, want at most %d", times, most)
	}
	later, _ := measure(func(run int) float64 { // two runs of the first measurement are far off, and the others of the later ones are longer
		switch {
		case run > atFirst:
			return 0.2
		case run > atFirst-2:
			return 1
		}
		return 0.1
	})
	for i, k := range later.Devices[0].Calibration {
		if was := always.Devices[0].Calibration[i]; k != was {
			t.Errorf("disturbed more later: %+v, want the shorter median, %+v", k, was)
		}
	}
}

// Each device is timed in one crowd, where processors are too few for all at once.
func TestCrowds(t *testing.T) {
	for want, tc := range map[string]struct {
		threads    []int
		processors int
	}{
		"[{[0 1 2] 3}]":                       {[]int{1, 1, 1}, 4},
		"[{[0 1] 2} {[2 0] 1}]":               {[]int{1, 1, 1}, 2},
		"[{[0 1] 2} {[2 0] 1}] of 2, 1 and 1": {[]int{2, 1, 1}, 3},
		"[{[1 2] 2}]":                         {[]int{2, 1, 1}, 2},
		"[]":                                  {[]int{1, 1}, 1},
	} {
		var devices []gpu.Device
		for i, n := range tc.threads {
			d := newFake(fmt.Sprint("cpu:", i), &clock{}, 1e11)
			d.info.Threads = n
			devices = append(devices, d)
		}
		if got := fmt.Sprint(newMeter(devices, Options{Processors: tc.processors}.resolve()).crowds()); !strings.HasPrefix(want, got) {
			t.Errorf("%v threads on %d processors: %s, want %s", tc.threads, tc.processors, got, want)
		}
	}
}

// How busy the machine was is in the profile, and said.
func TestLoad(t *testing.T) {
	c, calls := &clock{}, 0.0
	load := func() (others, all float64) {
		calls++
		return 30 * calls, 100 * calls
	}
	p := measureFake(t, c, Options{Budget: time.Second, Load: load}, newFake("cpu:0", c, 1e11))
	if p.Load == nil || *p.Load != 0.3 || !p.Busy() || !strings.Contains(p.Table(), "other programs kept 30.0 % of the machine's processors busy while it was measured\n") {
		t.Errorf("load %v in\n%s", p.Load, p.Table())
	}
	path := t.TempDir() + "/p.json"
	if err := p.Write(path); err != nil {
		t.Fatal(err)
	}
	if got, err := Read(path); err != nil || got.Load == nil || *got.Load != 0.3 {
		t.Errorf("read back: %v", err)
	}
	if p := measureFake(t, c, Options{Budget: time.Second}, newFake("cpu:0", c, 1e11)); p.Load != nil || p.Busy() || strings.Contains(p.Table(), "other programs") {
		t.Errorf("nobody knows: %v", *p.Load)
	}
	two := 2.0
	p.Load = &two
	if err := p.Write(path); err == nil {
		t.Error("a load of 2 is written")
	}
}
