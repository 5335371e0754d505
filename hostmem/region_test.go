package hostmem

import (
	"errors"
	"os"
	"strings"
	"testing"
	"unsafe"
)

// broken is a place without memory.
var broken = mapper{"memfd", func(int) ([]byte, func() error, error) { return nil, nil, errRefuse }}

func TestRegion(t *testing.T) {
	for _, c := range []struct {
		name, backing string
		o             LockOptions
	}{
		{"as it comes", "", LockOptions{}},
		{"without memfd", "temporary file", LockOptions{maps: []mapper{broken, fileMemory}}},
		{"on the heap", "Go heap", LockOptions{Heap: true}},
	} {
		t.Run(c.name, func(t *testing.T) {
			hook := &FailPin{}
			c.o.Pinner, c.o.Optional = hook, true
			r, err := NewRegion("global cache", 1000, c.o)
			if err != nil {
				t.Fatal(err)
			}
			if c.backing != "" && r.mem.kind != c.backing {
				t.Errorf("backing %q, want %q", r.mem.kind, c.backing)
			}
			useRegion(t, r)
			if err := r.Close(); err != nil || hook.Live() != 0 {
				t.Errorf("close: %v, %d registered", err, hook.Live())
			}
			if _, err := r.Block("late", 1); !errors.Is(err, os.ErrClosed) || !errors.Is(r.Close(), os.ErrClosed) {
				t.Errorf("block after close: %v", err)
			}
		})
	}
}

// useRegion cuts a region of 1000 bytes into blocks and writes to all of them.
func useRegion(t *testing.T, r *Region) {
	t.Helper()
	var rows [][]byte
	for i, size := range []int64{1, 64, 65, 0, 150} { // 128 + 128 + 256 + 0 + 384 bytes
		b, err := r.Block("x", size)
		if err != nil || b.Size() != int(size) {
			t.Fatalf("%d bytes: %v", size, err)
		}
		for g := range b.gens {
			mem, err := b.Begin(g)
			if err != nil || len(mem) != int(size) || cap(mem) != int(size) {
				t.Fatalf("%d bytes: %d, %v", size, len(mem), err)
			}
			if size > 0 && uintptr(unsafe.Pointer(unsafe.SliceData(mem)))%Alignment != 0 {
				t.Errorf("%d bytes at %p", size, mem)
			}
			for k := range mem {
				mem[k] = byte(2*i + g)
			}
			if err := b.Publish(); err != nil {
				t.Fatal(err)
			}
			rows = append(rows, mem)
		}
	}
	for i, mem := range rows {
		for k, x := range mem {
			if x != byte(i) {
				t.Fatalf("generation %d: byte %d is %d: generations overlap", i, k, x)
			}
		}
	}
	var oom *OutOfMemory
	if _, err := r.Block("y", 65); !errors.As(err, &oom) || *oom != (OutOfMemory{"global cache", "y", 256, 104, 1000}) {
		t.Errorf("got %v, want out of memory with 104 left", err)
	}
	if got, want := r.Usage(), (Usage{896, 896, 1000}); got != want {
		t.Errorf("usage %+v, want %+v", got, want)
	}
}

func TestRegionWithoutMemory(t *testing.T) {
	_, err := NewRegion("global cache", 1000, LockOptions{maps: []mapper{broken, broken}})
	if !errors.Is(err, errRefuse) || !strings.Contains(err.Error(), "memfd") {
		t.Errorf("got %v, want the system's answers", err)
	}
	// A lock that is refused gives the mapping back.
	released := false
	watched := mapper{"memfd", func(n int) ([]byte, func() error, error) {
		return aligned(n), func() error { released = true; return nil }, nil
	}}
	_, err = NewRegion("global cache", 1000, LockOptions{maps: []mapper{watched}, Pinner: &FailPin{Nth: 1, Err: errRefuse}})
	if !errors.Is(err, errRefuse) || !released {
		t.Errorf("got %v, memory released: %t", err, released)
	}
	r, err := NewRegion("global cache", 0, LockOptions{})
	if err != nil {
		t.Fatal(err)
	}
	var oom *OutOfMemory
	if _, err := r.Block("x", 1); !errors.As(err, &oom) || r.Close() != nil {
		t.Errorf("an empty region gave %v", err)
	}
}
