package kernel

import (
	"os"
	"runtime/debug"
	"testing"
	"unsafe"

	"golang.org/x/sys/unix"
)

// guarded returns n elements whose last one is followed by a page that may not be touched.
func guarded[T any](t testing.TB, n int) []T {
	page := os.Getpagesize()
	size := int(unsafe.Sizeof(*new(T))) * n
	whole := (size + page - 1) / page * page
	m, err := unix.Mmap(-1, 0, whole+page, unix.PROT_READ|unix.PROT_WRITE, unix.MAP_ANON|unix.MAP_PRIVATE)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := unix.Munmap(m); err != nil {
			t.Error(err)
		}
	})
	if err := unix.Mprotect(m[whole:], unix.PROT_NONE); err != nil {
		t.Fatal(err)
	}
	if n == 0 {
		return nil
	}
	return unsafe.Slice((*T)(unsafe.Pointer(&m[whole-size])), n)
}

// TestGuard shows that the other tests would notice a read behind the end.
func TestGuard(t *testing.T) {
	v := guarded[float32](t, 5)
	defer debug.SetPanicOnFault(debug.SetPanicOnFault(true))
	defer func() {
		if recover() == nil {
			t.Error("reading behind a guarded slice went unnoticed")
		}
	}()
	t.Log(*(*float32)(unsafe.Add(unsafe.Pointer(&v[4]), 4)))
}
