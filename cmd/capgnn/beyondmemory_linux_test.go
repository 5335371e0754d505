package main

import (
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"strings"
	"testing"
	"time"

	"capgnn/cmd/capgnn/internal/progtest"
	"capgnn/cmd/capgnn/internal/training"
	"capgnn/gpu"
	"capgnn/graph/dataset"
	"capgnn/graph/dataset/stores"
	"capgnn/graph/synth"
	"capgnn/internal/long"
)

// Training on samples keeps graph and features in their files, and so tables of evaluation where the device is given little memory: what the process has
// of its own is a quarter of the data set at most.
func TestTrainsBeyondMemory(t *testing.T) {
	if !long.Wanted() {
		t.Skip("writes 330 MiB: CAPGNN_LONG=1")
	}
	s := newSandbox(t)
	size := s.largeRMAT(20, 16)
	cmd := s.command("train", "--dataset", "large", "--model", "sage", "--layers", "2", "--hidden", "64", "--batch-size", "1024", "--fanout", "10,all", "--epochs", "1",
		"--devices", "cpu:threads=2,mem=48MB", "--run-dir", "run", "--quiet")
	cmd.Env = append(cmd.Env, "GOGC=100") // as a user's
	peak := peakOf(t, cmd)
	t.Logf("%d MiB of its own, of data of %d MiB", peak>>20, size>>20)
	if peak == 0 || peak > size/4 {
		t.Errorf("%d bytes of its own at most, the data are %d", peak, size)
	}
}

// Parts that train one at a time do so on a device of a quarter of what the whole graph takes. Neither the device nor the process takes more than planned, by
// a tenth.
func TestPhasesBeyondMemory(t *testing.T) {
	s := newSandbox(t)
	s.largeRMAT(14, 8)
	type plan struct {
		Devices []struct{ Peak int64 }
		Process struct{ Bound int64 }
	}
	model := []string{"--dataset", "large", "--layers", "2", "--hidden", "64", "--epochs", "2", "--eval-every", "1", "--order", "none", "--quiet", "--json"}
	planned := func(args ...string) (p plan) {
		if err := json.Unmarshal([]byte(s.must(append(append([]string{"plan"}, model...), args...)...)), &p); err != nil {
			t.Fatal(err)
		}
		return p
	}
	budget := planned("--devices", progtest.CPUs(1)).Devices[0].Peak / 4
	how := []string{"--devices", fmt.Sprintf("cpu:threads=2,mem=%dB", budget), "--isolated=chunks=16,phases=1"}
	want := planned(how...)
	cmd := s.command(append(append([]string{"train"}, model...), append(how, "--run-dir", "run")...)...)
	var out strings.Builder
	cmd.Stdout = &out
	cmd.Env = append(cmd.Env, "GOGC=100") // as a user's
	peak := peakOf(t, cmd)
	result := readResultLine(t, out.String())
	if got := int64(result.PeakBytes.Devices[0]); got > want.Devices[0].Peak || got > budget {
		t.Errorf("the device has had %d bytes, %d are planned and %d there", got, want.Devices[0].Peak, budget)
	}
	bound := want.Process.Bound + want.Devices[0].Peak
	t.Logf("%d KiB of its own, %d planned; the device %d KiB of %d", peak>>10, bound>>10, want.Devices[0].Peak>>10, budget>>10)
	if peak == 0 || float64(peak) > 1.1*float64(bound) {
		t.Errorf("%d bytes of its own at most, %d are planned", peak, bound)
	}
	if _, stderr, code := s.run(append(append([]string{"train"}, model...), "--devices", fmt.Sprintf("cpu:threads=2,mem=%dB", budget), "--stream", "off", "--run-dir", "whole")...); code != 3 {
		t.Errorf("the whole graph fits in a quarter of its memory: exit code %d\n%s", code, stderr)
	}
}

// Parts that take turns leave no more in the host's memory than planned, where nothing was prepared before.
func TestTurnsBeyondMemory(t *testing.T) {
	s := newSandbox(t)
	s.largeRMAT(15, 4)
	args := []string{"--dataset", "large", "--hidden", "16", "--epochs", "2", "--order", "none", "--quiet", "--json", "--stream", "on", "--parts", "8", "--partitioner", "random", "--devices", progtest.CPUs(1)}
	var want training.MemoryPlan
	if err := json.Unmarshal([]byte(s.must(append([]string{"plan"}, args...)...)), &want); err != nil {
		t.Fatal(err)
	}
	cmd := s.command(append(append([]string{"train"}, args...), "--run-dir", "run")...)
	peak := gpu.Bytes(peakOf(t, cmd))
	t.Logf("%d KiB of its own, %d planned", peak>>10, want.Room.Need>>10)
	if peak == 0 || peak > want.Room.Need {
		t.Errorf("%d bytes of its own at most, %d are planned", peak, want.Room.Need)
	}
}

// largeRMAT writes a graph with features and labels as the data set large, and returns its bytes.
func (s *sandbox) largeRMAT(scale, factor int) int64 {
	g, err := synth.RMAT(scale, factor, 1)
	if err != nil {
		s.T.Fatal(err)
	}
	const cols = 64
	n := g.Rows()
	d := &dataset.Dataset{Name: "large", Graph: g, Classes: 16, Labels: make([]int32, n), Train: make([]bool, n), Val: make([]bool, n), Test: make([]bool, n)}
	d.Features = dataset.Features{Cols: cols, Dense: make([]float32, n*cols)}
	for i := range d.Features.Dense {
		d.Features.Dense[i] = float32(i*2654435761>>16&0xff) / 256
	}
	for v := range n {
		d.Labels[v] = int32(v % 16)
		d.Train[v], d.Val[v], d.Test[v] = v%100 == 0, v%100 == 1, v%100 == 2
	}
	if err := stores.Write(s.path("large"), d, nil); err != nil {
		s.T.Fatal(err)
	}
	return int64(len(g.Indices))*4 + int64(len(g.Indptr))*8 + int64(len(d.Features.Dense))*4
}

// peakOf runs a command and returns the most memory of its own that it is seen to have, 0 where that cannot be told.
func peakOf(t *testing.T, cmd *exec.Cmd) (peak int64) {
	t.Helper()
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	ended := make(chan error, 1)
	go func() { ended <- cmd.Wait() }() // which this function waits for
	for tick := time.NewTicker(5 * time.Millisecond); ; {
		select {
		case err := <-ended:
			if tick.Stop(); err != nil {
				t.Fatal(err)
			}
			return peak
		case <-tick.C:
			peak = max(peak, anonymous(cmd.Process.Pid))
		}
	}
}

// anonymous returns the resident memory of a process that is of no file, in bytes; 0 where it cannot be told.
func anonymous(pid int) int64 {
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", pid))
	_, rest, ok := strings.Cut(string(text), "RssAnon:")
	var kib int64
	if _, scan := fmt.Sscan(rest, &kib); err != nil || !ok || scan != nil {
		return 0
	}
	return kib << 10
}
