package hostmem

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"unsafe"
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
