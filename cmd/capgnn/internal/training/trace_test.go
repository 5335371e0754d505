package training

import "testing"

// Whoever continues a run is told of the trace as long as its epoch is to come.
func TestResumingNamesTrace(t *testing.T) {
	epoch := 4
	for done, want := range map[int]string{0: "run --trace 4", 4: "run --trace 4", 5: "run"} {
		if got := (&Live{Trace: &epoch}).resuming("run", done); got != want {
			t.Errorf("behind %d epochs: %q, want %q", done, got, want)
		}
	}
	if got := new(Live).resuming("run", 0); got != "run" {
		t.Errorf("without a trace: %q", got)
	}
}
