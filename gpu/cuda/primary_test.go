//go:build cuda

package cuda

import (
	"encoding/binary"
	"errors"
	"math"
	"strings"
	"sync"
	"testing"

	"capgnn/gpu"
	"capgnn/gpu/cuda/fakedriver/fake"
)

// made returns the contexts that have been retained and the modules that have been loaded since.
func made() (since func() [2]int) {
	contexts, modules := fake.Count("contexts"), fake.Count("modules")
	return func() [2]int { return [2]int{fake.Count("contexts") - contexts, fake.Count("modules") - modules} }
}

// A GPU's context and its kernels are made once, by whatever names and however often it is opened, and nothing grows.
func TestContextIsKept(t *testing.T) {
	onlyFake(t, "counts of driver calls")
	configure(t, "n=2;mem=16")
	d := load(t, driver.options)
	since, free := made(), [2]int64{}
	for i := range 50 {
		var open sync.WaitGroup
		devices := make([]*device, 6)
		for k := range devices { // three names of each GPU, at once
			open.Go(func() {
				dev, err := d.Open(Spec{Ordinal: k % 2})
				if err != nil {
					t.Error(err)
					return
				}
				devices[k] = dev.(*device)
			})
		}
		open.Wait()
		if t.Failed() {
			return
		}
		for k, dev := range devices {
			if k < 2 {
				if left := driverFree(t, dev); i == 0 {
					free[k] = left
				} else if left != free[k] {
					t.Fatalf("open %d of GPU %d: %d bytes free, %d at first", i, k, left, free[k])
				}
			}
			fill(t, dev, float32(i))
		}
		for _, dev := range devices {
			if err := dev.Close(); err != nil {
				t.Fatal(err)
			}
		}
	}
	if n := since(); n != [2]int{2, 2 * len(images())} {
		t.Errorf("two GPUs: %d contexts and %d modules, want 2 and %d", n[0], n[1], 2*len(images()))
	}
	if err := d.Close(); err != nil {
		t.Fatal(err)
	}
	last, err := d.Open(Spec{})
	if err != nil {
		t.Fatal(err)
	}
	fill(t, last.(*device), 1)
	if err := errors.Join(d.Close(), last.Close(), d.Close()); err != nil { // the first leaves a GPU alone that is open
		t.Fatal(err)
	}
	if n := since(); n != [2]int{3, 3 * len(images())} {
		t.Errorf("opened again after Close: %d contexts and %d modules, want 3 and %d", n[0], n[1], 3*len(images()))
	}
}

// fill runs a kernel and looks at what it wrote.
func fill(t *testing.T, d *device, x float32) {
	t.Helper()
	b, q := alloc(t, d, 400, "x"), d.NewQueue("q")
	defer b.Free()
	out := make([]byte, 400)
	q.Fill(gpu.Matrix{Buf: b, Rows: 10, Cols: 10, LD: 10}, x)
	q.Download(out, b, 0)
	if err := q.Sync(); err != nil {
		t.Fatal(err)
	}
	for i := range 100 {
		if got := math.Float32frombits(binary.LittleEndian.Uint32(out[4*i:])); got != x {
			t.Fatalf("element %d is %g, want %g", i, got, x)
		}
	}
}

// breakContext lets a kernel of d write beyond its memory.
func breakContext(t *testing.T, d *device) {
	t.Helper()
	m := gpu.Matrix{Buf: alloc(t, d, 400, "x"), Rows: 1, Cols: 101, LD: 101}
	m.Buf.(*buffer).size = 800 // as if the check had been forgotten
	q := d.NewQueue("broken")
	q.Fill(m, 1)
	if err := q.Sync(); !errors.Is(err, gpu.ErrDeviceLost) {
		t.Fatalf("the kernel's error: %v", err)
	}
}

// A context that an error has ended is not handed to the next device: while another has it open that is an error which
// names the GPU; afterwards it is made anew, and where the driver does not do that the error says what to do.
func TestBrokenContext(t *testing.T) {
	onlyFake(t, "a GPU's context ends with the process")
	configure(t, "n=2;mem=16")
	first, share, other := open(t, Spec{}), open(t, Spec{Name: "share"}), open(t, Spec{Ordinal: 1})
	q := share.NewQueue("idle")
	if err := q.Sync(); err != nil {
		t.Fatal(err)
	}
	breakContext(t, first)
	if err := q.Sync(); !errors.Is(err, gpu.ErrDeviceLost) {
		t.Errorf("the same GPU under another name: %v", err)
	}
	if err := first.Close(); err != nil {
		t.Errorf("close: %v", err)
	}
	_, err := driver.Open(Spec{})
	if !errors.Is(err, gpu.ErrDeviceLost) || !strings.HasPrefix(err.Error(), "open cuda:0: an error has ended the GPU's context, and it is still open under another name: ") {
		t.Errorf("open while the GPU is open under another name: %v", err)
	}
	mem := make([]byte, 1<<16)
	if err := driver.Pinner().Register(mem); err != nil || driver.pinned.list[0].ctx != other.ctx {
		t.Errorf("memory was registered with the GPU that is lost: %v", err)
	}
	if err := share.Close(); err != nil {
		t.Errorf("close the last: %v", err)
	}
	if !driver.pinned.hold(mem) {
		t.Error("what another GPU has registered was undone")
	}
	fill(t, open(t, Spec{}), 3)
	fill(t, other, 4)
}

// What a GPU has registered before it is lost ends with it, and may be registered again.
func TestPinnedByBrokenContext(t *testing.T) {
	onlyFake(t, "a GPU's context ends with the process")
	configure(t, "n=2;mem=16")
	first, other := open(t, Spec{}), open(t, Spec{Ordinal: 1})
	mem, pin := make([]byte, 1<<16), driver.Pinner()
	if err := pin.Register(mem); err != nil || driver.pinned.list[0].ctx != first.ctx {
		t.Fatal(err)
	}
	breakContext(t, first)
	if err := first.Close(); err != nil || driver.pinned.hold(mem) {
		t.Errorf("memory of a lost GPU: held %v, %v", driver.pinned.hold(mem), err)
	}
	if err := errors.Join(pin.Register(mem), pin.Unregister(mem)); err != nil {
		t.Errorf("register it with %s: %v", other.info.Name, err)
	}
}

// A context that something else in the process holds, and has broken, is found when the GPU is opened.
func TestContextOfOthers(t *testing.T) {
	onlyFake(t, "a GPU's context ends with the process")
	stranger := load(t, driver.options)
	for _, c := range []struct{ config, want string }{
		{"mem=16", ""},
		{"mem=16;outlive=1", "open cuda:0: the driver gives this process no new context after an error on the GPU, start the program again: load kernels "},
	} {
		configure(t, c.config)
		if err := open(t, Spec{}).Close(); err != nil {
			t.Fatal(err)
		}
		dev, err := stranger.Open(Spec{})
		if err != nil {
			t.Fatal(err)
		}
		breakContext(t, dev.(*device))
		if err := dev.Close(); err != nil {
			t.Fatal(err)
		}
		dev, err = driver.Open(Spec{})
		if c.want == "" {
			if err != nil {
				t.Fatal(err)
			}
			fill(t, dev.(*device), 2)
			dev.Close()
		} else if !errors.Is(err, gpu.ErrDeviceLost) || !strings.HasPrefix(err.Error(), c.want) || strings.Contains(err.Error(), "\n") {
			t.Errorf("%s: %v", c.config, err)
		}
	}
	configure(t, "mem=16") // ends what has outlived its release
	fill(t, open(t, Spec{}), 5)
}

// Memory that is still registered when its device is closed can be registered with the next: the context is the same.
func TestRegisteredAgain(t *testing.T) {
	configure(t, "mem=16")
	mem, pin := make([]byte, 1<<16), driver.Pinner()
	for range 3 {
		d := open(t, Spec{})
		if err := pin.Register(mem); err != nil {
			t.Fatal(err)
		}
		if err := pin.Register(mem); !coded(err, 712) {
			t.Errorf("registered twice: %v", err)
		}
		if err := d.Close(); err != nil {
			t.Fatal(err)
		}
		if n := fake.Count("pinned"); n > 0 {
			t.Errorf("%d ranges are left behind", n)
		}
	}
}
