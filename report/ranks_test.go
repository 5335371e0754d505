package report

import (
	"bytes"
	"encoding/json"
	"strings"
	"testing"

	"capgnn/internal/runfile"
)

// rankRun returns a run of so many ranks: rank 1 is waited for longest.
func rankRun(t testing.TB, ranks, epochs int) Run {
	t.Helper()
	r := sampleRun(t, epochs, false)
	for i := range r.Epochs {
		for to := range ranks {
			for from := range ranks {
				if from != to {
					wait := 0.001
					if from == 1 {
						wait = 0.004
					}
					r.Epochs[i].Pairs = append(r.Epochs[i].Pairs, runfile.Pair{From: from, To: to, Frames: int64(1024 * (from + 1) * (i + 1)), WaitS: wait})
				}
			}
		}
	}
	for rank := range ranks {
		r.Result.Hosts = append(r.Result.Hosts, []string{"alpha", "beta-with-a-long-name.example.org", "<gamma>"}[rank%3])
	}
	return r
}

// The section between machines has the means of the epochs, names the slowest rank, and is not there for one process.
func TestRankSection(t *testing.T) {
	p := pageOf(t, rankRun(t, 3, 4))
	var rows [][]float64
	if err := json.Unmarshal(p.figures["rank-pairs"].data, &rows); err != nil || len(rows) != 3 {
		t.Fatalf("%v, %v", rows, err)
	}
	for from, row := range rows {
		for to, x := range row {
			want := 1024 * float64(from+1) * 2.5
			if from == to {
				want = 0
			}
			if x != want {
				t.Errorf("rank %d sends %v to rank %d, want %v", from, x, to, want)
			}
		}
	}
	var waits []map[string]float64
	if err := json.Unmarshal(p.figures["rank-waits"].data, &waits); err != nil || len(waits) != 3 || waits[1]["wait"] != 0.004 || waits[2]["wait"] != 0.001 {
		t.Errorf("waits %v, %v", waits, err)
	}
	for _, want := range []string{"Between machines", "rank 0 · alpha", "&lt;gamma&gt;", "waited longest for rank 1 · beta-with-a-long-name.example.org: 4.00\u00a0ms",
		"rank 2 sends 7.5\u00a0KiB to rank 1", "<td>4.00\u00a0ms</td>", "sent by"} {
		if !strings.Contains(p.text, want) {
			t.Errorf("the page does not say %q", want)
		}
	}
	if alone := pageOf(t, sampleRun(t, 4, false)); strings.Contains(alone.text, "Between machines") || strings.Contains(alone.text, "rank-") {
		t.Error("a run of one process has a section between machines")
	}
}

// Many ranks make no endless table, and numbers that no run has are left out.
func TestRanksOfAnyKind(t *testing.T) {
	r := rankRun(t, 8, 2)
	if s, ok := r.rankSection(); !ok || len(s.Table.Rows) != maxPairLines || s.Table.Rows[0][0] != "1" || !strings.HasPrefix(s.Table.Note, "The 30 of 56 pairs") {
		t.Errorf("%v %+v", ok, s.Table)
	}
	for name, pairs := range map[string][]runfile.Pair{
		"negative": {{From: -1, To: 0, Frames: 1}}, "too many": {{From: maxRanks, To: 0, Frames: 1}}, "no bytes": {{From: 1, To: 0, Frames: -1}}, "no time": {{From: 1, To: 0, WaitS: -1}},
	} {
		r := sampleRun(t, 2, false)
		r.Epochs[1].Pairs = pairs
		if _, ok := r.rankSection(); ok {
			t.Errorf("%s: it is drawn", name)
		}
		if err := WriteRun(new(bytes.Buffer), r); err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
	r = sampleRun(t, 2, false)
	r.Result, r.Epochs[1].Pairs = nil, []runfile.Pair{{From: 1, To: 0, Frames: 10}}
	if s, ok := r.rankSection(); !ok || s.Text != "No rank waited for another." || s.Table.Rows[0][0] != "1" {
		t.Errorf("%v %+v", ok, s)
	}
}
