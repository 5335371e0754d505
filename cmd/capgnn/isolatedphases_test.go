package main

import (
	"fmt"
	"math"
	"os"
	"strings"
	"testing"

	"capgnn/cmd/capgnn/internal/progtest"
)

// Parts that take turns have the same bits over ranks, of which there may not be more than parts at a time; the result says how many those are, plan what a device
// takes, and the weights predict.
func TestIsolatedPhases(t *testing.T) {
	t.Parallel()
	s := newSandbox(t)
	newStore().write(s, "ok.npz")
	args := []string{"--dataset", "ok.npz", "--hidden", "8", "--epochs", "6", "--eval-every", "3", "--isolated=chunks=5,phases=3,targets=both"}
	want := s.train(append(args, "--devices", progtest.CPUs(2), "--run-dir", "alone")...)
	if i := want.Isolated; i.AtATime != 3 || i.Chunks != 5 || i.Switches != 11 || want.Parts != 5 {
		t.Errorf("%d parts, %+v", want.Parts, i)
	}
	one := s.train(append(args, "--devices", progtest.CPUs(1), "--run-dir", "one")...)
	if one.SHA256 != want.SHA256 {
		t.Errorf("weights %s on one device, %s on two", one.SHA256, want.SHA256)
	}
	plan := s.must("plan", "--json", "--dataset", "ok.npz", "--hidden", "8", "--isolated=chunks=5,phases=3,targets=both", "--devices", progtest.CPUs(1))
	if peak := fmt.Sprintf(`"peak":%d`, one.PeakBytes.Devices[0]); !strings.Contains(plan, peak) {
		t.Errorf("plan says another peak than %s: %s", peak, plan)
	}
	const linked = "cpu:0,threads=1,link=4GiB/s,cpu:1,threads=1,link=1GiB/s"
	s.measured(linked)
	apart := s.train(append(args, "--devices", linked, "--run-dir", "linked")...)
	plan = s.must("plan", "--json", "--dataset", "ok.npz", "--hidden", "8", "--isolated=chunks=5,phases=3,targets=both", "--devices", linked)
	for _, n := range apart.PeakBytes.Devices {
		if peak := fmt.Sprintf(`"peak":%d`, n); !strings.Contains(plan, peak) {
			t.Errorf("plan over unequal links says another peak than %s: %s", peak, plan)
		}
	}
	s.must("predict", "--run", "alone", "--what", "labels", "--devices", progtest.CPUs(2), "--quiet")
	if _, err := os.Stat(s.path("alone/labels.npy")); err != nil {
		t.Error(err)
	}
	for ranks, code := range map[int]int{2: 0, 3: 0, 4: 2} {
		all := progtest.RankRun{Sandbox: s.Sandbox, Args: append(args, "--devices", progtest.CPUs(1), "--json", "--quiet", "--run-dir", fmt.Sprint("ranks", ranks))}.Over(ranks)
		if all[0].Code != code {
			t.Fatalf("%d ranks: exit code %d, want %d\n%s", ranks, all[0].Code, code, all[0].Err)
		}
		if code != 0 {
			continue
		}
		if got := readResultLine(t, all[0].Out); got.SHA256 != want.SHA256 || *got.Test != *want.Test {
			t.Errorf("%d ranks: weights %s, test %g; one process %s, %g", ranks, got.SHA256, *got.Test, want.SHA256, *want.Test)
		}
	}
}

// What says how training is divided says nothing to predict: any number of devices gives the same logits, with all edges.
func TestPredictsOnAnyDevices(t *testing.T) {
	t.Parallel()
	s := newSandbox(t)
	newStore().write(s, "ok.npz")
	s.measured(progtest.CPUs(2)) // which pruning wants
	for folder, args := range map[string]string{"parts": "--isolated --parts 3 --devices " + progtest.CPUs(1), "devices": "--isolated --devices " + progtest.CPUs(2),
		"pruned": "--prune max=0.3 --devices " + progtest.CPUs(2), "machines": "--machines 2 --parts 4 --devices " + progtest.CPUs(1)} {
		s.train(append(strings.Fields(args), "--dataset", "ok.npz", "--hidden", "8", "--epochs", "2", "--run-dir", folder)...)
		one, two := s.logits(folder, "--devices", progtest.CPUs(1)), s.logits(folder, "--devices", progtest.CPUs(3))
		for i, x := range one {
			if math.Abs(float64(x-two[i])) > 1e-5 {
				t.Fatalf("%s: logit %d is %g on one device, %g on three", args, i, x, two[i])
			}
		}
	}
}

// What cannot be phases is refused with a line that says why.
func TestIsolatedPhasesRefused(t *testing.T) {
	t.Parallel()
	s := newSandbox(t)
	newStore().write(s, "ok.npz")
	for value, says := range map[string]string{
		"chunks=4,phases=0": "is not in [1,", "chunks=4,phases=5": "5 of 4 parts cannot train at a time: choose 1 to 4", "chunks=4,phases=-1": "is not in [1,", "chunks=4,phases=x": "is not in [1,",
		"chunks=4,phases=": "is not in [1,", "phases=2,phases=2": "phases stands there twice", "phases=2": "one part is too few", "chunks=4,phase=2": "did you mean phases?",
	} {
		_, stderr, code := s.run("train", "--dataset", "ok.npz", "--isolated="+value, "--devices", progtest.CPUs(1), "--epochs", "1", "--quiet")
		if code != 2 || !strings.Contains(stderr, says) || strings.Count(strings.TrimSpace(stderr), "\n") > 0 {
			t.Errorf("--isolated=%s: exit code %d\n%s", value, code, stderr)
		}
	}
}
