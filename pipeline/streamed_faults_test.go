package pipeline

import (
	"context"
	"errors"
	"testing"
	"time"

	"capgnn/gnn"
	"capgnn/gpu"
	"capgnn/gpu/faulty"
	"capgnn/internal/named"
)

// streamedOn are the options of five parts that take turns on two devices.
func streamedOn(m named.Model, vertices int, devs []gpu.Device) Options {
	return Options{
		Training: Training{Model: netOf(m), Optimizer: gnn.Optimizer{Kind: gnn.Adam, LR: 0.01}, Epochs: 3, EvalEvery: 1},
		Devices:  []gpu.Device{devs[0], devs[0], devs[0], devs[1], devs[1]}, Part: scatterParts(vertices, 5), Stream: true,
	}
}

// A device that fails in the turn of a part ends the run with its error, whoever waits for a turn or for rows.
func TestStreamedPartsOnFaultyDevices(t *testing.T) {
	p, m := task{share: 0.5}.make(t, named.GAT)
	for name, fault := range map[string]func(p faulty.Point) faulty.Faults{
		"lost":   func(p faulty.Point) faulty.Faults { return faulty.Faults{Lost: p} },
		"broken": func(p faulty.Point) faulty.Faults { return faulty.Faults{Broken: p} },
		"stall":  func(p faulty.Point) faulty.Faults { return faulty.Faults{Stall: p} },
	} {
		for _, at := range []int{700, 1200, 2100} {
			devs := cpus(t, 2)
			bad := faulty.Wrap(devs[0], fault(faulty.Point{Queue: "compute", At: at}))
			o := streamedOn(m, p.Vertices(), []gpu.Device{bad, devs[1]})
			if o.WaitDeadline = time.Minute; name == "stall" {
				o.WaitDeadline = time.Second
			}
			tr, err := New(context.Background(), p, o)
			if err != nil {
				t.Fatalf("%s at %d: %v: it is to come in an epoch", name, at, err)
			}
			began := time.Now()
			_, err = tr.Run(context.Background())
			if err == nil || name != "broken" && !errors.Is(err, gpu.ErrDeviceLost) || time.Since(began) > 20*time.Second {
				t.Errorf("%s at %d: after %v: %v", name, at, time.Since(began), err)
			}
			tr.Close()
			bad.Release()
			bad.Close()
		}
	}
}

// Devices that pause anywhere change no bit, nor do gaps between rows.
func TestStreamedPartsOnOddDevices(t *testing.T) {
	for _, kind := range named.Kinds {
		streamedOnOdd(t, kind)
	}
}

func streamedOnOdd(t *testing.T, kind named.Kind) {
	t.Helper()
	p, m := task{share: 0.5, directed: true}.make(t, kind)
	m.Hidden = 20
	var want string
	for seed := range uint64(3) {
		devs := cpus(t, 2)
		delays := faulty.Delays{Seed: seed, Most: time.Millisecond, Share: 0.02}
		on := []gpu.Device{faulty.Wrap(devs[0], faulty.Faults{Delays: delays}), devs[1]}
		if seed == 0 {
			on = devs
		}
		if seed == 2 {
			on = []gpu.Device{gapped{devs[0]}, gapped{devs[1]}}
		}
		tr, err := New(context.Background(), p, streamedOn(m, p.Vertices(), on))
		if err != nil {
			t.Fatal(err)
		}
		got := shaOf(t, tr)
		if err := tr.Close(); err != nil {
			t.Fatal(err)
		}
		if want == "" {
			want = got
		}
		if got != want {
			t.Errorf("%s, devices %d: weights %.12s, want %.12s", kind, seed, got, want)
		}
	}
}

// Where an allocation fails, parts are not put on the device, and nothing of them is left there.
func TestStreamedPartsWithoutMemory(t *testing.T) {
	p, m := task{share: 0.5}.make(t, named.GCN)
	failed := 0
	for at := 1; ; at++ {
		devs := cpus(t, 2)
		bad := faulty.Wrap(devs[0], faulty.Faults{NoMemoryAt: at})
		tr, err := New(context.Background(), p, streamedOn(m, p.Vertices(), []gpu.Device{bad, devs[1]}))
		if err == nil {
			tr.Close()
			break
		}
		failed++
		if oom := (*gpu.OutOfMemory)(nil); !errors.As(err, &oom) {
			t.Errorf("allocation %d: %v", at, err)
		}
		if used := bad.Memory().Used + devs[1].Memory().Used; used > 0 {
			t.Errorf("allocation %d: %d bytes are left", at, used)
		}
	}
	if failed < 4 { // a window, and weights of three parts
		t.Errorf("%d allocations", failed)
	}
}
