package training

import (
	"math"
	"strings"
	"testing"

	"capgnn/cmd/capgnn/internal/devices"
	"capgnn/jaca"
	"capgnn/profiler"
)

func TestLinksRoundTrip(t *testing.T) {
	grid := func(x float64) float64 { return math.Pow(linkStep, math.Round(math.Log(x)/math.Log(linkStep))) }
	text := formatLinks([]link{{1, 1.02}, {2, 4}})
	got, err := parseLinks(text, 3, 2)
	if err != nil {
		t.Fatal(err)
	}
	want := jaca.Links{H2D: []float64{1, grid(2), 1}, D2H: []float64{1, grid(4), 1}}
	for i := range 3 {
		if math.Abs(got.H2D[i]-want.H2D[i]) > 5e-4*want.H2D[i] || math.Abs(got.D2H[i]-want.D2H[i]) > 5e-4*want.D2H[i] { // of four digits
			t.Errorf("%q: got %v, want %v", text, got, want)
		}
	}
	if text := formatLinks([]link{{3, 3.01}, {3.05, 2.99}}); text != LinksEqual {
		t.Errorf("links within 5 %% of each other are %q", text)
	}
	for _, bad := range []string{"1:1", "1:1,2:2,3:3", "1:1,x:1", "1:1,0:1", "1:1,1", "1:1,NaN:1", "1:1,1:Inf"} {
		if got, err := parseLinks(bad, 2, 2); err == nil {
			t.Errorf("%q is accepted as %v", bad, got)
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
		"cpu:threads=1,cpu:threads=1":                         LinksEqual, // without a profile
		"cpu:threads=1,link=1GiB/s,cpu:threads=2,link=1GiB/s": LinksEqual,
		"cpu:0,link=2GiB/s,cpu:1,link=1GiB/s":                 "1:1,1.98:1.98",
		"sim:rtx3090,sim:rtx3090,link=1GiB/s":                 "",
	} {
		specs, err := devices.Parse(list)
		if err != nil {
			t.Fatal(err)
		}
		got, err := (&Run{Specs: specs}).links(nil)
		if err != nil || want != "" && got != want || want == "" && !strings.HasPrefix(got, "1:1,") && !strings.HasPrefix(got, "1:1.") {
			t.Errorf("%s: got %q, %v, want %q", list, got, err, want)
		}
	}
	specs, err := devices.Parse("cpu:threads=1,cpu:threads=2,cpu:threads=2")
	if err != nil {
		t.Fatal(err)
	}
	// Equal hardware counts as equal: 0.04 and 0.02 are 0.03 both, 3 times as long is 1.05^23.
	if got, err := (&Run{Specs: specs}).links(p); err != nil || got != "1:1,3.072:1.98,3.072:1.98" {
		t.Errorf("by a profile: %q, %v", got, err)
	}
}
