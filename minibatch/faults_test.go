package minibatch

import (
	"context"
	"errors"
	"fmt"
	"math"
	"runtime"
	"strings"
	"testing"
	"time"

	"capgnn/gpu"
	"capgnn/gpu/faulty"
	"capgnn/gpu/host"
	"capgnn/gpu/sim"
	"capgnn/hostmem"
	"capgnn/internal/fit"
	"capgnn/internal/meet"
	"capgnn/internal/named"
	"capgnn/minibatch/sample"
)

// ours counts goroutines that train or sample.
func ours() int {
	buf := make([]byte, 1<<20)
	all := string(buf[:runtime.Stack(buf, true)])
	return strings.Count(all, "created by capgnn/minibatch.") + strings.Count(all, "created by capgnn/internal/trainer.(*Crew).Each")
}

// none waits until no goroutine of this package is left.
func none(t *testing.T, name string) {
	t.Helper()
	for end := time.Now().Add(time.Minute); ours() > 0; time.Sleep(time.Millisecond) {
		if time.Now().After(end) {
			t.Fatalf("%s: %d goroutines are left", name, ours())
		}
	}
}

// A device that fails or does not answer ends the run with an error that names it, and nothing goes on behind Close.
func TestFaults(t *testing.T) {
	p, m := task{}.make(t, named.SAGE)
	for _, c := range []struct {
		name  string
		fault faulty.Faults
		want  string
	}{
		{"lost on the way of carried gradients", faulty.Faults{Lost: faulty.Point{Queue: "carry", At: 9}}, "cpu:1"},
		{"carried gradients that do not come", faulty.Faults{Stall: faulty.Point{Queue: "carry", At: 9}}, "part 1"},
		{"lost", faulty.Faults{Lost: faulty.Point{Queue: "compute", At: 200}}, "cpu:1"},
		{"lost upload", faulty.Faults{Lost: faulty.Point{Queue: "prefetch", At: 7}}, "cpu:1"},
		{"stalled", faulty.Faults{Stall: faulty.Point{Queue: "compute", At: 200}}, "part 1"},
		{"stalled upload", faulty.Faults{Stall: faulty.Point{Queue: "prefetch", At: 7}}, "part 1"},
	} {
		bad := devices(t, 3, host.Spec{})
		stalling := faulty.Wrap(bad[1], c.fault)
		bad[1] = stalling
		o := small(m, bad, homes(p.Vertices(), 3))
		o.Epochs, o.WaitDeadline = 100, 300*time.Millisecond
		if c.fault.Lost.Queue+c.fault.Stall.Queue == "carry" {
			o.Sampling.Place, o.Sampling.NoMerge = Hop, true
		}
		tr, err := New(t.Context(), p, o)
		if err != nil {
			t.Fatal(err)
		}
		_, err = tr.Run(t.Context())
		if !errors.Is(err, gpu.ErrDeviceLost) || !strings.Contains(err.Error(), c.want) || !strings.HasPrefix(err.Error(), "epoch ") {
			t.Errorf("%s: %v", c.name, err)
		}
		tr.Close()
		stalling.Release()
		none(t, c.name)
	}
}

// Samplers that do not come back are named.
func TestSamplersLate(t *testing.T) {
	p, m := task{}.make(t, named.SAGE)
	o := small(m, devices(t, 2, host.Spec{}), homes(p.Vertices(), 2))
	o.WaitDeadline = 100 * time.Millisecond
	tr, err := New(t.Context(), p, o)
	if err != nil {
		t.Fatal(err)
	}
	hold := make(chan struct{})
	fill := tr.workers[1].feed.fill
	tr.workers[1].feed.fill = func(s *sample.Sampler, d *sampledUnit, step int) error {
		if step == 5 {
			<-hold
		}
		return fill(s, d, step)
	}
	_, err = tr.Run(t.Context())
	if late := new(meet.Late); !errors.As(err, &late) || late.Part != 1 || !strings.Contains(err.Error(), "its samplers") {
		t.Error(err)
	}
	close(hold)
	tr.Close()
	none(t, "late samplers")
}

// A sampler's error is the run's.
func TestSamplerFails(t *testing.T) {
	p, m := task{}.make(t, named.SAGE)
	tr, err := New(t.Context(), p, small(m, devices(t, 2, host.Spec{}), homes(p.Vertices(), 2)))
	if err != nil {
		t.Fatal(err)
	}
	want := errors.New("no memory to lock")
	tr.workers[0].feed.fill = func(*sample.Sampler, *sampledUnit, int) error { return want }
	if _, err = tr.Run(t.Context()); !errors.Is(err, want) {
		t.Error(err)
	}
	tr.Close()
	none(t, "failed sampler")
}

// A run that is closed before it began, or interrupted before its first step, or whose callback fails, leaves nothing behind.
func TestEndsEarly(t *testing.T) {
	p, m := task{}.make(t, named.SAGE)
	o := small(m, devices(t, 2, host.Spec{}), homes(p.Vertices(), 2))
	want := errors.New("disk full")
	for name, run := range map[string]func(tr *Trainer) error{
		"closed": func(*Trainer) error { return nil },
		"interrupted": func(tr *Trainer) error {
			ctx, cancel := context.WithCancel(t.Context())
			cancel()
			r, err := tr.Run(ctx)
			if err == nil && (r.Stopped != fit.Interrupted || r.Steps != 0) {
				err = fmt.Errorf("stopped %q behind %d steps", r.Stopped, r.Steps)
			}
			return err
		},
		"callback": func(tr *Trainer) error {
			tr.o.OnEpoch = func(EpochStats) error { return want }
			if _, err := tr.Run(t.Context()); !errors.Is(err, want) {
				return err
			}
			return nil
		},
	} {
		tr, err := New(t.Context(), p, o)
		if err != nil {
			t.Fatal(err)
		}
		if err := run(tr); err != nil {
			t.Errorf("%s: %v", name, err)
		}
		tr.Close()
		none(t, name)
	}
	for _, d := range o.Devices {
		if used := d.Memory().Used; used != 0 {
			t.Errorf("%s holds %d bytes", d.Info().Name, used)
		}
	}
}

// A part that does not fit its device says so, and takes nothing.
func TestDoesNotFit(t *testing.T) {
	p, m := task{}.make(t, named.SAGE)
	for _, budget := range []gpu.Bytes{1 << 10, 40 << 10, 150 << 10} {
		d, err := host.Open(host.Spec{Name: "cpu:0", Threads: 1, Memory: budget})
		if err != nil {
			t.Fatal(err)
		}
		defer d.Close()
		_, err = New(t.Context(), p, small(m, []gpu.Device{d}, nil))
		if oom := new(gpu.OutOfMemory); !errors.As(err, &oom) || d.Memory().Used != 0 {
			t.Errorf("budget %d: %v, %d bytes used", budget, err, d.Memory().Used)
		}
	}
}

// Simulated devices with arithmetic give the bits of CPU devices, by staged rows where those fetch them; ones that only count time run to the end.
func TestSimulatedDevices(t *testing.T) {
	for _, kind := range kinds(t) {
		p, m := task{sparse: kind == named.GIN}.make(t, kind)
		part := homes(p.Vertices(), 2)
		for _, arithmetic := range []bool{true, false} {
			clock := sim.NewClock()
			var list []gpu.Device
			for i, name := range []string{"rtx3090", "gtx1650"} {
				card, err := sim.FindCard(name)
				if err != nil {
					t.Fatal(err)
				}
				d, err := sim.Open(sim.Config{Name: fmt.Sprintf("sim:%d", i), Model: card.Model, Clock: clock, Rates: card.Rates(), Memory: 64 << 20, Threads: 1, Arithmetic: arithmetic})
				if err != nil {
					t.Fatal(err)
				}
				defer d.Close()
				list = append(list, d)
			}
			o := small(m, list, part)
			if !kind.Attends() { // they do not reach each other: sums are carried through host memory
				kindOfRoots{place: Hop}.set(&o.Sampling)
			}
			got := trained(t, p, o)
			if len(got.EpochTime) != 3 || got.EpochTime[0] <= 0 || got.EpochTime[0] > time.Second {
				t.Errorf("%s: epochs take %v", kind, got.EpochTime)
			}
			o.Devices = devices(t, 2, host.Spec{})
			if want := trained(t, p, o); arithmetic && got.WeightsSHA != want.WeightsSHA {
				t.Errorf("%s: other weights on simulated devices", kind)
			} else if got.Rows.Hit, got.Rows.Fetched = 0, got.Rows.Hit+got.Rows.Fetched; got.Rows != want.Rows || got.Edges != want.Edges {
				t.Errorf("%s: %+v %d edges, want %+v %d", kind, got.Rows, got.Edges, want.Rows, want.Edges)
			}
		}
	}
}

// Everything that a step reads was written for it: slots that hold NaN and wrong ids in between change nothing. Steps that read most of the graph have no slots
// on a CPU, and are written to the input.
func TestStagesAreWrittenWhole(t *testing.T) {
	shared := 0
	for _, kind := range kinds(t) {
		for _, k := range []task{{}, {sparse: true}, {multi: true}} {
			for _, gathers := range []bool{false, true} {
				p, m := k.make(t, kind)
				o := small(m, devices(t, 2, host.Spec{}), homes(p.Vertices(), 2))
				if kind == named.SAGE {
					o.Sampling.Fanout[2] = sample.All
				}
				want := trained(t, p, o).WeightsSHA
				tr, err := New(t.Context(), p, o)
				if err != nil {
					t.Fatal(err)
				}
				for _, w := range tr.workers {
					fill, stage := w.feed.fill, &w.stage
					if stage.shares {
						shared++
					}
					stage.gathers, stage.shares = gathers, false
					w.feed.fill = func(s *sample.Sampler, d *sampledUnit, step int) error {
						for _, x := range []func() error{func() error { return fill(s, d, step) }, func() error {
							mem := hostmem.Of[uint32](d.mem.Bytes()[:len(d.mem.Bytes())/4*4])
							for i := range mem {
								mem[i] = math.Float32bits(float32(math.NaN()))
							}
							return nil
						}, func() error { return fill(s, d, step) }} {
							if err := x(); err != nil {
								return err
							}
						}
						return nil
					}
				}
				r, err := tr.Run(t.Context())
				tr.Close()
				if err != nil {
					t.Fatal(err)
				}
				if r.WeightsSHA != want {
					t.Errorf("%s %+v, gathers %t: a step reads what it did not write", kind, k, gathers)
				}
			}
		}
	}
	if shared == 0 {
		t.Error("no step is written to the input")
	}
}
