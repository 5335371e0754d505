package faulty_test

import (
	"errors"
	"math"
	"testing"
	"time"

	"capgnn/gpu"
	"capgnn/gpu/faulty"
	"capgnn/gpu/gputest"
	"capgnn/gpu/host"
	"capgnn/gpu/sim"
	"capgnn/hostmem"
	"capgnn/internal/long"
)

// cpu returns a CPU device with these faults.
func cpu(t *testing.T, f faulty.Faults) *faulty.Device {
	t.Helper()
	dev, err := host.Open(host.Spec{Name: "cpu:0", Threads: 2, Memory: 64 << 20, Poison: true})
	if err != nil {
		t.Fatal(err)
	}
	d := faulty.Wrap(dev, f)
	t.Cleanup(func() { d.Close() })
	return d
}

// A device on which nothing goes wrong is the wrapped one; one that is late gives its results.
func TestConformance(t *testing.T) {
	t.Run("late", func(t *testing.T) {
		t.Parallel() // it waits
		gputest.Run(t, func(t *testing.T) gpu.Device {
			return cpu(t, faulty.Faults{Delays: faulty.Delays{Seed: 1, Most: 200 * time.Microsecond, Share: 0.03}})
		})
	})
	if testing.Short() { // the others have no goroutines of their own
		return
	}
	suite := gputest.RunProducts
	if long.Wanted() { // "late" is on time in most operations
		suite = gputest.Run
		t.Run("well", func(t *testing.T) {
			gputest.Run(t, func(t *testing.T) gpu.Device { return cpu(t, faulty.Faults{}) })
		})
	}
	t.Run("simulated", func(t *testing.T) {
		t.Parallel()
		card, err := sim.FindCard("rtx3090")
		if err != nil {
			t.Fatal(err)
		}
		clock := sim.NewClock()
		suite(t, func(t *testing.T) gpu.Device {
			d, err := sim.Open(sim.Config{Name: "sim:0", Clock: clock, Rates: card.Rates(), Memory: 64 << 20, Arithmetic: true, Peer: true, Threads: 1})
			if err != nil {
				t.Fatal(err)
			}
			wrapped := faulty.Wrap(d, faulty.Faults{})
			if wrapped.Clock() != gpu.Clock(clock) {
				t.Error("the clock was lost")
			}
			return wrapped
		})
	})
}

func TestBroken(t *testing.T) {
	gputest.RunFault(t, cpu(t, faulty.Faults{Broken: faulty.Point{Queue: "broken", At: 1}}), func(dev gpu.Device, q gpu.Queue) {
		q.Fill(matrix(t, dev), 3)
	})
}

// matrix returns a matrix of 4×4 on dev.
func matrix(t *testing.T, dev gpu.Device) gpu.Matrix {
	t.Helper()
	buf, err := dev.Alloc(64, "matrix")
	if err != nil {
		t.Fatal(err)
	}
	return gpu.Matrix{Buf: buf, Rows: 4, Cols: 4, LD: 4}
}

// values downloads a matrix of 4×4 over a queue of its own.
func values(t *testing.T, dev gpu.Device, m gpu.Matrix) []float32 {
	t.Helper()
	q, out := dev.NewQueue("values"), make([]float32, 16)
	q.Download(hostmem.Bytes(out), m.Buf, 0)
	if err := q.Sync(); err != nil {
		t.Fatal(err)
	}
	return out
}

// A stalled queue stands still before the operation; others go on, also those of its device, and Release lets it go on.
func TestStall(t *testing.T) {
	dev := cpu(t, faulty.Faults{Stall: faulty.Point{Queue: "in", Op: "Axpby", At: 2}})
	in, other := dev.NewQueue("in"), dev.NewQueue("other")
	m, one := matrix(t, dev), matrix(t, dev)
	other.Fill(one, 1)
	other.Fill(m, 0)
	other.Axpby(m, 1, one, 1) // of another queue: not counted
	in.Wait(other.Record())
	in.Axpby(m, 1, one, 1)
	before := in.Record()
	in.Axpby(m, 1, one, 1)
	after := in.Record()
	<-before.Done()
	if err := other.Sync(); err != nil {
		t.Fatal(err)
	}
	select {
	case <-after.Done():
		t.Fatal("the operation ended")
	case <-time.After(50 * time.Millisecond):
	}
	if got := values(t, dev, m)[0]; got != 2 {
		t.Errorf("m is %v while the third step is stalled, want 2", got)
	}
	dev.Release()
	if err := in.Sync(); err != nil {
		t.Fatal(err)
	}
	if got := values(t, dev, m)[0]; got != 3 {
		t.Errorf("m is %v after the release, want 3", got)
	}
}

// Closing a device does not wait for ever for a queue that is stalled.
func TestCloseReleases(t *testing.T) {
	dev := cpu(t, faulty.Faults{Stall: faulty.Point{At: 1}})
	q := dev.NewQueue("q")
	q.Fill(matrix(t, dev), 1)
	if err := dev.Close(); err != nil {
		t.Fatal(err)
	}
}

// After a loss nothing of the device works, and every queue that was to do something says so.
func TestLost(t *testing.T) {
	dev := cpu(t, faulty.Faults{Lost: faulty.Point{At: 3}})
	a, b, idle := dev.NewQueue("a"), dev.NewQueue("b"), dev.NewQueue("idle")
	m := matrix(t, dev)
	a.Fill(m, 1)
	a.Fill(m, 2)
	b.Wait(a.Record())
	b.Fill(m, 3)
	a.Wait(b.Record())
	a.Fill(m, 4)
	for name, q := range map[string]gpu.Queue{"a": a, "b": b} {
		var fault *gpu.Fault
		if err := q.Sync(); !errors.As(err, &fault) || !errors.Is(err, gpu.ErrDeviceLost) || *fault != (gpu.Fault{Device: "cpu:0", Queue: name, Op: "Fill", Err: gpu.ErrDeviceLost}) {
			t.Errorf("queue %s: %v", name, err)
		}
	}
	if err := idle.Sync(); err != nil {
		t.Errorf("a queue that had nothing to do: %v", err)
	}
	if _, err := dev.Alloc(64, "x"); !errors.Is(err, gpu.ErrDeviceLost) {
		t.Errorf("allocation on a lost device: %v", err)
	}
}

// Poison makes NaN of all that an operation writes, whatever the type, and of nothing else.
func TestPoison(t *testing.T) {
	dev := cpu(t, faulty.Faults{Poison: faulty.Point{Op: "Copy", At: 2}})
	q := dev.NewQueue("q")
	m, src := matrix(t, dev), matrix(t, dev)
	q.Fill(m, 1)
	q.Fill(src, 5)
	part := m.RowRange(1, 3).ColRange(1, 3)
	q.Copy(part, src.RowRange(0, 2).ColRange(0, 2))
	before := q.Usage()
	q.Copy(part, src.RowRange(0, 2).ColRange(0, 2))
	q.Axpby(m, 1, src, 1) // follows it
	if err := q.Sync(); err != nil {
		t.Fatal(err)
	}
	for i, v := range values(t, dev, m) {
		inside := i/4 >= 1 && i/4 < 3 && i%4 >= 1 && i%4 < 3
		if isNaN := math.IsNaN(float64(v)); isNaN != inside || !isNaN && v != 6 {
			t.Errorf("element %d is %v", i, v)
		}
	}
	if got := q.Usage().Sub(before).H2D; got != 0 {
		t.Errorf("the poison was counted: %d bytes", got)
	}
	half := cpu(t, faulty.Faults{Poison: faulty.Point{Op: "Copy", At: 1}})
	q, m, src = half.NewQueue("q"), matrix(t, half), matrix(t, half)
	q.Fill(src, 5)
	rounded := m
	rounded.Type = gpu.BF16
	q.Copy(rounded, src)
	q.Copy(m.RowRange(2, 4), src.RowRange(2, 4)) // the elements behind the 16 of two bytes
	q.Copy(src, rounded)
	if err := q.Sync(); err != nil {
		t.Fatal(err)
	}
	for i, v := range values(t, half, src) {
		if !math.IsNaN(float64(v)) {
			t.Errorf("bf16 element %d is %v", i, v)
		}
	}
	for i, v := range values(t, half, m)[8:] {
		if v != 5 {
			t.Errorf("element %d behind it is %v", i, v)
		}
	}
}

func TestNoMemory(t *testing.T) {
	dev := cpu(t, faulty.Faults{NoMemoryAt: 2})
	for n := 1; n <= 3; n++ {
		_, err := dev.Alloc(100, "block")
		var oom *gpu.OutOfMemory
		if want := n == 2; errors.As(err, &oom) != want || !want && err != nil {
			t.Errorf("allocation %d: %v", n, err)
		} else if want && *oom != (gpu.OutOfMemory{Device: "cpu:0", Name: "block", Need: 100}) {
			t.Errorf("allocation %d: %+v", n, *oom)
		}
	}
}

// island is a device whose queues copy from no other.
type island struct{ gpu.Device }

type islandQueue struct{ gpu.Queue }

func (d island) NewQueue(name string) gpu.Queue { return islandQueue{d.Device.NewQueue(name)} }

// Peer copies are there where the wrapped device has them, between wrapped devices and from plain ones.
func TestPeer(t *testing.T) {
	plain, err := host.Open(host.Spec{Memory: 1 << 20})
	if err != nil {
		t.Fatal(err)
	}
	defer plain.Close()
	a, b := cpu(t, faulty.Faults{}), cpu(t, faulty.Faults{})
	p, ok := a.NewQueue("q").(gpu.PeerCopier)
	if !ok || !p.CanCopyFrom(b) || !p.CanCopyFrom(plain) {
		t.Error("peer copies were lost")
	}
	if !p.CanCopyFrom(faulty.Wrap(b, faulty.Faults{})) {
		t.Error("peer copies from a device that is wrapped twice were lost")
	}
	if _, ok := faulty.Wrap(island{plain}, faulty.Faults{}).NewQueue("q").(gpu.PeerCopier); ok {
		t.Error("peer copies that the wrapped device does not have")
	}
}

// Delays are pauses of the queue or of the caller, as the seed says.
func TestDelays(t *testing.T) {
	took := func(d faulty.Delays) time.Duration {
		dev := cpu(t, faulty.Faults{Delays: d})
		q, m := dev.NewQueue("q"), matrix(t, dev)
		start := time.Now()
		for range 20 {
			q.Fill(m, 1)
		}
		if err := q.Sync(); err != nil {
			t.Fatal(err)
		}
		return time.Since(start)
	}
	// 20 draws from 0 to 4 ms add up to 40 ± 5.3 ms, and pauses last no less than they say. Caller's and queue's may
	// overlap: at least the longer of two sums has passed.
	if got := took(faulty.Delays{Seed: 7, Most: 4 * time.Millisecond}); got < 10*time.Millisecond {
		t.Errorf("20 pauses of 2 ms on the average took %v", got)
	}
	if got := took(faulty.Delays{Seed: 7, Queue: "another", Most: time.Hour}); got > time.Minute {
		t.Errorf("pauses of another queue took %v", got)
	}
}
