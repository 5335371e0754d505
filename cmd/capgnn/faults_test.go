package main

import (
	"bytes"
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"

	"capgnn/cmd/capgnn/internal/devices"
	"capgnn/cmd/capgnn/internal/runfolder"
	"capgnn/cmd/capgnn/internal/term"
	"capgnn/cmd/capgnn/internal/training"
	"capgnn/gpu"
	"capgnn/gpu/faulty"
)

// faultyRun is a run in this process on two devices, of which the second may go wrong.
type faultyRun struct {
	*sandbox
	wrap func(gpu.Device) gpu.Device // the second device; nil: nothing goes wrong
	edit func(*runfolder.Config)     // nil: as usual
}

// train runs 12 epochs with a checkpoint after every third one into the folder name.
func (f *faultyRun) train(name string) (*runfolder.Result, error) {
	f.T.Helper()
	t := training.New(&term.Console{Out: new(bytes.Buffer), Err: new(bytes.Buffer), Quiet: true}, "", runfolder.Default())
	t.RunPath = f.path(name)
	c := &t.Config
	c.Dataset, c.Devices, c.Hidden, c.Layers, c.Epochs, c.CheckpointEvery.Epochs = f.path("ok.npz"), "cpu:0,threads=1,cpu:1,threads=1", 16, 2, 12, 3
	if f.edit != nil {
		f.edit(c)
	}
	ctx := context.Background()
	if err := t.Lock(&t.Input); err != nil {
		f.T.Fatal(err)
	}
	defer t.Unlock(false)
	for _, step := range t.Steps() {
		if err := step(ctx); err != nil {
			f.T.Fatal(err)
		}
	}
	f.T.Cleanup(func() { devices.CloseAll(t.Devices) })
	if f.wrap != nil {
		t.Devices[1] = f.wrap(t.Devices[1])
	}
	return t.Train(ctx)
}

// A device that goes wrong ends the run with one line and the exit code for that; the checkpoints stay good, and a resumed
// run gives the bits of one where nothing went wrong.
func TestFaultyDevices(t *testing.T) {
	s := newSandbox(t)
	t.Setenv("XDG_CACHE_HOME", s.path("cache"))
	newStore().write(s, "ok.npz")
	well, err := (&faultyRun{sandbox: s}).train("well")
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		name   string
		faults faulty.Faults
		code   int
		want   []string
	}{
		{"lost", faulty.Faults{Lost: faulty.Point{Queue: "compute", Op: "Aggregate", At: 20}}, term.ExitLost, []string{"cpu:1", "queue compute", "device lost", "train --resume"}},
		{"broken", faulty.Faults{Broken: faulty.Point{Op: "Linear", At: 20}}, term.ExitLost, []string{"cpu:1", "Linear", "train --resume"}},
		{"NaN", faulty.Faults{Poison: faulty.Point{Op: "Linear", At: 20}}, term.ExitFailure, []string{"epoch ", "loss is NaN", "cpu:1"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			inner := sandboxIn(t, s.Dir)
			r := &faultyRun{sandbox: inner, wrap: func(d gpu.Device) gpu.Device { return faulty.Wrap(d, c.faults) }}
			_, err := r.train(c.name)
			inner.ends(err, c.code, c.want)
			if n := len(metricsOf(t, s.path(c.name))); n < 3 || n >= 12 {
				t.Errorf("it ended after %d epochs, not in the middle", n)
			}
			resumed := readResultLine(t, inner.must("train", "--resume", c.name, "--json", "--quiet"))
			if resumed.SHA256 != well.SHA256 || resumed.Epochs != 12 {
				t.Errorf("resumed: %d epochs, weights %s, want those of a run without faults, %s", resumed.Epochs, resumed.SHA256, well.SHA256)
			}
		})
	}
}

// A device that is lost before the first epoch leaves nothing behind, and nothing to resume.
func TestLostAtTheStart(t *testing.T) {
	s := newSandbox(t)
	t.Setenv("XDG_CACHE_HOME", s.path("cache"))
	newStore().write(s, "ok.npz")
	_, err := (&faultyRun{sandbox: s, wrap: func(d gpu.Device) gpu.Device {
		return faulty.Wrap(d, faulty.Faults{Lost: faulty.Point{At: 3}})
	}}).train("run")
	s.ends(err, term.ExitLost, []string{"cpu:1", "device lost"})
	if strings.Contains(err.Error(), "--resume") {
		t.Errorf("%v: there is nothing to resume", err)
	}
	if _, err := os.Stat(s.path("run")); !errors.Is(err, os.ErrNotExist) {
		t.Error("a run folder is left")
	}
}

// ends demands that a run has ended with this code and one line that contains all of want.
func (s *sandbox) ends(err error, code int, want []string) {
	s.T.Helper()
	if err == nil || term.ExitCode(err) != code {
		s.T.Fatalf("error %v, exit code %d, want %d", err, term.ExitCode(err), code)
	}
	line := term.OneLine(err)
	for _, w := range want {
		if strings.Count(line, w) != 1 {
			s.T.Errorf("%q does not say %q once", line, w)
		}
	}
}

// counting counts allocations.
type counting struct {
	gpu.Device
	n atomic.Int32
}

func (c *counting) Alloc(n gpu.Bytes, name string) (gpu.Buffer, error) {
	c.n.Add(1)
	return c.Device.Alloc(n, name)
}

// A device whose memory is less than it said ends the run with what to do: at the start nothing is left behind, in the middle
// of a sampled run, whose evaluations allocate, the checkpoints are.
func TestMemoryRunsOut(t *testing.T) {
	s := newSandbox(t)
	t.Setenv("XDG_CACHE_HOME", s.path("cache"))
	newStore().write(s, "ok.npz")
	every := func(c *runfolder.Config) {
		c.BatchSize, c.EvalEvery = 16, 1
		c.SpellSampling()
	}
	var all *counting
	well, err := (&faultyRun{sandbox: s, edit: every, wrap: func(d gpu.Device) gpu.Device {
		all = &counting{Device: d}
		return all
	}}).train("well")
	if err != nil {
		t.Fatal(err)
	}
	for name, at := range map[string]int{"first": 1, "middle": int(all.n.Load()) * 2 / 3} {
		t.Run(name, func(t *testing.T) {
			inner := sandboxIn(t, s.Dir)
			_, err := (&faultyRun{sandbox: inner, edit: every, wrap: func(d gpu.Device) gpu.Device {
				return faulty.Wrap(d, faulty.Faults{NoMemoryAt: at})
			}}).train(name)
			inner.ends(err, term.ExitDoesNotFit, []string{"cpu:1: allocate", "more memory (mem=)"})
			_, missing := os.Stat(s.path(name))
			if name == "first" {
				if !errors.Is(missing, os.ErrNotExist) {
					t.Error("a run folder is left of a run that did not begin")
				}
				return
			}
			if list, err := filepath.Glob(s.path(name + "/checkpoint/*")); err != nil || len(list) == 0 {
				t.Errorf("no checkpoint is left: %v", err)
			}
			if r := readResultLine(t, inner.must("train", "--resume", name, "--json", "--quiet")); r.SHA256 != well.SHA256 {
				t.Error("resumed: other weights")
			}
		})
	}
}
