//go:build cuda

package cuda

import (
	"bytes"
	"errors"
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"

	"capgnn/gpu"
	"capgnn/gpu/cuda/fakedriver/fake"
	"capgnn/hostmem"
)

// noise returns n bytes of a sequence.
func noise(n int, seed uint64) []byte {
	b := make([]byte, n)
	r := rand.NewPCG(seed, 1)
	for i := range b {
		b[i] = byte(r.Uint64())
	}
	return b
}

// Memory of every size travels through staging and back, at offsets, under any schedule.
func TestCopies(t *testing.T) {
	for _, config := range []string{"mem=64", "mem=64;seed=1", "mem=64;seed=2;stretch=1", "mem=64;jitter=300", "mem=64;nopin=1"} {
		t.Run(config, func(t *testing.T) {
			configure(t, config)
			d := open(t, Spec{})
			q := d.NewQueue("copies")
			for _, n := range []int{0, 1, 4097, stagingHalf, stagingHalf + 1, 3*stagingHalf + 5} {
				buf := alloc(t, d, n+9, "x")
				want, got := noise(n, uint64(n)), make([]byte, n)
				q.Upload(buf, 9, want)
				q.Download(got, buf, 9)
				if err := q.Sync(); err != nil {
					t.Fatal(err)
				}
				if !bytes.Equal(got, want) {
					t.Errorf("%d bytes came back changed", n)
				}
				buf.Free()
			}
		})
	}
}

// Registered memory is copied without staging; the queue then has none.
func TestPinnedCopies(t *testing.T) {
	configure(t, "mem=16;seed=3")
	d := open(t, Spec{})
	mem, err := hostmem.NewPinned("cuda:0", "test", 100_000, hostmem.LockOptions{Pinner: driver.Pinner()})
	if err != nil {
		t.Fatal(err)
	}
	q := d.NewQueue("copies").(*queue)
	buf := alloc(t, d, 40_000, "x")
	want := noise(40_000, 1)
	copy(mem.Bytes(), want)
	q.Upload(buf, 0, mem.Bytes()[:40_000])
	q.Download(mem.Bytes()[50_000:90_000], buf, 0)
	if err := q.Sync(); err != nil {
		t.Fatal(err)
	}
	if !bytes.Equal(mem.Bytes()[50_000:90_000], want) {
		t.Error("bytes came back changed")
	}
	if u := q.Usage(); u.H2D != 40_000 || u.D2H != 40_000 {
		t.Errorf("counted %d and %d bytes", u.H2D, u.D2H)
	}
	if q.staging != nil {
		t.Error("registered memory went through staging")
	}
	if err := mem.Close(); err != nil {
		t.Error(err)
	}
	if n := fake.Count("pinned"); n != 0 && !fake.Real() {
		t.Errorf("%d ranges stay registered", n)
	}
}

// Rows that lie apart arrive in their order, in long runs from page-locked memory and through staging.
func TestUploadRows(t *testing.T) {
	configure(t, "mem=64;seed=4")
	d := open(t, Spec{})
	const cols, n = 1000, 2500 // more than a half of the staging
	mem, err := hostmem.NewPinned("cuda:0", "test", 4*cols*n, hostmem.LockOptions{Pinner: driver.Pinner()})
	if err != nil {
		t.Fatal(err)
	}
	copy(mem.Bytes(), noise(4*cols*n, 1))
	heap := bytes.Clone(mem.Bytes())
	var apart, runs []int32
	for i := range int32(n) {
		apart, runs = append(apart, (i*7)%n), append(runs, (i+n/2)%n)
	}
	for _, tc := range []struct {
		name   string
		src    []byte
		rows   []int32
		staged bool
	}{{"pinned, apart", mem.Bytes(), apart, true}, {"pinned, runs", mem.Bytes(), runs, false}, {"heap, runs", heap, runs, true}} {
		q := d.NewQueue(tc.name).(*queue)
		dst := gpu.Matrix{Buf: alloc(t, d, 4*cols*n, "dst"), Rows: n, Cols: cols, LD: cols}
		q.UploadRows(dst, tc.src, tc.rows)
		if err := q.Sync(); err != nil {
			t.Fatal(err)
		}
		if staged := q.staging != nil; staged != tc.staged {
			t.Errorf("%s: through staging: %v, want %v", tc.name, staged, tc.staged)
		}
		got := make([]byte, 4*cols*n)
		q.Download(got, dst.Buf, 0)
		if err := q.Sync(); err != nil {
			t.Fatal(err)
		}
		for k, r := range tc.rows {
			if !bytes.Equal(got[4*cols*k:][:4*cols], heap[4*cols*int(r):][:4*cols]) {
				t.Fatalf("%s: row %d is not row %d", tc.name, k, r)
			}
		}
		if u := q.Usage(); u.H2D != 4*cols*n {
			t.Errorf("%s: %d bytes counted", tc.name, u.H2D)
		}
		dst.Buf.Free()
	}
	if err := mem.Close(); err != nil {
		t.Error(err)
	}
}

// What is not registered may be used again as soon as an event behind the copy has fired.
func TestDownloadFiresAfterHostHasIt(t *testing.T) {
	configure(t, "mem=64;jitter=500")
	d := open(t, Spec{})
	q := d.NewQueue("copies")
	n := 2*stagingHalf + 77
	buf := alloc(t, d, n, "x")
	for i := range 5 {
		want, got := noise(n, uint64(i)), make([]byte, n)
		q.Upload(buf, 0, want)
		uploaded := q.Record()
		q.Download(got, buf, 0)
		ev := q.Record()
		<-uploaded.Done()
		clear(want)
		<-ev.Done()
		if !bytes.Equal(got, noise(n, uint64(i))) {
			t.Fatalf("round %d: the event fired before the bytes were there", i)
		}
	}
}

// A GPU opened twice, and GPUs with and without access to each other.
func TestPeers(t *testing.T) {
	onlyFake(t, "three GPUs of which two reach each other")
	configure(t, "n=3;mem=32;p2p=010/100/000;seed=5")
	a, b, c := open(t, Spec{Ordinal: 0}), open(t, Spec{Ordinal: 1}), open(t, Spec{Ordinal: 2})
	twin := open(t, Spec{Name: "cuda:0b", Ordinal: 0})
	qa := a.NewQueue("a")
	src := alloc(t, a, 4000, "src")
	want := noise(4000, 3)
	qa.Upload(src, 0, want)
	ready := qa.Record()
	for _, tc := range []struct {
		dev *device
		can bool
	}{{b, true}, {c, false}, {twin, true}} {
		q := tc.dev.NewQueue("reader").(*queue)
		if got := q.CanCopyFrom(a); got != tc.can {
			t.Errorf("%s from %s: %v, want %v", tc.dev.info.Name, a.info.Name, got, tc.can)
		}
		dst := alloc(t, tc.dev, 4000, "dst")
		m := func(buf gpu.Buffer, ld int) gpu.Matrix {
			return gpu.Matrix{Buf: buf, Off: 3, Rows: 20, Cols: 7, LD: ld}
		}
		if !tc.can {
			if msg := panicText(func() { q.CopyFrom(m(dst, 9), m(src, 11)) }); !strings.Contains(msg, "cuda:2 has no access to the memory of cuda:0") {
				t.Errorf("copy without access: %q", msg)
			}
			continue
		}
		q.Wait(ready)
		q.CopyFrom(m(dst, 9), m(src, 11))
		q.CopyFrom(m(dst, 7).RowRange(0, 1), m(src, 11).RowRange(0, 1))
		got := make([]byte, 4000)
		q.Download(got, dst, 0)
		if err := q.Sync(); err != nil {
			t.Fatal(err)
		}
		for i := range 20 {
			if lo := 4 * (3 + 9*i); !bytes.Equal(got[lo:lo+28], want[4*(3+11*i):][:28]) {
				t.Errorf("%s: row %d differs", tc.dev.info.Name, i)
			}
		}
		if u := q.Usage(); u.Peer != 4*(20*7+7) {
			t.Errorf("%d bytes counted", u.Peer)
		}
	}
}

// panicText returns what f panics with, "" if it does not.
func panicText(f func()) (text string) {
	defer func() {
		if v := recover(); v != nil {
			text = v.(string)
		}
	}()
	f()
	return ""
}

// What the driver cannot give is *gpu.OutOfMemory, also where the budget promised it.
func TestOutOfMemory(t *testing.T) {
	onlyFake(t, "a GPU of 16 MiB")
	configure(t, "mem=16")
	d := open(t, Spec{Memory: 64 << 20})
	var oom *gpu.OutOfMemory
	if _, err := d.Alloc(32<<20, "much"); !errors.As(err, &oom) || oom.Need != 32<<20 || oom.Have != 16<<20 {
		t.Errorf("more than the GPU has: %v", err)
	}
	if used := d.Memory().Used; used != 0 {
		t.Errorf("%d bytes stay booked", used)
	}
	share := open(t, Spec{Share: 2})
	if b := share.Info().Budget; b > 8<<20 || b < 7<<20 {
		t.Errorf("a half of 16 MiB has a budget of %d", b)
	}
}

// A GPU that is gone is gpu.ErrDeviceLost at Sync; nobody hangs, and Close ends.
func TestLostDevice(t *testing.T) {
	configure(t, "n=2;mem=16;lost=0:6")
	a, b := open(t, Spec{Ordinal: 0}), open(t, Spec{Ordinal: 1})
	qa, qb := a.NewQueue("a"), b.NewQueue("b")
	x, y := alloc(t, a, 1000, "x"), alloc(t, b, 1000, "y")
	for range 20 {
		qa.Upload(x, 0, make([]byte, 1000))
		qb.Wait(qa.Record())
		qb.Upload(y, 0, make([]byte, 1000))
	}
	<-qa.Record().Done()
	err := qa.Sync()
	var fault *gpu.Fault
	if !errors.Is(err, gpu.ErrDeviceLost) || !errors.As(err, &fault) || fault.Device != "cuda:0" {
		t.Errorf("lost device: %v", err)
	}
	if err := qb.Sync(); err != nil {
		t.Errorf("the other device: %v", err)
	}
	if _, err := a.Alloc(10, "more"); !errors.Is(err, gpu.ErrDeviceLost) {
		t.Errorf("allocate on a lost device: %v", err)
	}
}

func TestNoSuchDevice(t *testing.T) {
	configure(t, "n=2")
	n, err := driver.Count()
	if err != nil {
		t.Fatal(err)
	}
	if _, err := driver.Open(Spec{Ordinal: n}); !errors.Is(err, gpu.ErrNoDevice) || !strings.Contains(err.Error(), fmt.Sprintf("cuda:%d", n)) {
		t.Errorf("GPU %d of %d: %v", n, n, err)
	}
}
