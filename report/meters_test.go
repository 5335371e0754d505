package report

import (
	"strings"
	"testing"

	"capgnn/internal/runfile"
)

// The page has a line for each device that a meter was read of, with ranks where there are some; without meters it has no section.
func TestEnergySection(t *testing.T) {
	f := func(x float64) *float64 { return &x }
	r := sampleRun(t, 4, false)
	if page := pageOf(t, r); strings.Contains(page.text, "Energy") {
		t.Error("a run without meters speaks of energy")
	}
	epochs := float64(r.Result.Epochs)
	r.Result.Meters = []runfile.Metered{{Device: "cuda:0", Seconds: 10, Joules: f(376 * epochs), Busy: f(0.52), MemoryBusy: f(0.25)}, {Rank: 1, Device: "package-<0>", Seconds: 10}}
	page := pageOf(t, r)
	for _, want := range []string{"Energy", "<td>cuda:0</td>", "<td>376\u00a0J</td>", "\u00a0W</td>", "52", "<td>package-&lt;0&gt;</td><td>not known</td>"} {
		if !strings.Contains(page.text, want) {
			t.Errorf("the page does not say %q", want)
		}
	}
	r.Result.Hosts, r.Result.Meters = []string{"alpha", "beta"}, append(r.Result.Meters, runfile.Metered{Rank: -1}) // of no run
	if page := pageOf(t, r); !strings.Contains(page.text, "rank 1 · beta · package-") {
		t.Error("the page does not say which rank a package is of")
	}
}
