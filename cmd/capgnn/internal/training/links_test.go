package training

import (
	"math"
	"strings"
	"testing"

	"capgnn/cmd/capgnn/internal/devices"
	"capgnn/cmd/capgnn/internal/runfolder"
	"capgnn/cmd/capgnn/internal/term"
	"capgnn/jaca"
	"capgnn/profiler"
)

// Links of parts are those of their devices, on a grid; links within 5 % of each other are equal.
func TestLinksOfParts(t *testing.T) {
	grid := func(x float64) float64 { return math.Pow(linkStep, math.Round(math.Log(x)/math.Log(linkStep))) }
	run := Forecaster{Where: Where{Specs: make([]devices.Spec, 2)}, Decisions: Decisions{Parts: 3}}
	got := run.partLinks(beside([]link{{1, 1.02}, {2, 4}}))
	want := jaca.Links{H2D: []float64{1, grid(2), 1}, D2H: []float64{1, grid(4), 1}}
	for i := range 3 {
		if math.Abs(got.H2D[i]-want.H2D[i]) > 5e-4*want.H2D[i] || math.Abs(got.D2H[i]-want.D2H[i]) > 5e-4*want.D2H[i] { // of four digits
			t.Errorf("got %v, want %v", got, want)
		}
	}
	if all := beside([]link{{3, 3.01}, {3.05, 2.99}}); all != nil {
		t.Errorf("links within 5 %% of each other are %v", all)
	}
	if l := run.partLinks(nil); l.H2D != nil || l.D2H != nil {
		t.Errorf("no links are %v", l)
	}
}

// Recorded caches are of the parts and devices of the run, or an error that names the setting.
func TestRecordedCounts(t *testing.T) {
	for want, set := range map[string][2]string{"cache-slots: 3 numbers for the caches of 3 parts": {"cache-slots", "1,2,3"}, "cache-links: 1 links of 2 devices": {"cache-links", "1:1"},
		"cache-links: 3 links of 2 devices": {"cache-links", "1:1,2:2,3:3"}} {
		run := Forecaster{Where: Where{Specs: make([]devices.Spec, 2)}, Decisions: Decisions{Config: runfolder.Default(), Parts: 3}}
		run.Config.Set(set[0], set[1])
		if _, err := SettleCache(t.Context(), run); term.ExitCode(err) != term.ExitUsage || !strings.Contains(err.Error(), want) {
			t.Errorf("got %v, want %q", err, want)
		}
	}
}

// What is known of the devices decides what their links count.
func TestLinksOfDevices(t *testing.T) {
	copies := func(uuid string, h2d, d2h float64) profiler.DeviceProfile {
		once := func(s float64) profiler.Timing { return profiler.Timing{Mean: s, Median: s, Runs: 1} }
		return profiler.DeviceProfile{UUID: uuid, MM: once(1), SpMM: once(1), IDT: once(1), H2D: once(h2d), D2H: once(d2h)}
	}
	p := &profiler.Profile{N: 1024, Entries: 1 << 16, Devices: []profiler.DeviceProfile{copies("a", 0.01, 0.01), copies("b", 0.04, 0.02), copies("b", 0.02, 0.02)}}
	for list, want := range map[string]string{
		"cpu:threads=1,cpu:threads=1":                         runfolder.LinksEqual, // without a profile
		"cpu:threads=1,link=1GiB/s,cpu:threads=2,link=1GiB/s": runfolder.LinksEqual,
		"cpu:0,link=2GiB/s,cpu:1,link=1GiB/s":                 "1:1,1.98:1.98",
		"sim:rtx3090,sim:rtx3090,link=1GiB/s":                 "",
	} {
		specs, err := devices.Parse(list)
		if err != nil {
			t.Fatal(err)
		}
		links, err := (&Where{Specs: specs}).links(nil)
		got := runfolder.FormatLinks(links)
		if err != nil || want != "" && got != want || want == "" && !strings.HasPrefix(got, "1:1,") && !strings.HasPrefix(got, "1:1.") {
			t.Errorf("%s: got %q, %v, want %q", list, got, err, want)
		}
	}
	specs, err := devices.Parse("cpu:threads=1,cpu:threads=2,cpu:threads=2")
	if err != nil {
		t.Fatal(err)
	}
	// Equal hardware counts as equal: 0.04 and 0.02 are 0.03 both, 3 times as long is 1.05^23.
	if got, err := (&Where{Specs: specs}).links(p); err != nil || runfolder.FormatLinks(got) != "1:1,3.072:1.98,3.072:1.98" {
		t.Errorf("by a profile: %v, %v", got, err)
	}
}

// Machines of unequal speed are measured with matrices of unequal size: their devices are compared by what they do in the same time.
func TestProfilesOfRanks(t *testing.T) {
	once := func(s float64) profiler.Timing { return profiler.Timing{Mean: s, Median: s, Runs: 1} }
	measured := func(n int, mm float64) *profiler.Profile {
		return &profiler.Profile{N: n, Entries: n * n / 250, Devices: []profiler.DeviceProfile{{MM: once(mm), SpMM: once(1), H2D: once(1), D2H: once(1), IDT: once(1)}}}
	}
	p := joined([]*profiler.Profile{measured(256, 1e-3), measured(512, 4e-3)}) // twice as fast
	if len(p.Devices) != 2 || p.N != 256 || math.Abs(p.Devices[0].MM.Median/p.Devices[1].MM.Median-2) > 1e-12 {
		t.Errorf("of %d rows: %+v", p.N, p.Devices)
	}
}
