package ranks_test

import (
	"bytes"
	"encoding/json"
	"os"
	"strings"
	"testing"

	"capgnn/cmd/capgnn/internal/progtest"
	"capgnn/cmd/capgnn/internal/runfolder"
	"capgnn/internal/runfile"
)

// A run over ranks says what they sent each other: in every line of metrics, in the result, for TensorBoard and on its page. The same run of one
// process says nothing of it.
func TestTrafficOfRanksIsReported(t *testing.T) {
	t.Parallel()
	s := newSandbox(t)
	progtest.NewStore().Write(s.Sandbox, "ok.npz")
	args := []string{"--dataset", "ok.npz", "--hidden", "8", "--epochs", "4", "--quiet"}
	for _, e := range (progtest.RankRun{Sandbox: s.Sandbox, Args: append(args, "--devices", progtest.CPUs(1), "--run-dir", "two")}).Over(2) {
		if e.Code != 0 {
			t.Fatalf("exit code %d: %s", e.Code, e.Err)
		}
	}
	s.Must(append([]string{"train", "--devices", progtest.CPUs(2), "--run-dir", "one"}, args...)...)
	two, err := runfolder.Dir(s.Path("two")).ReadResult()
	if err != nil {
		t.Fatal(err)
	}
	sums, err := runfolder.ReadTraffic(s.Path("two/metrics.jsonl"))
	if err != nil || len(sums) != 2 || len(two.Pairs) != 2 || two.Pairs[0] != sums[0] || two.Pairs[1] != sums[1] || len(two.Hosts) != 2 || two.Hosts[0] == "" {
		t.Errorf("result: %+v of %v, metrics: %+v, %v", two.Pairs, two.Hosts, sums, err)
	}
	lines, err := os.ReadFile(s.Path("two/metrics.jsonl"))
	if err != nil {
		t.Fatal(err)
	}
	for line := range bytes.Lines(lines) {
		var e struct{ Pairs []runfile.Pair }
		if err := json.Unmarshal(line, &e); err != nil || len(e.Pairs) != 2 {
			t.Fatalf("%v: %s", err, line)
		}
		for _, p := range e.Pairs { // frames: an open, a take and a header for each piece, of tens of bytes each
			if p.From == p.To || p.Rows <= 0 || p.Frames <= p.Rows || p.Frames > p.Rows+8<<10 || p.WaitS < 0 {
				t.Errorf("%+v", p)
			}
		}
	}
	for dir, want := range map[string]bool{"one": false, "two": true} {
		for file, text := range map[string]string{"report.html": "Between machines", "result.json": `"pairs"`, "metrics.jsonl": `"pairs"`} {
			page, err := os.ReadFile(s.Path(dir + "/" + file))
			if err != nil || strings.Contains(string(page), text) != want {
				t.Errorf("%s/%s: it speaks of pairs: %v (%v)", dir, file, !want, err)
			}
		}
		if out := s.Must("report", dir, "--out", "page.html"); out == "" {
			t.Errorf("no report of %s", dir)
		}
	}
}
