package sim_test

import (
	"bytes"
	"errors"
	"math"
	"slices"
	"strings"
	"testing"
	"time"

	"capgnn/gpu"
	"capgnn/gpu/gputest"
	"capgnn/gpu/sim"
)

// open returns a device that is closed with the test.
func open(t *testing.T, c sim.Config) *sim.Device {
	t.Helper()
	d, err := sim.Open(c)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { d.Close() })
	return d
}

func card(t *testing.T, name string) sim.Rates {
	t.Helper()
	c, err := sim.FindCard(name)
	if err != nil {
		t.Fatal(err)
	}
	return c.Rates()
}

func TestConformance(t *testing.T) {
	clock := sim.NewClock()
	gputest.Run(t, func(t *testing.T) gpu.Device {
		return open(t, sim.Config{Name: "sim:rtx3090", Clock: clock, Rates: card(t, "rtx3090"), Memory: 64 << 20,
			Arithmetic: true, Threads: 2, Peer: true})
	})
}

func TestFault(t *testing.T) {
	d := open(t, sim.Config{Name: "sim:a40", Clock: sim.NewClock(), Rates: card(t, "a40"), Memory: 1 << 20, Arithmetic: true, Threads: 1})
	gputest.RunFault(t, d, func(dev gpu.Device, q gpu.Queue) {
		buf, err := dev.Alloc(64, "rows")
		if err != nil {
			t.Fatal(err)
		}
		q.Upload(buf, 0, bytes.Repeat([]byte{0xff}, 64)) // no row has number -1
		m := gpu.Matrix{Buf: buf, Rows: 4, Cols: 1, LD: 1}
		q.Gather(m, m, gpu.Ints{Buf: buf, Off: 8, Len: 4})
	})
}

// A lost device is lost to all its queues, from one operation on, and says so as a device does.
func TestLost(t *testing.T) {
	for _, arithmetic := range []bool{false, true} {
		d := open(t, sim.Config{Name: "sim:a40", Clock: sim.NewClock(), Rates: card(t, "a40"), Memory: 1 << 20, Arithmetic: arithmetic,
			Threads: 1, Faults: sim.Faults{LostAfter: 2}})
		buf, err := d.Alloc(64, "rows")
		if err != nil {
			t.Fatal(err)
		}
		m := gpu.Matrix{Buf: buf, Rows: 4, Cols: 4, LD: 4}
		a, b := d.NewQueue("a"), d.NewQueue("b")
		a.Fill(m, 1)
		b.Wait(a.Record()) // is no operation
		b.Fill(m, 2)
		if err := errors.Join(a.Sync(), b.Sync()); err != nil {
			t.Fatal(err)
		}
		b.Download(make([]byte, 4), buf, 0)
		b.Fill(m, 3)
		a.Wait(b.Record()) // fires all the same
		a.Fill(m, 4)
		for q, want := range map[gpu.Queue]gpu.Fault{a: {Device: "sim:a40", Queue: "a", Op: "Fill"}, b: {Device: "sim:a40", Queue: "b", Op: "Download"}} {
			var got *gpu.Fault
			err := q.Sync()
			if want.Err = gpu.ErrDeviceLost; !errors.As(err, &got) || *got != want {
				t.Errorf("arithmetic %t: sync: %v, want %v", arithmetic, err, &want)
			}
		}
		if n := b.Usage().D2H; n != 0 {
			t.Errorf("%d bytes came from a lost device", n)
		}
	}
}

// Allocations fail where they are told to, and once.
func TestNoMemory(t *testing.T) {
	for name, f := range map[string]sim.Faults{"name": {NoMemoryFor: "weights"}, "number": {NoMemoryAt: 2}} {
		d := open(t, sim.Config{Name: "sim:a40", Clock: sim.NewClock(), Rates: card(t, "a40"), Memory: 1 << 20, Faults: f})
		if _, err := d.Alloc(64, "rows"); err != nil {
			t.Errorf("by %s: %v", name, err)
		}
		var oom *gpu.OutOfMemory
		if _, err := d.Alloc(64, "weights"); !errors.As(err, &oom) || *oom != (gpu.OutOfMemory{Device: "sim:a40", Name: "weights", Need: 64}) {
			t.Errorf("by %s: %v", name, err)
		}
		if _, err := d.Alloc(64, "gradients"); err != nil {
			t.Errorf("by %s: %v", name, err)
		}
	}
	d := open(t, sim.Config{Name: "sim:a40", Clock: sim.NewClock(), Rates: card(t, "a40"), Memory: 100})
	var oom *gpu.OutOfMemory
	if _, err := d.Alloc(101, "rows"); !errors.As(err, &oom) || oom.Have != 100 {
		t.Errorf("beyond the budget: %v", err)
	}
}

// The embedded cards give the rates that follow from the paper's Table 1.
func TestCards(t *testing.T) {
	var names []string
	for _, c := range sim.Cards() {
		names = append(names, c.Name)
		r := c.Rates()
		for what, pair := range map[string][2]float64{
			"MM":   {2 * math.Pow(11585, 3) / r.FlopsPerSec, c.MM},
			"SpMM": {536849 * 11585 / r.GatherPerSec, c.SpMM}, // round(0.004·11585²) entries
			"IDT":  {8 * 11585 * 11585 / r.BytesPerSec, c.IDT},
			"H2D":  {4 * 11585 * 11585 / r.H2D, c.H2D},
			"D2H":  {4 * 11585 * 11585 / r.D2H, c.D2H},
		} {
			if math.Abs(pair[0]/pair[1]-1) > 1e-9 {
				t.Errorf("%s: %s takes %g s, measured %g", c.Name, what, pair[0], pair[1])
			}
		}
		if c.Source == "" || c.Model == "" || c.Memory < 4<<30 {
			t.Errorf("%s: %+v says too little", c.Name, c)
		}
	}
	if want := []string{"a40", "gtx1650", "gtx1660ti", "rtx2060", "rtx3060", "rtx3090"}; !slices.Equal(names, want) {
		t.Errorf("cards %v, want %v", names, want)
	}
	if c, err := sim.FindCard("rtx3090"); err != nil || c.MM != 0.1383 || c.Memory != 24<<30 {
		t.Errorf("%+v, %v", c, err)
	}
	if _, err := sim.FindCard("rtx9090"); err == nil || !strings.Contains(err.Error(), "gtx1660ti") {
		t.Errorf("a card that there is not: %v", err)
	}
}

// What is fetched is copied when the queue has been waited for, counts once, as traffic between devices, and takes the queue the time of the links.
func TestFetch(t *testing.T) {
	for _, arithmetic := range []bool{false, true} {
		clock := sim.NewClock()
		rates := card(t, "a40")
		rates.H2D, rates.D2H, rates.Latency = 1e9, 2e9, 1e-6
		config := sim.Config{Name: "sim:0", Clock: clock, Rates: rates, Memory: 1 << 20, Linked: true, Arithmetic: arithmetic, Threads: 1}
		own := open(t, config)
		config.Name = "sim:1"
		other := open(t, config)
		q := own.NewResidentQueue("rows")
		rows := make([]byte, 2)
		q.Fetch([]gpu.Parcel{{From: other, Ask: 2000, Answer: 5000}, {From: own, Ask: 1, Answer: 1}}, func() { rows[0] = 1 })
		q.Fetch(nil, func() { rows[1] = 2 })
		if err := q.Sync(); err != nil || rows[0] != 1 || rows[1] != 2 {
			t.Errorf("arithmetic %t: %v, %d", arithmetic, err, rows)
		}
		u := q.Usage()
		if want := 9 * time.Microsecond; u.Time[gpu.PhaseTransfer] != want || clock.Now() != want { // there 2, back 5, and the latency twice
			t.Errorf("arithmetic %t: %v until %v, want %v", arithmetic, u.Time[gpu.PhaseTransfer], clock.Now(), want)
		}
		if want := (gpu.Usage{Time: u.Time, Peer: 7000}); u != want {
			t.Errorf("arithmetic %t: counts %+v, want %+v", arithmetic, u, want)
		}
	}
}
