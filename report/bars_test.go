package report

import (
	"encoding/json"
	"strings"
	"testing"
)

// Bars are means over the epochs, by part.
func TestBarsOfParts(t *testing.T) {
	r := sampleRun(t, 10, false)
	p := pageOf(t, r)
	var rows []map[string]float64
	if err := json.Unmarshal(p.figures["phase-bars"].data, &rows); err != nil || len(rows) != 2 {
		t.Fatalf("%d rows, %v", len(rows), err)
	}
	for part, row := range rows {
		for _, key := range []string{"aggregation", "mm", "communication_wait", "communication_transfer", "other"} {
			sum := 0.0
			for _, e := range r.Epochs {
				sum += phaseTimes(&e.PartS[part])[key]
			}
			if want := sum / 10; row[key] != want {
				t.Errorf("part %d, %s: %v, want %v", part, key, row[key], want)
			}
		}
	}
	for _, want := range []string{"part 0 · cpu:0,threads=1", "part 1 · cpu:1,threads=1"} {
		if !strings.Contains(p.figures["phase-bars"].text, want) {
			t.Errorf("no bar is called %q", want)
		}
	}
}
