package main

import (
	"bytes"
	"errors"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
	"testing/synctest"

	"capgnn/cmd/capgnn/internal/runfolder"
	"capgnn/cmd/capgnn/internal/term"
	"capgnn/gpu"
	"capgnn/gpu/faulty"
	"capgnn/internal/long"
)

// oldRows are the settings of a run in which rows are kept on devices and on the host, staged, sent ahead, and used when they
// are old.
func oldRows(c *runfolder.Config) {
	c.Layers, c.Partitioner, c.Pipeline, c.Peer = 3, "random", runfolder.SwitchOn, runfolder.SwitchOff
	for name, text := range map[string]string{"staleness": "3", "cache.gpu": "40%", "cache.cpu": "60%"} {
		c.Set(name, text)
	}
}

// A device that stalls or is lost while rows are under way ends the run with one line and the exit code for that, within the
// deadline, whichever of its queues it is; the checkpoint is good, and resumed the run gives the bits of one where nothing
// went wrong.
func TestDeviceFailsWithRowsUnderWay(t *testing.T) {
	s := newSandbox(t)
	t.Setenv("XDG_CACHE_HOME", s.path("cache"))
	newStore().write(s, "ok.npz")
	well, err := (&faultyRun{sandbox: s, edit: oldRows}).train("well")
	if err != nil {
		t.Fatal(err)
	}
	for queue, nth := range map[string]int{"local": 40, "prefetch": 40, "out": 60, "reduce": 20, "reduce 2": 5} {
		at := faulty.Point{Queue: queue, At: nth}
		for name, f := range map[string]faulty.Faults{"stalls": {Stall: at}, "lost": {Lost: at}} {
			t.Run(queue+" "+name, func(t *testing.T) {
				dir := queue + "-" + name
				want := []string{"part 1", "waited 5m0s", "train --resume"}
				if name == "lost" {
					want = []string{"cpu:1: queue ", "device lost", "train --resume"}
				}
				synctest.Test(t, func(t *testing.T) { // the deadline of minutes takes no time
					inner := sandboxIn(t, s.Dir)
					var bad *faulty.Device
					r := &faultyRun{sandbox: inner, edit: oldRows, wrap: func(d gpu.Device) gpu.Device {
						bad = faulty.Wrap(d, f)
						return bad
					}}
					_, err := r.train(dir)
					bad.Release()
					inner.ends(err, term.ExitLost, want)
				})
				if n := len(metricsOf(t, s.path(dir))); n < 3 || n >= 12 {
					t.Errorf("it ended after %d epochs, not in the middle", n)
				}
				inner := sandboxIn(t, s.Dir)
				if r := readResultLine(t, inner.must("train", "--resume", dir, "--json", "--quiet")); r.SHA256 != well.SHA256 || r.Epochs != 12 {
					t.Errorf("resumed: %d epochs, weights %s, want %s", r.Epochs, r.SHA256, well.SHA256)
				}
			})
		}
	}
}

// leftovers lists what runs have left outside of their folders: files in memory and temporary ones.
func leftovers(t *testing.T) (list []string) {
	t.Helper()
	for _, dir := range []string{"/dev/shm", os.TempDir()} {
		found, err := filepath.Glob(filepath.Join(dir, "capgnn-shared-*"))
		if err != nil {
			t.Fatal(err)
		}
		list = append(list, found...)
	}
	return list
}

// A run with caches that is killed in the middle of an epoch leaves nothing behind but its folder, and resumed gives the bits of
// one that was left alone.
func TestKillWithCaches(t *testing.T) {
	s := newSandbox(t)
	newStore().write(s, "ok.npz")
	args := cached("--staleness", "pipeline=on", "--peer", "off", "--cache", "gpu=40%,cpu=60%", "--epochs", "300", "--hidden", "32", "--checkpoint-every", "7")
	whole := s.train(append(args, "--run-dir", "whole")...)
	before := len(leftovers(t))
	stops := []int{40}
	if long.Wanted() {
		stops = []int{1, 40, 111}
	}
	for _, epochs := range stops {
		if err := os.RemoveAll(s.path("killed")); err != nil {
			t.Fatal(err)
		}
		cmd := s.command(append([]string{"train", "--quiet", "--run-dir", "killed"}, args...)...)
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		waitForEpochs(t, cmd, s.path("killed"), epochs)
		cmd.Process.Kill()
		cmd.Wait()
		if list := leftovers(t); len(list) > before {
			t.Errorf("killed after %d epochs: %v are left", epochs, list)
		}
		if r := s.train("--resume", "killed"); r.SHA256 != whole.SHA256 || r.Epochs != 300 || r.Staleness.MaxSeen != 3 {
			t.Errorf("killed after %d epochs and resumed: weights %s after %d, want %s", epochs, r.SHA256, r.Epochs, whole.SHA256)
		}
		if list, err := filepath.Glob(s.path("killed/checkpoint/*.tmp*")); err != nil || len(list) > 0 {
			t.Errorf("resumed: %v are left, %v", list, err)
		}
	}
}

// Under any limit on its address space a run with caches goes well, or ends with one line that says which memory is missing and
// what would help; unless the limit is so low that the Go runtime itself finds no memory.
func TestCacheBeyondAddressSpace(t *testing.T) {
	if runtime.GOOS != "linux" {
		t.Skip("needs ulimit -v")
	}
	s := newSandbox(t)
	s.must("data", "synth", "flickr-like", "--scale", "0.2", "--out", "g", "--quiet")
	args := []string{"--dataset", "g", "--hidden", "512", "--layers", "3", "--epochs", "2", "--eval-every", "0", "--devices", "cpu:0,threads=1,cpu:1,threads=1",
		"--partitioner", "random", "--staleness", "3", "--peer", "off", "--cache", "cpu=100%"}
	refused := 0
	for _, kib := range []int{1800 << 10, 2000 << 10, 2200 << 10} {
		cmd := s.limitedTo("v", kib, append([]string{"train", "--quiet", "--json", "--run-dir", "run"}, args...)...)
		var errs bytes.Buffer
		cmd.Stderr = &errs
		err := cmd.Run()
		line := strings.TrimSuffix(errs.String(), "\n")
		if err == nil || strings.HasPrefix(line, "runtime") || strings.HasPrefix(line, "fatal error: runtime") {
			t.Logf("%d KiB: %v", kib, err)
			os.RemoveAll(s.path("run"))
			continue
		}
		refused++
		if code := cmd.ProcessState.ExitCode(); code != term.ExitDoesNotFit || strings.Contains(line, "\n") || !strings.Contains(line, "ulimit -v") {
			t.Errorf("%d KiB: exit code %d, %.500q", kib, code, line)
		}
		if _, err := os.Stat(s.path("run")); !errors.Is(err, os.ErrNotExist) {
			t.Errorf("%d KiB: a run folder is left of a run that did not begin", kib)
		}
		if list := leftovers(t); len(list) > 0 {
			t.Errorf("%d KiB: %v are left", kib, list)
		}
	}
	if refused == 0 {
		t.Skip("under none of these limits a run is refused")
	}
}
