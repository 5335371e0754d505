//go:build cuda

package cuda

import (
	"errors"
	"math"
	"strings"
	"testing"

	"gorgonia.org/cu"

	"capgnn/gpu"
	"capgnn/gpu/cuda/fakedriver/fake"
)

// driverFree is what the driver says is free of a device's memory.
func driverFree(t *testing.T, d *device) (free int64) {
	t.Helper()
	var err error
	d.do(func() { free, _, err = cu.MemInfo() })
	if err != nil {
		t.Fatal(err)
	}
	return free
}

// A block costs whole grains, a freed one gives them back, and what was the most stays known.
func TestAccounting(t *testing.T) {
	configure(t, "mem=16")
	d := open(t, Spec{Memory: 10 * grain})
	check := func(what string, used, most gpu.Bytes) {
		t.Helper()
		if m := d.Memory(); m.Used != used || m.HighWater != most || m.Budget != 10*grain {
			t.Errorf("%s: %+v, want %d used, %d at most", what, m, used, most)
		}
	}
	small, larger := alloc(t, d, 1, "small"), alloc(t, d, grain+1, "larger")
	check("one byte and a byte more than a grain", 3*grain, 3*grain)
	small.Free()
	check("one is freed", 2*grain, 3*grain)
	none := alloc(t, d, 0, "none")
	check("a block of no bytes", 2*grain, 3*grain)
	rest := alloc(t, d, 8*grain, "rest")
	check("all that was left", 10*grain, 10*grain)
	for _, n := range []gpu.Bytes{1, grain, math.MaxInt64 - grain, math.MaxInt64} {
		var oom *gpu.OutOfMemory
		if _, err := d.Alloc(n, "more"); !errors.As(err, &oom) || oom.Have != 0 || oom.Need != n || oom.Name != "more" || oom.Device != "cuda:0" {
			t.Errorf("%d bytes more: %v", n, err)
		}
	}
	check("what could not be had", 10*grain, 10*grain)
	for _, b := range []gpu.Buffer{larger, none, rest} {
		b.Free()
	}
	check("everything is freed", 0, 10*grain)
}

// Whoever frees a block twice or asks for less than nothing has lost count: it is a bug, named.
func TestMemoryBugs(t *testing.T) {
	configure(t, "mem=16")
	d := open(t, Spec{})
	b := alloc(t, d, 100, "weights")
	b.Free()
	for want, f := range map[string]func(){
		`cuda:0: block "weights" is freed twice`:        b.Free,
		`cuda:0: allocate "fewer": negative size -1`:    func() { d.Alloc(-1, "fewer") },
		`lies in block "weights", which was freed`:      func() { d.NewQueue("q").Upload(b, 0, make([]byte, 4)) },
		`has no buffer of a GPU`:                        func() { d.NewQueue("q").Upload(nil, 0, make([]byte, 4)) },
		`lies in block "other" of another device, twin`: func() { onTwin(t, d) },
	} {
		if msg := panicText(f); !strings.Contains(msg, want) {
			t.Errorf("panic %q, want %q", msg, want)
		}
	}
	if m := d.Memory(); m.Used != 0 {
		t.Errorf("%d bytes are booked", m.Used)
	}
}

// onTwin uses a block of one device on another that is the same GPU.
func onTwin(t *testing.T, d *device) {
	twin := open(t, Spec{Name: "twin"})
	d.NewQueue("q").Upload(alloc(t, twin, 100, "other"), 0, make([]byte, 4))
}

// Blocks go back to the driver when they are freed, the others and scratch when their device is closed, though the GPU stays
// open under another name.
func TestDriverGetsItsMemoryBack(t *testing.T) {
	onlyFake(t, "other processes take memory too")
	configure(t, "mem=16")
	twin, d := open(t, Spec{Name: "twin"}), open(t, Spec{})
	before := driverFree(t, twin)
	b := alloc(t, d, 1<<20, "freed")
	if free := driverFree(t, twin); free > before-1<<20 {
		t.Errorf("%d bytes free, %d before a block of 1 MiB", free, before)
	}
	b.Free()
	if free := driverFree(t, twin); free != before {
		t.Errorf("%d bytes free after a block was freed, %d before it", free, before)
	}
	alloc(t, d, 2<<20, "left over")
	q := d.NewQueue("q").(*queue)
	q.Upload(alloc(t, d, 100, "staged"), 0, make([]byte, 100))
	d.scratch(q, 1<<20)
	if err := d.Close(); err != nil {
		t.Fatal(err)
	}
	if free := driverFree(t, twin); free != before {
		t.Errorf("%d bytes free after the device was closed, %d before it was used", free, before)
	}
	if n := fake.Count("pinned"); n != 0 {
		t.Errorf("%d ranges of a closed device's staging are page-locked", n)
	}
}

// The budget leaves a part to the driver and to scratch, but not more than that needs.
func TestReserve(t *testing.T) {
	onlyFake(t, "GPUs of these sizes")
	for mebibytes, reserve := range map[string]gpu.Bytes{"64": 2 << 20, "65536": mostReserve} {
		configure(t, "mem="+mebibytes)
		t.Run(mebibytes, func(t *testing.T) {
			d := open(t, Spec{})
			if left := gpu.Bytes(driverFree(t, d)) - d.Info().Budget; left != reserve {
				t.Errorf("%d bytes are left to the driver, want %d", left, reserve)
			}
		})
	}
}

// Scratch is used again while it is large enough, grows to twice its size at least, and counts for the most that was taken, not for the budget.
func TestScratch(t *testing.T) {
	configure(t, "mem=16")
	d := open(t, Spec{Memory: grain})
	q := d.NewQueue("q").(*queue)
	first := d.scratch(q, 100)
	if first.Size() != 64<<10 || d.scratch(q, 64<<10) != first || d.scratch(q, 1) != first {
		t.Errorf("scratch of %d bytes, not used again", first.Size())
	}
	if b := d.scratch(q, 64<<10+1); b.Size() != 128<<10 {
		t.Errorf("a byte more: %d bytes, want twice as many", b.Size())
	}
	if b := d.scratch(q, 1<<20); b.Size() != 1<<20 {
		t.Errorf("much more: %d bytes, want 1 MiB", b.Size())
	}
	if other := d.NewQueue("other").(*queue); d.scratch(other, 100) == q.scratch {
		t.Error("queues share scratch, though their operations run at the same time")
	}
	const all = 64<<10 + 128<<10 + 1<<20 + 64<<10
	if m := d.Memory(); m.Used != 0 || m.HighWater != all {
		t.Errorf("scratch: %+v, want 0 of the budget used and %d at most", m, all)
	}
	alloc(t, d, grain, "a block").Free()
	if m := d.Memory(); m.Used != 0 || m.HighWater != all+grain {
		t.Errorf("a block beside scratch: %+v, want %d at most", m, all+grain)
	}
}

// Scratch that the driver does not have is the fault of the queue and its operation; what was meant to run does not.
func TestNoScratch(t *testing.T) {
	onlyFake(t, "a GPU of 1 MiB")
	configure(t, "mem=1")
	d := open(t, Spec{})
	q := d.NewQueue("q").(*queue)
	q.begin("ColSum", gpu.PhaseOther)
	if p := q.workspace(1<<20, 4); p != 0 {
		t.Errorf("scratch at %x that there is not", p)
	}
	var oom *gpu.OutOfMemory
	var fault *gpu.Fault
	if err := q.Sync(); !errors.As(err, &oom) || !errors.As(err, &fault) || fault.Op != "ColSum" || oom.Have != 1<<20 {
		t.Errorf("sync: %v", err)
	}
}
