package devices

import (
	"context"
	"errors"
	"io"
	"slices"
	"testing"

	"capgnn/cmd/capgnn/internal/term"
	"capgnn/gpu"
	"capgnn/gpu/host"
	"capgnn/profiler"
)

// A device with little memory is measured whole, under its name, and a kept profile with holes is as none.
func TestProfileOfLittleMemory(t *testing.T) {
	t.Setenv("XDG_CACHE_HOME", t.TempDir())
	k := &term.Console{Out: io.Discard, Err: io.Discard}
	specs, err := Parse("cpu:threads=1,mem=1MiB,cpu:1,threads=1,slow=3,mem=2MiB")
	if err != nil {
		t.Fatal(err)
	}
	p, err := Profile(context.Background(), k, specs, "")
	if err != nil {
		t.Fatal(err)
	}
	for i, d := range p.Devices {
		if d.Name != specs[i].name() || len(d.Calibration) == 0 {
			t.Errorf("device %d: %s with %d measurements, want %s with some", i, d.Name, len(d.Calibration), specs[i].name())
		}
	}
	devices, err := Open(specs)
	if err != nil {
		t.Fatal(err)
	}
	kept, own := cachedProfile(k, devices)
	if kept == nil {
		t.Fatal("the profile was not kept")
	}
	d := &kept.Devices[0]
	d.Calibration = slices.DeleteFunc(d.Calibration, func(o profiler.OpTime) bool { return o.Op == "nn" })
	if err := errors.Join(kept.Write(own), CloseAll(devices)); err != nil {
		t.Fatal(err)
	}
	if Kept(k, specs) != nil {
		t.Error("a profile without dense products was found in the cache")
	}
}

func TestTooLittleToMeasure(t *testing.T) {
	d, err := host.Open(host.Spec{Name: "cpu:0", Threads: 1, Memory: 1 << 20})
	if err != nil {
		t.Fatal(err)
	}
	defer d.Close()
	if err := measurable([]gpu.Device{d}, Brief().Least()); term.ExitCode(err) != term.ExitDoesNotFit {
		t.Errorf("got %v, want one line and exit code %d", err, term.ExitDoesNotFit)
	}
	if err := measurable([]gpu.Device{d}, 1<<20); err != nil {
		t.Error(err)
	}
}
