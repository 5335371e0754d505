package ranks_test

import (
	"bytes"
	"fmt"
	"os"
	"strings"
	"testing"

	"capgnn/cmd/capgnn/internal/progtest"
)

// However parts are grouped into ranks, rank 0 writes the file of one process, and the others, which do not have the run folder, write nothing. What is wrong at
// one rank is said at all of them.
func TestPredictOverRanks(t *testing.T) {
	s := newSandbox(t)
	progtest.NewStore().Write(s.Sandbox, "ok.npz")
	s.Train("--dataset", "ok.npz", "--model", "sage", "--layers", "3", "--hidden", "8", "--epochs", "3", "--devices", "cpu:0", "--run-dir", "run")
	elsewhere := newSandbox(t)
	progtest.NewStore().Write(elsewhere.Sandbox, "mine.npz")
	for _, what := range []string{"logits", "labels", "embeddings"} {
		one := what + ".npy"
		s.Must("predict", "--quiet", "--run", "run", "--what", what, "--devices", progtest.CPUs(4), "--out", one)
		want, err := os.ReadFile(s.Path(one))
		if err != nil {
			t.Fatal(err)
		}
		for _, devices := range [][]int{{2, 2}, {1, 3}} {
			out := fmt.Sprint(what, devices[0], ".npy")
			run := progtest.RankRun{Sandbox: s.Sandbox, Verb: "predict", Args: []string{"--what", what, "--quiet", "--json"}, Own: func(rank int) []string {
				if rank == 0 {
					return []string{"--run", "run", "--out", out, "--devices", progtest.CPUs(devices[rank])}
				}
				return []string{"--dataset", elsewhere.Path("mine.npz"), "--devices", progtest.CPUs(devices[rank])}
			}}
			for rank, e := range run.Over(len(devices)) {
				if e.Code != 0 || e.Err != "" || (e.Out == "") != (rank > 0) {
					t.Fatalf("%s %v: rank %d: exit code %d\n%s%s", what, devices, rank, e.Code, e.Out, e.Err)
				}
			}
			if got, err := os.ReadFile(s.Path(out)); err != nil || !bytes.Equal(got, want) {
				t.Errorf("%s %v: another file than one process writes (%v)", what, devices, err)
			}
		}
	}
	s.Must("launch", "-n", "2", "--", "predict", "--run", "run", "--devices", progtest.CPUs(2), "--out", "launched.npy")
	launched, err := os.ReadFile(s.Path("launched.npy"))
	if want, werr := os.ReadFile(s.Path("logits.npy")); err != nil || werr != nil || !bytes.Equal(launched, want) {
		t.Errorf("launched: another file than one process writes (%v, %v)", err, werr)
	}
	for want, args := range map[string][]string{
		"--run none: no run there": {"--run", "none"},
		"--dataset missing":        {"--run", "run", "--dataset", "missing"},
	} {
		for rank, e := range (progtest.RankRun{Sandbox: s.Sandbox, Verb: "predict", Args: append(args, "--devices", progtest.CPUs(1))}).Over(2) {
			if e.Code != 2 || !strings.Contains(e.Last(), want) || !strings.Contains(e.Last(), "rank 0 (host ") {
				t.Errorf("%v: rank %d: exit code %d: %s", args, rank, e.Code, e.Err)
			}
		}
	}
}
