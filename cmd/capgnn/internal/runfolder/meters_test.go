package runfolder

import (
	"encoding/json"
	"path/filepath"
	"reflect"
	"strings"
	"testing"

	"capgnn/gpu"
	"capgnn/minibatch"
)

// Meters of all epochs add up, by rank and device: shares by time; an energy that was not known once is not known in all. Lines of both kinds have them; of very many none.
func TestMetersAddUp(t *testing.T) {
	f := func(x float64) *float64 { return &x }
	path := filepath.Join(t.TempDir(), "metrics.jsonl")
	m := &Metrics{Path: path}
	lines := [][]gpu.Metered{
		{{Device: "cuda:0", Seconds: 1, Joules: f(100), Busy: f(0.5), MemoryBusy: f(0)}, {Device: "package-0", Seconds: 1, Joules: f(7)}, {Rank: 1, Device: "package-0", Seconds: 2}},
		nil,
		{{Device: "cuda:0", Seconds: 3, Joules: f(200), Busy: f(0.9), MemoryBusy: f(0.4)}, {Device: "package-0", Seconds: 3}, {Rank: 1, Device: "package-0", Seconds: 2, Joules: f(1)}},
	}
	for e, meters := range lines {
		s := stats(e, 1)
		s.Meters = meters
		if err := m.Append(s); err != nil {
			t.Fatal(err)
		}
	}
	all, err := ReadMeters(path)
	want := []gpu.Metered{{Device: "cuda:0", Seconds: 4, Joules: f(300), Busy: f(0.8), MemoryBusy: f(0.3)}, {Device: "package-0", Seconds: 4}, {Rank: 1, Device: "package-0", Seconds: 4}}
	for i := range min(len(all), len(want)) {
		for _, x := range []*gpu.Metered{&all[i], &want[i]} {
			if x.MemoryBusy != nil && *x.MemoryBusy > 0.29 && *x.MemoryBusy < 0.31 {
				x.MemoryBusy = f(0.3)
			}
		}
	}
	if text, _ := json.Marshal(all); err != nil || !reflect.DeepEqual(all, want) {
		t.Errorf("%s, %v", text, err)
	}
	line, err := json.Marshal(new(Metrics).line(minibatch.EpochStats{Meters: lines[0], TimeSteps: 1}))
	if want := `"meters":[{"rank":0,"device":"cuda:0","s":1,"j":100,"busy":0.5,"memory_busy":0},{"rank":0,"device":"package-0","s":1,"j":7},{"rank":1,"device":"package-0","s":2,"j":null}]`; err != nil || !strings.Contains(string(line), want) {
		t.Errorf("%s, %v", line, err)
	}
	if metersOf(make([]gpu.Metered, maxMeters)) == nil || metersOf(make([]gpu.Metered, maxMeters+1)) != nil {
		t.Error("a line has room for as many meters as it says")
	}
}
