package hostmem

import (
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"unsafe"

	"golang.org/x/sys/unix"
)

// mapping returns what /proc/self/smaps says of the mapping that holds address p.
func mapping(t *testing.T, p unsafe.Pointer) map[string]string {
	t.Helper()
	text, err := os.ReadFile("/proc/self/smaps")
	if err != nil {
		t.Skipf("no /proc: %v", err)
	}
	var fields map[string]string
	for line := range strings.Lines(string(text)) {
		var lo, hi uintptr
		if n, _ := fmt.Sscanf(line, "%x-%x ", &lo, &hi); n == 2 {
			if fields != nil {
				return fields
			}
			if at := uintptr(p); lo <= at && at < hi {
				fields = map[string]string{}
			}
			continue
		}
		if key, value, ok := strings.Cut(line, ":"); ok && fields != nil {
			fields[key] = strings.TrimSpace(value)
		}
	}
	return fields
}

// Rest takes pages out of the process, and they come back with the same content.
func TestRest(t *testing.T) {
	const n = 1 << 20
	path := filepath.Join(t.TempDir(), "a")
	want := make([]int32, n)
	for i := range want {
		want[i] = int32(i)
	}
	if err := os.WriteFile(path, Bytes(want), 0o600); err != nil {
		t.Fatal(err)
	}
	m, err := Map[int32](path, 0, n)
	if err != nil {
		t.Fatal(err)
	}
	defer m.Close()
	same := func() {
		t.Helper()
		for i, x := range m.Data {
			if x != want[i] {
				t.Fatalf("element %d is %d", i, x)
			}
		}
	}
	at := unsafe.Pointer(unsafe.SliceData(m.Data))
	same()
	if got := mapping(t, at)["Rss"]; got != "4096 kB" {
		t.Fatalf("%s of the file are in memory after reading it, want 4096 kB", got)
	}
	m.Rest()
	if got := mapping(t, at)["Rss"]; got != "0 kB" {
		t.Errorf("%s of the file are in memory after Rest", got)
	}
	same()
	if err := m.Close(); err != nil {
		t.Fatal(err)
	}
	m.Rest() // does nothing
}

// Only streamed blocks do without huge pages.
func TestStreamed(t *testing.T) {
	a := NewArena("cpu:0", 0)
	defer a.Close()
	for _, streamed := range []bool{false, true} {
		b, err := a.Alloc(3*hugeFrom, "x")
		if err != nil {
			t.Fatal(err)
		}
		if streamed {
			b.Streamed()
		}
		b.Bytes()[hugeFrom] = 7
		flags := strings.Fields(mapping(t, unsafe.Pointer(unsafe.SliceData(b.Bytes())))["VmFlags"])
		for _, f := range flags {
			if f == "hg" && streamed || f == "nh" && !streamed {
				t.Errorf("streamed %t: flags %v", streamed, flags)
			}
		}
	}
	small, err := a.Alloc(100, "y")
	if err != nil {
		t.Fatal(err)
	}
	small.Streamed() // lies in the Go heap: nothing to advise
}

// What is read by rows is not read ahead; what is read in order is again.
func TestByRows(t *testing.T) {
	path := filepath.Join(t.TempDir(), "a")
	if err := os.WriteFile(path, make([]byte, 1<<20), 0o600); err != nil {
		t.Fatal(err)
	}
	m, err := Map[float32](path, 0, 1<<18)
	if err != nil {
		t.Fatal(err)
	}
	defer m.Close()
	for i, on := range []bool{false, true, false} {
		if i > 0 {
			m.ByRows(on)
		}
		flags := strings.Fields(mapping(t, unsafe.Pointer(unsafe.SliceData(m.Data)))["VmFlags"])
		if got := slices.Contains(flags, "rr"); got != on || len(flags) == 0 {
			t.Errorf("by rows %t: flags %v", on, flags)
		}
	}
	if err := m.Close(); err != nil {
		t.Fatal(err)
	}
	m.ByRows(true) // does nothing
}

// Bytes that a disk reads for each byte of rows of 512 bytes that are needed, of a file that is in no cache, in both ways. TMPDIR has to lie on a disk.
func BenchmarkRows(b *testing.B) {
	const size, row, rows = 1 << 29, 128, 1000
	path := filepath.Join(b.TempDir(), "a")
	if err := os.WriteFile(path, make([]byte, size), 0o600); err != nil {
		b.Fatal(err)
	}
	f, err := os.Open(path)
	if err != nil {
		b.Fatal(err)
	}
	defer f.Close()
	if err := f.Sync(); err != nil {
		b.Fatal(err)
	}
	for _, on := range []bool{false, true} {
		b.Run(fmt.Sprintf("rows=%t", on), func(b *testing.B) {
			read := int64(0)
			for range b.N {
				m, err := Map[float32](path, 0, size/4)
				if err != nil {
					b.Fatal(err)
				}
				m.ByRows(on)
				if err := unix.Fadvise(int(f.Fd()), 0, 0, unix.FADV_DONTNEED); err != nil {
					b.Fatal(err)
				}
				before, sum, r := readBytes(b), float32(0), rand.New(rand.NewPCG(1, 2))
				for range rows {
					for _, x := range m.Data[r.IntN(size/4/row)*row:][:row] {
						sum += x
					}
				}
				if sum != 0 {
					b.Fatal(sum)
				}
				read += readBytes(b) - before
				if err := m.Close(); err != nil {
					b.Fatal(err)
				}
			}
			b.ReportMetric(float64(read)/float64(b.N)/(4*row*rows), "read/needed")
		})
	}
}

// readBytes is how much this process has had disks read.
func readBytes(b *testing.B) (n int64) {
	text, err := os.ReadFile("/proc/self/io")
	if err != nil {
		b.Skipf("no /proc: %v", err)
	}
	for line := range strings.Lines(string(text)) {
		if _, err := fmt.Sscanf(line, "read_bytes: %d", &n); err == nil {
			return n
		}
	}
	return 0
}
