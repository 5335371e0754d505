package ranks_test

import (
	"bytes"
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"

	"capgnn/cmd/capgnn/internal/progtest"
	"capgnn/internal/long"
	"capgnn/profiler"
)

// However parts are grouped into ranks, the run folder of rank 0 holds what one process leaves, and nobody else writes anything.
func TestTrainOverRanks(t *testing.T) {
	t.Parallel()
	s := newSandbox(t)
	progtest.NewStore().Write(s.Sandbox, "ok.npz")
	for k, model := range []string{"gcn", "sage", "gin", "gat"} {
		args := []string{"--dataset", "ok.npz", "--model", model, "--hidden", "8", "--epochs", "6", "--eval-every", "2", "--cache", []string{"jaca", "none"}[k%2]}
		if model == "gat" {
			args = append(args, "--attention-dropout", "0.4")
		}
		alone := fmt.Sprint("alone-", model)
		want := s.Train(append(args, "--devices", progtest.CPUs(4), "--run-dir", alone)...)
		for i, devices := range [][]int{{2, 2}, {3, 1}, {1, 1, 1, 1}} {
			if k > 0 && (i == 0 || !long.Nth(t, 2, k+i)) {
				continue
			}
			dir := fmt.Sprint(model, devices)
			run := progtest.RankRun{Sandbox: s.Sandbox, Args: append(args, "--run-dir", dir, "--json", "--quiet"),
				Own: func(rank int) []string { return []string{"--devices", progtest.CPUs(devices[rank])} }}
			for rank, e := range run.Over(len(devices)) {
				if e.Code != 0 || e.Err != "" || (e.Out == "") != (rank > 0) {
					t.Fatalf("%s %v: rank %d: exit code %d\n%s%s", model, devices, rank, e.Code, e.Out, e.Err)
				}
				if rank > 0 {
					continue
				}
				got := progtest.ReadResultLine(t, e.Out)
				if got.SHA256 != want.SHA256 || *got.Test != *want.Test || got.Parts != 4 || !slices.Equal(got.Devices, want.Devices) {
					t.Errorf("%s %v: weights %s, test score %v, %d parts on %v; alone %s, %v, %v", model, devices, got.SHA256, *got.Test, got.Parts, got.Devices,
						want.SHA256, *want.Test, want.Devices)
				}
			}
			for _, name := range []string{"plan.bin", "last.safetensors", "model.safetensors", "config.yaml"} {
				one, err := os.ReadFile(s.Path(alone + "/" + name))
				if err != nil {
					t.Fatal(err)
				}
				if several, err := os.ReadFile(s.Path(dir + "/" + name)); err != nil || !bytes.Equal(one, several) {
					t.Errorf("%s %v: %s differs (%v)\n%s\n%s", model, devices, name, err, several, one)
				}
			}
		}
	}
}

// slower gives the device of a profile the times of another's, multiplied: on a busy machine, measured ones may say that the slow one is not slower.
func (s *sandbox) slower(of, profile string, factor float64) {
	s.T.Helper()
	base, err := profiler.Read(s.Path(of))
	if err != nil {
		s.T.Fatal(err)
	}
	p, err := profiler.Read(s.Path(profile))
	if err != nil {
		s.T.Fatal(err)
	}
	times := func(t profiler.Timing) profiler.Timing {
		t.Mean, t.Std, t.Median = factor*t.Mean, factor*t.Std, factor*t.Median
		return t
	}
	p.Devices[0].MM, p.Devices[0].SpMM = times(base.Devices[0].MM), times(base.Devices[0].SpMM)
	if err := p.Write(s.Path(profile)); err != nil {
		s.T.Fatal(err)
	}
}

// Ranks with unequal devices share the work by what each has measured of its own; one process repeats their run to the bit, and so do they.
func TestUnequalRanks(t *testing.T) {
	t.Parallel()
	s := newSandbox(t)
	progtest.NewStore().Write(s.Sandbox, "ok.npz")
	devices := []string{"cpu:threads=1,link=4GiB/s", "cpu:threads=1,slow=4,link=1GiB/s"}
	for rank, d := range devices {
		s.Must("profile", "--quick", "--quiet", "--devices", d, "--out", fmt.Sprintf("profile%d.json", rank))
	}
	s.slower("profile0.json", "profile1.json", 4)
	own := func(rank int) []string {
		return []string{"--devices", devices[rank], "--profile", fmt.Sprintf("profile%d.json", rank)}
	}
	args := []string{"--hidden", "8", "--epochs", "4", "--quiet", "--json"}
	first := (progtest.RankRun{Sandbox: s.Sandbox, Args: append(args, "--dataset", "ok.npz", "--run-dir", "first"), Own: own}).Over(2)[0]
	if first.Code != 0 {
		t.Fatalf("exit code %d\n%s", first.Code, first.Err)
	}
	want := progtest.ReadResultLine(t, first.Out)
	config, err := os.ReadFile(s.Path("first/config.yaml"))
	if err != nil || !strings.Contains(string(config), "cache-links: ") || strings.Contains(string(config), "cache-links: \"\"") || strings.Contains(string(config), "targets: equal") {
		t.Errorf("the devices count as equal: %v\n%s", err, config)
	}
	again := (progtest.RankRun{Sandbox: s.Sandbox, Args: []string{"--config", "first/config.yaml", "--run-dir", "again", "--quiet", "--json"}, Own: func(rank int) []string { return own(rank)[:2] }}).Over(2)[0]
	if again.Code != 0 || progtest.ReadResultLine(t, again.Out).SHA256 != want.SHA256 {
		t.Errorf("repeated: exit code %d\n%s%s", again.Code, again.Out, again.Err)
	}
	if repeated, err := os.ReadFile(s.Path("again/config.yaml")); err != nil || !bytes.Equal(repeated, config) {
		t.Errorf("repeated by other settings: %v\n%s\n%s", err, repeated, config)
	}
	if alone := s.Train("--config", "first/config.yaml", "--run-dir", "alone"); alone.SHA256 != want.SHA256 {
		t.Errorf("one process: weights %s, ranks %s", alone.SHA256, want.SHA256)
	}
}

// Ranks with other devices than a config file names cut as many parts as they have, or as many as --parts says.
func TestPartsBesideConfigOverRanks(t *testing.T) {
	t.Parallel()
	s := newSandbox(t)
	progtest.NewStore().Write(s.Sandbox, "ok.npz")
	want := s.Train("--dataset", "ok.npz", "--run-dir", "first", "--hidden", "8", "--epochs", "2", "--devices", progtest.CPUs(3))
	for _, parts := range []string{"", "3"} {
		args := []string{"--config", "first/config.yaml", "--run-dir", "again" + parts, "--devices", progtest.CPUs(1), "--quiet", "--json"}
		if parts != "" {
			args = append(args, "--parts", parts)
		}
		again := (progtest.RankRun{Sandbox: s.Sandbox, Args: args}).Over(2)[0]
		if again.Code != 0 {
			t.Fatalf("--parts %q: exit code %d\n%s", parts, again.Code, again.Err)
		}
		if same := progtest.ReadResultLine(t, again.Out).SHA256 == want.SHA256; same != (parts == "3") {
			t.Errorf("--parts %q: equal weights: %t\n%s", parts, same, again.Out)
		}
	}
}
