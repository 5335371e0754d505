package ranks_test

import (
	"encoding/json"
	"os"
	"strconv"
	"strings"
	"testing"

	"capgnn/cmd/capgnn/internal/progtest"
	"capgnn/cmd/capgnn/internal/term"
	"capgnn/internal/long"
)

// An experiment trains over ranks that this program starts, or that were started from outside; the first one keeps the results, and the same command goes on where it was.
func TestBenchOverRanks(t *testing.T) {
	t.Parallel()
	s := newSandbox(t)
	args := []string{"massive", "--ranks", "2", "--quick", "--datasets", "flickr-like:0.01", "--devices", "cpu:threads=1", "--epochs", "2", "--out", s.Path("out"), "--quiet", "--json"}
	outside := progtest.RankRun{Sandbox: s.Sandbox, Verb: "bench", Args: args}
	check := func(out string) {
		t.Helper()
		var got struct {
			Results []struct {
				Experiment string
				Tables     []struct{ Rows [][]string }
			}
		}
		if err := json.Unmarshal([]byte(out), &got); err != nil || len(got.Results) != 1 || got.Results[0].Experiment != "massive-ranks" || len(got.Results[0].Tables[0].Rows) != 4 {
			t.Fatalf("the result is %s (%v)", out, err)
		}
		rows := got.Results[0].Tables[0].Rows
		for i, way := range []string{"distdgl", "massivegnn", "f 0.5, Δ 1", "default"} {
			row := rows[i]
			for _, cell := range row[2:13] { // those of meters are empty where there are none
				if x, err := strconv.ParseFloat(cell, 64); err != nil || x < 0 {
					t.Errorf("%s: %q is no number: %q", way, cell, row)
				}
			}
			if row[1] != way || row[2] == "0.000" || row[9] == "0.00" || row[10] == "0.00" {
				t.Errorf("%s: %q", way, row)
			}
		}
		if demand, _ := strconv.ParseFloat(rows[0][7], 64); rows[0][3] != "1.00" || demand <= 0 {
			t.Errorf("on demand: %q", rows[0])
		}
		if entries, err := os.ReadDir(s.Path("out")); err != nil {
			t.Error(err)
		} else {
			for _, e := range entries {
				if strings.HasPrefix(e.Name(), "run-") {
					t.Errorf("%s is left", e.Name())
				}
			}
		}
	}
	for rank, e := range outside.Over(2) {
		if e.Code != 0 || e.Err != "" || (e.Out == "") != (rank > 0) {
			t.Fatalf("rank %d: exit code %d\n%s%s", rank, e.Code, e.Out, e.Err)
		}
		if rank == 0 {
			check(e.Out)
		}
	}
	if long.Wanted() {
		check(s.Must(append([]string{"bench"}, args...)...))
	}
}

// What does not go with ranks is refused.
func TestBenchRanksRefuses(t *testing.T) {
	s := newSandbox(t)
	for _, tc := range []struct{ args, says string }{
		{"rapid --ranks 1", "--ranks 1 is not in [2, 4096]"}, {"hop --ranks -3", "--ranks -3 is not in [2, 4096]"}, {"fetch --ranks two", `--ranks: "two" is not a whole number`}, {"sampler --ranks 2", "ranks"}, {"all --ranks 2", "ranks"},
		{"rapid --ranks 2 --datasets no-such", "no-such"}, {"rapid --ranks 2 --quick --datasets flickr-like:0.01 --devices sim:a40", "simulated"},
	} {
		if stdout, stderr, code := s.Run(append([]string{"bench"}, append(strings.Fields(tc.args), "--out", s.Path("out"))...)...); code != term.ExitUsage || !strings.Contains(stderr, tc.says) {
			t.Errorf("bench %s: exit code %d, %s%s, want %d and %q", tc.args, code, stdout, stderr, term.ExitUsage, tc.says)
		}
	}
	run := progtest.RankRun{Sandbox: s.Sandbox, Verb: "bench", Args: []string{"rapid", "--ranks", "3", "--out", s.Path("out")}, Env: func(int) []string {
		return []string{"WORLD_SIZE=2"}
	}}
	for _, e := range run.Over(1) {
		if e.Code != term.ExitUsage || !strings.Contains(e.Err, "has started 2: give as many") {
			t.Errorf("exit code %d, %s", e.Code, e.Err)
		}
	}
}
