package host

import (
	"encoding/binary"
	"errors"
	"math"
	"runtime"
	"strings"
	"sync/atomic"
	"testing"
	"time"
	"weak"

	"capgnn/gpu"
	"capgnn/gpu/host/kernel"
	"capgnn/hostmem"
)

func TestOpen(t *testing.T) {
	dev := open(t, Spec{Name: "cpu:3"})
	info := dev.Info()
	if info.Name != "cpu:3" || info.Kind != gpu.CPU || info.Model == "" || info.Threads < 1 || info.Variant != kernel.ISA() {
		t.Errorf("info %+v", info)
	}
	if info.Budget <= 0 || info.Budget > info.Total {
		t.Errorf("budget %d of %d bytes", info.Budget, info.Total)
	}
	if again := open(t, Spec{Name: "cpu:3"}).Info(); again != info && again.UUID != info.UUID {
		t.Errorf("uuid %s, then %s", info.UUID, again.UUID)
	}
	if other := open(t, Spec{Name: "cpu:3", Slow: 2}).Info(); other.UUID == info.UUID {
		t.Errorf("a device half as fast has the same uuid %s", info.UUID)
	}
}

func TestSpecErrors(t *testing.T) {
	for name, c := range map[string]struct {
		spec Spec
		want string
	}{
		"threads": {Spec{Name: "cpu:7", Threads: -1}, "threads=-1"},
		"many":    {Spec{Threads: 1 << 30}, "threads="},
		"memory":  {Spec{Memory: -5}, "mem=-5"},
		"slow":    {Spec{Slow: 0.5}, "slow=0.5"},
		"nan":     {Spec{Slow: math.NaN()}, "slow=NaN"},
		"link":    {Spec{Link: -1}, "link=-1"},
		"latency": {Spec{Latency: -time.Second}, "latency=-1s"},
	} {
		dev, err := Open(c.spec)
		if err == nil {
			dev.Close()
			t.Errorf("%s: no error", name)
		} else if !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: error %q does not name %q", name, err, c.want)
		}
	}
}

func TestPoison(t *testing.T) {
	dev := open(t, Spec{Memory: 1 << 20, Poison: true})
	q := dev.NewQueue("q")
	for _, n := range []gpu.Bytes{64, hostmem.MapFrom} {
		buf, err := dev.Alloc(n, "block")
		if err != nil {
			t.Fatal(err)
		}
		raw := make([]byte, n)
		q.Download(raw, buf, 0)
		if err := q.Sync(); err != nil {
			t.Fatal(err)
		}
		for i := 0; i < len(raw); i += 4 {
			if v := math.Float32frombits(binary.LittleEndian.Uint32(raw[i:])); v == v {
				t.Fatalf("byte %d of a fresh block of %d holds %g, want NaN", i, n, v)
			}
		}
		buf.Free()
	}
}

// TestBudget: the whole budget can be had, and not a byte more.
func TestBudget(t *testing.T) {
	dev := open(t, Spec{Memory: 1 << 20})
	buf, err := dev.Alloc(1<<20, "all")
	if err != nil {
		t.Fatal(err)
	}
	var oom *gpu.OutOfMemory
	if _, err := dev.Alloc(1, "one more"); !errors.As(err, &oom) || oom.Have != 0 {
		t.Errorf("one byte more than the budget: got %v, want *gpu.OutOfMemory with nothing left", err)
	}
	buf.Free()
	if _, err := dev.Alloc(1<<20+1, "too much"); !errors.As(err, &oom) {
		t.Errorf("more than the budget: got %v, want *gpu.OutOfMemory", err)
	}
}

// TestSlow checks lower bounds only: a busy machine makes everything longer.
func TestSlow(t *testing.T) {
	dev := open(t, Spec{Slow: 3, Threads: 1, Memory: 1 << 20})
	start := time.Now()
	dev.slowDown(5 * time.Millisecond)
	if d := time.Since(start); d < 10*time.Millisecond {
		t.Errorf("an operation of 5 ms cost %v more, want 10 ms", d)
	}
	dev.debt = 0
	start = time.Now()
	for range 1000 {
		dev.slowDown(10 * time.Microsecond)
	}
	if d := time.Since(start); d < 20*time.Millisecond-2*sleepGrain {
		t.Errorf("1000 operations of 10 us cost %v more, want 20 ms", d)
	}
	dev.debt = 0 // oversleeping so far would be made up for
	q := dev.NewQueue("q").(*Queue)
	q.compute("nap", gpu.PhaseMM, func() { time.Sleep(5 * time.Millisecond) })
	if err := q.Sync(); err != nil {
		t.Fatal(err)
	}
	if d := q.Usage().Time[gpu.PhaseMM]; d < 15*time.Millisecond {
		t.Errorf("an operation of 5 ms took %v, want 15 ms", d)
	}
}

// TestSharedThreads: operations of two queues of a device never compute at the same time; copies may.
func TestSharedThreads(t *testing.T) {
	dev := open(t, Spec{Threads: 2, Memory: 1 << 20})
	var running, most atomic.Int32
	a, b := dev.NewQueue("a").(*Queue), dev.NewQueue("b").(*Queue)
	for range 200 {
		for _, q := range []*Queue{a, b} {
			q.compute("count", gpu.PhaseOther, func() {
				n := running.Add(1)
				if n > most.Load() {
					most.Store(n)
				}
				time.Sleep(10 * time.Microsecond)
				running.Add(-1)
			})
		}
	}
	if err := errors.Join(a.Sync(), b.Sync()); err != nil {
		t.Fatal(err)
	}
	if most.Load() != 1 {
		t.Errorf("%d operations computed at once", most.Load())
	}
}

// TestWorkerPanic: a panic on any thread of the pool becomes the fault of the queue; the pool works on.
func TestWorkerPanic(t *testing.T) {
	dev := open(t, Spec{Threads: 3, Memory: 1 << 20})
	q := dev.NewQueue("q").(*Queue)
	q.compute("burst", gpu.PhaseOther, func() {
		dev.pool.Each(100, func(_, i int) {
			if i == 57 {
				var none []int
				none[i]++
			}
		})
	})
	err := q.Sync()
	var fault *gpu.Fault
	if !errors.As(err, &fault) || fault.Op != "burst" {
		t.Fatalf("got %v, want a fault of burst", err)
	}
	if !strings.Contains(err.Error(), "index out of range") || !strings.Contains(err.Error(), "device_test.go:") {
		t.Errorf("the fault does not say what and where: %v", err)
	}
	var sum atomic.Int64
	dev.pool.Each(100, func(_, i int) { sum.Add(int64(i)) })
	if sum.Load() != 4950 {
		t.Errorf("after a panic the pool adds 0..99 to %d", sum.Load())
	}
}

// TestClose: Close waits for what is queued.
func TestClose(t *testing.T) {
	dev, err := Open(Spec{Memory: 1 << 20})
	if err != nil {
		t.Fatal(err)
	}
	var ran atomic.Bool
	dev.NewQueue("q").(*Queue).compute("nap", gpu.PhaseOther, func() {
		time.Sleep(5 * time.Millisecond)
		ran.Store(true)
	})
	buf, err := dev.Alloc(hostmem.MapFrom, "left over")
	if err != nil {
		t.Fatal(err)
	}
	if err := errors.Join(dev.Close(), dev.Close()); err != nil {
		t.Fatal(err)
	}
	if !ran.Load() {
		t.Error("Close did not wait")
	}
	if used := dev.Memory().Used; used != 0 {
		t.Errorf("%d bytes are in use after Close", used)
	}
	defer func() {
		if recover() == nil {
			t.Error("freeing a block of a closed device does not panic")
		}
	}()
	buf.Free()
}

// Who still holds a closed device, as lists of what is to be closed do, holds none of its queues, each of which has room for many operations.
func TestClosedDeviceHoldsNoQueues(t *testing.T) {
	dev, err := Open(Spec{Memory: 1 << 20})
	if err != nil {
		t.Fatal(err)
	}
	queue := weak.Make(dev.NewQueue("q").(*Queue))
	if err := dev.Close(); err != nil {
		t.Fatal(err)
	}
	for range 100 { // its goroutine may still be ending
		if runtime.GC(); queue.Value() == nil {
			return
		}
		time.Sleep(10 * time.Millisecond)
	}
	t.Error("a queue outlives its device")
	runtime.KeepAlive(dev)
}
