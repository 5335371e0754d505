package host

import (
	"testing"

	"capgnn/gpu"
	"capgnn/gpu/gputest"
	"capgnn/gpu/host/internal/levels"
	"capgnn/gpu/host/kernel"
	"capgnn/internal/long"
)

func open(t *testing.T, spec Spec) *Device {
	t.Helper()
	dev, err := Open(spec)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { dev.Close() })
	return dev
}

func TestConformance(t *testing.T) {
	best := kernel.Active
	levels.Each(t, &kernel.Active, func(t *testing.T) {
		suite := gputest.Run
		if kernel.Active > 0 && kernel.Active < best && !long.Wanted() {
			suite = gputest.RunProducts // the other kernels of levels in between are compared in gpu/host/kernel
		}
		suite(t, func(t *testing.T) gpu.Device {
			return open(t, Spec{Name: "cpu:0", Threads: 2, Memory: 64 << 20, Poison: true})
		})
	})
}

func TestThreads(t *testing.T) {
	levels.Each(t, &kernel.Active, func(t *testing.T) {
		gputest.RunThreads(t, func(t *testing.T, threads int) gpu.Device {
			return open(t, Spec{Threads: threads, Memory: 64 << 20})
		})
	})
}

func TestFault(t *testing.T) {
	gputest.RunFault(t, open(t, Spec{Threads: 2, Memory: 1 << 20, Poison: true}), func(dev gpu.Device, q gpu.Queue) {
		buf, err := dev.Alloc(64, "rows")
		if err != nil {
			t.Fatal(err)
		}
		// Rows that were never copied in: poisoned memory holds -1.
		m := gpu.Matrix{Buf: buf, Rows: 4, Cols: 1, LD: 1}
		q.Gather(m, m, gpu.Ints{Buf: buf, Off: 8, Len: 4})
	})
}
