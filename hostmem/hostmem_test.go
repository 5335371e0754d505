package hostmem

import (
	"bytes"
	"errors"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/fstest"
	"unsafe"
)

func TestViews(t *testing.T) {
	f := []float32{1, -2}
	b := Bytes(f)
	if len(b) != 8 || cap(b) != 8 {
		t.Fatalf("%d bytes, capacity %d, want 8", len(b), cap(b))
	}
	if got := Of[float32](b); !slices.Equal(got, f) || &got[0] != &f[0] {
		t.Errorf("got %v at %p, want the same memory as %p", got, got, f)
	}
	if LittleEndian() && b[3] != 0x3f {
		t.Errorf("bytes %x, want 1.0 as 0000803f", b)
	}
	if Bytes([]int64(nil)) != nil || Of[int64](nil) != nil {
		t.Error("a view of nothing is not nil")
	}
	for name, bad := range map[string][]byte{"length": b[:3], "alignment": b[1:5]} {
		func() {
			defer func() {
				if recover() == nil {
					t.Errorf("%s: no panic", name)
				}
			}()
			Of[float32](bad)
		}()
	}
}

func TestMap(t *testing.T) {
	want := []int32{7, -1, math.MaxInt32}
	path := filepath.Join(t.TempDir(), "a")
	if err := os.WriteFile(path, append(make([]byte, 8), Bytes(want)...), 0o600); err != nil {
		t.Fatal(err)
	}
	m, err := Map[int32](path, 8, 3)
	if err != nil || !slices.Equal(m.Data, want) || cap(m.Data) != 3 {
		t.Fatalf("got %v, %v, want %v", m, err, want)
	}
	if err := errors.Join(m.Close(), m.Close()); err != nil || m.Data != nil {
		t.Errorf("close: %v", err)
	}
	if m, err := Map[int64](path, 0, 0); err != nil || len(m.Data) != 0 || m.Close() != nil {
		t.Errorf("empty: %v", err)
	}
	for _, c := range []struct {
		name, path, want string
		offset           int64
		n                int
	}{
		{"too long", path, "exceed", 8, 4},
		{"overflow", path, "exceed", 8, math.MaxInt},
		{"beyond the end", path, "exceed", 24, 0},
		{"unaligned", path, "multiple", 2, 1},
		{"negative", path, "negative", -4, 1},
		{"absent", path + "x", "no such file", 0, 1},
		{"folder", filepath.Dir(path), "not a file", 0, 1},
	} {
		if _, err := Map[int32](c.path, c.offset, c.n); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: got %v, want %q", c.name, err, c.want)
		}
	}
}

func TestArena(t *testing.T) {
	a := NewArena("cpu:0", 1000)
	var blocks []*Block
	for _, size := range []int64{1, 63, 0, 400} {
		b, err := a.Alloc(size, "weights")
		if err != nil || int64(len(b.Bytes())) != size || uintptr(unsafe.Pointer(unsafe.SliceData(b.Bytes())))%Alignment != 0 {
			t.Fatalf("%d bytes: %v at %p, %v", size, len(b.Bytes()), b.Bytes(), err)
		}
		blocks = append(blocks, b)
	}
	// 64 + 64 + 0 + 448 bytes: blocks take whole multiples of Alignment.
	_, err := a.Alloc(425, "halo")
	var oom *OutOfMemory
	if !errors.As(err, &oom) || *oom != (OutOfMemory{"cpu:0", "halo", 425, 424, 1000}) {
		t.Errorf("got %v, want out of memory with 424 left", err)
	}
	blocks[3].Free()
	if got, want := a.Usage(), (Usage{128, 576, 1000}); got != want {
		t.Errorf("usage %+v, want %+v", got, want)
	}
	if live := a.Live(); len(live) != 3 || live[0] != (LiveBlock{"weights", 63}) {
		t.Errorf("live %v, want 3 with 63 bytes first", live)
	}
	a.Close()
	if got, want := a.Usage(), (Usage{0, 576, 1000}); got != want || blocks[0].Bytes() != nil {
		t.Errorf("after close: usage %+v, want %+v", got, want)
	}
	defer func() {
		if recover() == nil {
			t.Error("freeing twice did not panic")
		}
	}()
	blocks[3].Free()
}

func TestArenaWithoutLimit(t *testing.T) {
	var oom *OutOfMemory
	if _, err := NewArena("cpu:0", 0).Alloc(math.MaxInt64, "all"); !errors.As(err, &oom) {
		t.Errorf("got %v, want out of memory", err)
	}
}

func TestPoison(t *testing.T) {
	a := NewArena("cpu:0", 0)
	a.Poison = true
	for _, size := range []int64{0, 1, 8, Alignment - 1, Alignment, Alignment + 1, 4<<10 + 3, 3*MapFrom + 5} {
		b, err := a.Alloc(size, "halo")
		if err != nil {
			t.Fatal(err)
		}
		if n := bytes.Count(b.Bytes(), []byte{0xff}); int64(n) != size {
			t.Errorf("%d of %d fresh bytes are 0xFF, which is NaN in floating point", n, size)
		}
	}
}

func TestArenaIsSafeForGoroutines(t *testing.T) {
	a := NewArena("cpu:0", 0)
	var wg sync.WaitGroup
	for range 4 {
		wg.Go(func() {
			for range 100 {
				b, err := a.Alloc(128, "x")
				if err != nil {
					t.Error(err)
					return
				}
				a.Live()
				b.Free()
			}
		})
	}
	wg.Wait()
	if u := a.Usage(); u.Used != 0 || u.HighWater < 128 || u.HighWater > 4*128 {
		t.Errorf("usage %+v, want nothing and a high water of 1 to 4 blocks", u)
	}
}

func TestLinuxRoom(t *testing.T) {
	const meminfo = "MemTotal:       1000 kB\nMemFree:         100 kB\nMemAvailable:    600 kB\nCached: 50 kB\n"
	file := func(s string) *fstest.MapFile { return &fstest.MapFile{Data: []byte(s)} }
	cases := []struct {
		name        string
		fs          fstest.MapFS
		free, total int64 // kB; free -1: an error
		group       string
	}{
		{"plain", fstest.MapFS{"proc/meminfo": file(meminfo)}, 600, 1000, ""},
		{"old kernel", fstest.MapFS{"proc/meminfo": file("MemTotal: 1000 kB\nMemFree: 100 kB\nCached: 50 kB\n")}, 150, 1000, ""},
		{"v2, limit in the parent", fstest.MapFS{
			"proc/meminfo": file(meminfo), "proc/self/cgroup": file("0::/a/b\n"),
			"sys/fs/cgroup/a/b/memory.max": file("max\n"), "sys/fs/cgroup/a/b/memory.current": file("1024\n"),
			"sys/fs/cgroup/a/memory.max": file("409600\n"), "sys/fs/cgroup/a/memory.current": file("204800\n"),
			"sys/fs/cgroup/a/memory.stat": file("anon 5\ninactive_file 61440\nactive_file 40960\n"),
		}, 300, 400, "/sys/fs/cgroup/a/memory.max"},
		{"v2, more than the machine has left", fstest.MapFS{
			"proc/meminfo": file(meminfo), "proc/self/cgroup": file("0::/\n"),
			"sys/fs/cgroup/memory.max": file("921600\n"), "sys/fs/cgroup/memory.current": file("307200\n"),
			"sys/fs/cgroup/memory.stat": file("inactive_file 102400\n"),
		}, 600, 900, ""},
		{"v2, more than the machine has left without its cache", fstest.MapFS{
			"proc/meminfo": file(meminfo), "proc/self/cgroup": file("0::/\n"),
			"sys/fs/cgroup/memory.max": file("921600\n"), "sys/fs/cgroup/memory.current": file("409600\n"),
			"sys/fs/cgroup/memory.stat": file("inactive_file 102400\n"),
		}, 600, 900, ""},
		{"v2, container", fstest.MapFS{
			"proc/meminfo": file(meminfo), "proc/self/cgroup": file("0::/\n"),
			"sys/fs/cgroup/memory.max": file("409600\n"), "sys/fs/cgroup/memory.current": file("409600\n"),
		}, 0, 400, "/sys/fs/cgroup/memory.max"},
		{"v1, the host's path", fstest.MapFS{
			"proc/meminfo": file(meminfo), "proc/self/cgroup": file("5:cpu,memory:/docker/x\n0::/\n"),
			"sys/fs/cgroup/memory/memory.limit_in_bytes": file("512000\n"), "sys/fs/cgroup/memory/memory.usage_in_bytes": file("102400\n"),
		}, 400, 500, "/sys/fs/cgroup/memory/memory.limit_in_bytes"},
		{"v1, no limit", fstest.MapFS{
			"proc/meminfo": file(meminfo), "proc/self/cgroup": file("5:memory:/\n"),
			"sys/fs/cgroup/memory/memory.limit_in_bytes": file("9223372036854771712\n"), "sys/fs/cgroup/memory/memory.usage_in_bytes": file("102400\n"),
		}, 600, 1000, ""},
		{"no meminfo", fstest.MapFS{}, -1, 0, ""},
		{"nonsense", fstest.MapFS{"proc/meminfo": file("MemTotal: -5 kB\nMemAvailable: x kB\n")}, -1, 0, ""},
	}
	for _, c := range cases {
		r, err := linuxRoom(c.fs)
		if c.free < 0 {
			if err == nil {
				t.Errorf("%s: no error", c.name)
			}
			continue
		}
		if err != nil || r.free != c.free<<10 || r.total != c.total<<10 || r.group != c.group {
			t.Errorf("%s: got %d of %d kB by %q, %v, want %d of %d by %q", c.name, r.free>>10, r.total>>10, r.group, err, c.free, c.total, c.group)
		}
	}
}

func TestThisMachine(t *testing.T) {
	free, total, err := Free()
	if err != nil && !errors.Is(err, errors.ErrUnsupported) {
		t.Error(err)
	}
	if err == nil && (free < 0 || total < 1<<20 || free > total) {
		t.Errorf("%d of %d bytes free", free, total)
	}
	before, err := PeakRSS()
	if err != nil || before < 1<<20 {
		t.Fatalf("peak of %d bytes, %v", before, err)
	}
	block := make([]byte, 64<<20)
	for i := 0; i < len(block); i += 4096 {
		block[i] = 1
	}
	after, err := PeakRSS()
	if err != nil || after < before || after < 64<<20 {
		t.Errorf("peak of %d bytes after touching 64 MiB, %d before, %v", after, before, err)
	}
}

// Memory of the process counts once it was written, that of a file does not.
func TestAnonymous(t *testing.T) {
	before := Anonymous()
	if before == 0 {
		t.Skip("the system does not say what is of no file")
	}
	const size = 32 << 20
	for dir, want := range map[string]int64{"": size, t.TempDir(): 0} {
		s, err := NewScratch("test", "rows", dir, size)
		if err != nil {
			t.Fatal(err)
		}
		for i := 0; i < size; i += 1 << 12 {
			s.Bytes()[i] = 1
		}
		if grown := Anonymous() - before; grown < want-4<<20 || grown > want+16<<20 {
			t.Errorf("in %q: %d bytes more, want about %d", dir, grown, want)
		}
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	}
}
