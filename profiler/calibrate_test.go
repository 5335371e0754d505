package profiler_test

import (
	"context"
	"errors"
	"path/filepath"
	"reflect"
	"testing"

	"capgnn/gpu"
	"capgnn/gpu/host"
	"capgnn/profiler"
)

// A calibration measures every operation over sizes, leaves out what does not fit, frees everything and survives the file.
func TestCalibrate(t *testing.T) {
	var devices []gpu.Device
	for range 2 {
		d, err := host.Open(host.Spec{Threads: 1, Memory: 32 << 20, Link: 1 << 30})
		if err != nil {
			t.Fatal(err)
		}
		defer d.Close()
		devices = append(devices, d)
	}
	opt := profiler.Options{Quick: true, Calibrate: true, Sizes: []int{64}, Runs: 1, Processors: 2}
	p, err := profiler.Measure(context.Background(), devices, opt)
	if err != nil {
		t.Fatal(err)
	}
	d := &p.Devices[0]
	if !reflect.DeepEqual(p.Devices[1].Calibration, d.Calibration) {
		t.Error("two devices that are the same were measured twice")
	}
	ops := map[string][]profiler.OpTime{}
	for _, k := range d.Calibration {
		ops[k.Op] = append(ops[k.Op], k)
	}
	for _, op := range []string{"copy", "fill", "axpby", "colsum", "gather", "nn", "nt", "tn", "sum", "epilogue", "epilogue_back",
		"softmax", "bce", "adam", "upload", "download", "peer"} {
		if len(ops[op]) < 2 {
			t.Errorf("%s was measured %d times", op, len(ops[op]))
		}
	}
	if len(ops["launch"]) != 1 || len(ops["hop"]) != 1 {
		t.Errorf("launch %v, hop %v", ops["launch"], ops["hop"])
	}
	// A megabyte over a link of a GiB a second, both ways and between devices.
	for _, op := range []string{"upload", "download", "peer"} {
		for _, k := range ops[op] {
			if least := float64(k.Bytes) / (1 << 30); k.Seconds < least {
				t.Errorf("%s of %d bytes took %g s, the link %g", op, k.Bytes, k.Seconds, least)
			}
		}
	}
	seen := map[string]bool{}
	for _, k := range d.Beside {
		seen[k.Op] = true
		if k.Op == "epilogue" {
			t.Errorf("what does not fit was measured: %+v", k)
		}
	}
	for _, op := range []string{"nn", "nt", "tn", "sum", "copy"} {
		if !seen[op] {
			t.Errorf("%s was not measured beside others", op)
		}
	}
	for i, dev := range devices {
		if used := dev.Memory().Used; used != 0 {
			t.Errorf("device %d: %d bytes stay allocated", i, used)
		}
	}
	path := filepath.Join(t.TempDir(), "profile.json")
	if err := p.Write(path); err != nil {
		t.Fatal(err)
	}
	q, err := profiler.Read(path)
	if err != nil || !reflect.DeepEqual(q.Devices, p.Devices) {
		t.Errorf("does not survive the file: %v", err)
	}
	if rows, err := q.Match(devices); err != nil || !reflect.DeepEqual(rows, p.Devices) {
		t.Errorf("a later run takes other rows for devices of one hardware: %v", err)
	}
	d.Calibration[0].Seconds = -1
	if err := p.Write(path); err == nil {
		t.Error("an impossible calibration was written")
	}
	ended, cancel := context.WithCancel(context.Background())
	cancel()
	if _, err := profiler.Measure(ended, devices, opt); !errors.Is(err, context.Canceled) {
		t.Errorf("cancelled: %v", err)
	}
}
