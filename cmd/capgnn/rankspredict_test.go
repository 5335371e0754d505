package main

import (
	"bytes"
	"fmt"
	"os"
	"strings"
	"testing"
)

// However parts are grouped into ranks, rank 0 writes the file of one process, and the others, which do not have the run folder, write nothing. What is wrong at
// one rank is said at all of them.
func TestPredictOverRanks(t *testing.T) {
	s := newSandbox(t)
	newStore().write(s, "ok.npz")
	s.train("--dataset", "ok.npz", "--model", "sage", "--layers", "3", "--hidden", "8", "--epochs", "3", "--devices", "cpu:0", "--run-dir", "run")
	elsewhere := newSandbox(t)
	newStore().write(elsewhere, "mine.npz")
	for _, what := range []string{"logits", "labels", "embeddings"} {
		one := what + ".npy"
		s.predict("--run", "run", "--what", what, "--devices", cpus(4), "--out", one)
		want, err := os.ReadFile(s.path(one))
		if err != nil {
			t.Fatal(err)
		}
		for _, devices := range [][]int{{2, 2}, {1, 3}} {
			out := fmt.Sprint(what, devices[0], ".npy")
			run := rankRun{sandbox: s, verb: "predict", args: []string{"--what", what, "--quiet", "--json"}, own: func(rank int) []string {
				if rank == 0 {
					return []string{"--run", "run", "--out", out, "--devices", cpus(devices[rank])}
				}
				return []string{"--dataset", elsewhere.path("mine.npz"), "--devices", cpus(devices[rank])}
			}}
			for rank, e := range run.over(len(devices)) {
				if e.code != 0 || e.err != "" || (e.out == "") != (rank > 0) {
					t.Fatalf("%s %v: rank %d: exit code %d\n%s%s", what, devices, rank, e.code, e.out, e.err)
				}
			}
			if got, err := os.ReadFile(s.path(out)); err != nil || !bytes.Equal(got, want) {
				t.Errorf("%s %v: another file than one process writes (%v)", what, devices, err)
			}
		}
	}
	s.must("launch", "-n", "2", "--", "predict", "--run", "run", "--devices", cpus(2), "--out", "launched.npy")
	launched, err := os.ReadFile(s.path("launched.npy"))
	if want, werr := os.ReadFile(s.path("logits.npy")); err != nil || werr != nil || !bytes.Equal(launched, want) {
		t.Errorf("launched: another file than one process writes (%v, %v)", err, werr)
	}
	for want, args := range map[string][]string{
		"--run none: no run there": {"--run", "none"},
		"--dataset missing":        {"--run", "run", "--dataset", "missing"},
	} {
		for rank, e := range (rankRun{sandbox: s, verb: "predict", args: append(args, "--devices", cpus(1))}).over(2) {
			if e.code != 2 || !strings.Contains(e.last(), want) || !strings.Contains(e.last(), "rank 0 (host ") {
				t.Errorf("%v: rank %d: exit code %d: %s", args, rank, e.code, e.err)
			}
		}
	}
}
