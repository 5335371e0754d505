//go:build cuda

package cuda

import (
	"errors"
	"regexp"
	"testing"

	"capgnn/gpu"
	"capgnn/gpu/gputest"
)

// TestFault: a kernel that the driver does not have is the queue's fault; the device works on.
func TestFault(t *testing.T) {
	configure(t, "mem=64")
	dev, err := driver.Open(there(t, driver, Spec{Memory: 64 << 20}))
	if err != nil {
		t.Fatal(err)
	}
	gputest.RunFault(t, dev, func(_ gpu.Device, q gpu.Queue) {
		q.(*queue).begin("Nonsense", gpu.PhaseOther)
		q.(*queue).launch("capgnn_nonsense", dim{1, 1}, 32, 0)
	})
}

// What a kernel does wrong names the kernel, the thread and the block of memory, and ends the device.
func TestKernelFault(t *testing.T) {
	onlyFake(t, "a GPU does not say which thread went wrong, and its context ends with it")
	for _, tc := range []struct {
		name string
		fill func(t *testing.T, d *device, q *queue)
		want string
	}{
		{"behind a block", func(t *testing.T, d *device, q *queue) {
			m := gpu.Matrix{Buf: alloc(t, d, 400, "x"), Rows: 1, Cols: 100, LD: 100}
			q.Fill(m, 1)
			m.Buf.(*buffer).size = 800 // as if the check had been forgotten
			m.Cols, m.LD = 101, 101
			q.Fill(m, 1)
		}, `kernel capgnn_\w+.*block.*thread.*0 bytes behind block \d+ of device 0, 400 bytes`},
		{"after it was freed", func(t *testing.T, d *device, q *queue) {
			b := alloc(t, d, 400, "x")
			b.Free()
			b.(*buffer).freed = false
			q.Fill(gpu.Matrix{Buf: b, Rows: 1, Cols: 100, LD: 100}, 1)
		}, `kernel capgnn_\w+.*block \d+ of device 0, 400 bytes, which was freed`},
		{"of a GPU without access", func(t *testing.T, d *device, q *queue) {
			other := open(t, Spec{Ordinal: 1})
			b := alloc(t, other, 400, "x").(*buffer)
			b.dev = d
			defer func() { b.dev = other }()
			q.Fill(gpu.Matrix{Buf: b, Rows: 1, Cols: 100, LD: 100}, 1)
		}, `kernel capgnn_\w+.*memory of device 1, to which device 0 has no access`},
	} {
		t.Run(tc.name, func(t *testing.T) {
			configure(t, "n=2;mem=16")
			d := open(t, Spec{})
			q := d.NewQueue("broken").(*queue)
			tc.fill(t, d, q)
			err := q.Sync()
			var fault *gpu.Fault
			// A kernel's error comes out of whatever call is next: its launch, or the event behind it.
			if !errors.As(err, &fault) || !errors.Is(err, gpu.ErrDeviceLost) || fault.Op == "" {
				t.Fatalf("sync: %v", err)
			}
			if !regexp.MustCompile(tc.want).MatchString(err.Error()) {
				t.Errorf("%v does not say %s", err, tc.want)
			}
			if _, err := d.Alloc(100, "more"); !errors.Is(err, gpu.ErrDeviceLost) {
				t.Errorf("allocate afterwards: %v", err)
			}
		})
	}
}
