package pipeline

import (
	"context"
	"errors"
	"fmt"
	"math"
	"reflect"
	"testing"
	"time"

	"capgnn/gpu"
	"capgnn/gpu/sim"
	"capgnn/internal/named"
)

// simulated returns devices of unequal cards on one clock.
func simulated(t testing.TB, n int, edit func(i int, c *sim.Config)) []gpu.Device {
	t.Helper()
	cards := []string{"rtx3090", "gtx1650", "a40"}
	clock := sim.NewClock()
	var out []gpu.Device
	for i := range n {
		card, err := sim.FindCard(cards[i%len(cards)])
		if err != nil {
			t.Fatal(err)
		}
		c := sim.Config{Name: fmt.Sprintf("sim:%d", i), Model: card.Model, Clock: clock, Rates: card.Rates(), Memory: 64 << 20, Threads: 1}
		if edit != nil {
			edit(i, &c)
		}
		d, err := sim.Open(c)
		if err != nil {
			t.Fatal(err)
		}
		closeAfter(t, d)
		out = append(out, d)
	}
	return out
}

// Training on simulated devices gives the bits of CPU devices, and the time and bytes of the prediction without arithmetic,
// which repeats; memory is that of the run, byte for byte.
func TestSimulateEqualsRun(t *testing.T) {
	for _, kind := range kinds(t) {
		for _, peer := range []bool{false, true} {
			p, m := task{share: 0.3, sparse: kind == named.GIN, multi: peer}.make(t, kind)
			part := scatterParts(p.Vertices(), 3)
			set := func(arithmetic bool) []gpu.Device {
				return simulated(t, 3, func(_ int, c *sim.Config) { c.Arithmetic, c.Peer = arithmetic, peer })
			}
			var epochs []EpochStats
			edit := func(o *Options) {
				o.Epochs = 3
				o.OnEpoch = func(e EpochStats) error { epochs = append(epochs, e); return nil }
			}
			devices := set(true)
			tr := newTrainer(t, p, m, devices, part, edit)
			got, o := run(t, tr), tr.o
			if want := run(t, newTrainer(t, p, m, cpus(t, 3), part, func(o *Options) { o.Epochs = 3 })); got.WeightsSHA != want.WeightsSHA {
				t.Errorf("%s: simulated devices give other weights than real ones", kind)
			}
			var dry []*Simulation
			for range 3 {
				o.Devices, o.Layout = set(false), nil
				s, err := Simulate(context.Background(), p, o, nil)
				if err != nil {
					t.Fatal(err)
				}
				dry = append(dry, s)
			}
			if !reflect.DeepEqual(dry[0], dry[1]) || !reflect.DeepEqual(dry[0], dry[2]) {
				t.Errorf("%s: predictions differ: %+v", kind, dry)
			}
			var usage gpu.Usage
			for _, u := range dry[0].Parts {
				usage = usage.Add(u)
			}
			if d := float64(usage.SpMM) / float64(epochs[1].Usage.SpMM); kind.Attends() && math.Abs(d-1) < 1e-3 {
				usage.SpMM = epochs[1].Usage.SpMM // without arithmetic, entries of rows in between are as many as rows
			}
			if dry[0].Epoch != epochs[1].Train || dry[0].Epoch != epochs[2].Train || dry[0].Reduce != epochs[1].Reduce || usage != epochs[1].Usage {
				t.Errorf("%s, peer %t: predicted %v, reduce %v, %+v\nran %v, %v, reduce %v, %+v", kind, peer, dry[0].Epoch, dry[0].Reduce, usage,
					epochs[1].Train, epochs[2].Train, epochs[1].Reduce, epochs[1].Usage)
			}
			for i, d := range devices {
				if d.Memory().HighWater != dry[0].Peak[i] {
					t.Errorf("%s: part %d takes %d bytes, predicted %d", kind, i, d.Memory().HighWater, dry[0].Peak[i])
				}
			}
		}
	}
}

// What goes wrong on a device ends the run with the error of that device, as on a real one.
func TestSimulatedFaults(t *testing.T) {
	p, m := task{share: 0.3, vertices: manyVertices}.make(t, named.GCN)
	part := scatterParts(p.Vertices(), 3)
	o := newTrainer(t, p, m, cpus(t, 3), part, nil).o
	try := func(f sim.Faults) (*Simulation, error) {
		o.Devices = simulated(t, 3, func(i int, c *sim.Config) {
			if i == 1 {
				c.Faults = f
			}
		})
		return Simulate(context.Background(), p, o, nil)
	}
	well, err := try(sim.Faults{})
	if err != nil {
		t.Fatal(err)
	}
	var oom *gpu.OutOfMemory
	if _, err := try(sim.Faults{NoMemoryFor: "gradients"}); !errors.As(err, &oom) || oom.Device != "sim:1" || oom.Name != "gradients" {
		t.Errorf("out of memory: %v", err)
	}
	var fault *gpu.Fault
	if _, err := try(sim.Faults{LostAfter: 60}); !errors.As(err, &fault) || fault.Device != "sim:1" || !errors.Is(err, gpu.ErrDeviceLost) {
		t.Errorf("lost device: %v", err)
	}
	slow, err := try(sim.Faults{SlowBy: 100, SlowFrom: time.Nanosecond})
	if err != nil {
		t.Fatal(err)
	}
	transfer := func(s *Simulation) time.Duration { return s.Parts[1].Time[gpu.PhaseTransfer] }
	if transfer(slow) < 10*transfer(well) || slow.Epoch <= well.Epoch {
		t.Errorf("slow link: transfers of %v, without %v; epochs of %v and %v", transfer(slow), transfer(well), slow.Epoch, well.Epoch)
	}
	if late, err := try(sim.Faults{SlowBy: 100, SlowFrom: time.Hour}); err != nil || !reflect.DeepEqual(late, well) {
		t.Errorf("a link that would be slow in an hour: %v", err)
	}
	if _, err := Simulate(context.Background(), p, Options{Devices: cpus(t, 1)}, nil); err == nil {
		t.Error("devices without a clock were simulated")
	}
}
