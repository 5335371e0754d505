package report

import (
	"slices"
	"strings"
	"testing"

	"capgnn/internal/runfile"
)

// What is in the files is drawn, what is not leaves no empty picture.
func TestWhatIsDrawn(t *testing.T) {
	always := []string{"bytes", "epoch-time", "loss", "memory", "part-edges", "part-pairs", "part-training", "part-vertices", "phase-bars", "phases", "score", "trace"}
	if got := ids(pageOf(t, sampleRun(t, 12, false))); !slices.Equal(got, always) {
		t.Errorf("without caches %v are drawn, want %v", got, always)
	}
	want := append(slices.Clone(always), "coverage", "lookups", "refresh", "staleness")
	slices.Sort(want)
	if got := ids(pageOf(t, sampleRun(t, 12, true))); !slices.Equal(got, want) {
		t.Errorf("with caches %v are drawn, want %v", got, want)
	}
	idle := sampleRun(t, 12, false) // caches that hold nothing, as a policy "none" reports them
	idle.Result.Cache.Policy = "none"
	for i := range idle.Epochs {
		idle.Epochs[i].HaloUse = &runfile.HaloUse{Cache: runfile.Cache{Misses: 40}}
	}
	if p := pageOf(t, idle); !slices.Equal(ids(p), always) || strings.Contains(p.text, "Caches") || strings.Contains(p.text, "Staleness") {
		t.Errorf("with caches that hold nothing %v are drawn, want %v", ids(p), always)
	}
	if p := pageOf(t, sampleRun(t, 12, false)); !strings.Contains(p.text, "<span>at epoch 8, at the end 0.2400</span>") {
		t.Error("the test score does not say of which epoch it is")
	}
	untrained := sampleRun(t, 0, false)
	untrained.Result.BestEpoch = nil
	if p := pageOf(t, untrained); strings.Count(p.text, "<span>of the weights before training</span>") != 2 {
		t.Error("scores of a run without epochs do not say that they are of the first weights")
	}
	bare := pageOf(t, Run{Name: "runs/x", Planned: 9})
	if got := ids(bare); len(got) != 0 || !strings.Contains(bare.text, "0 of 9 epochs") {
		t.Errorf("a run without an epoch draws %v", got)
	}
}
