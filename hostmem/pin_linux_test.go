package hostmem

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"runtime"
	"strings"
	"testing"
	"unsafe"

	"golang.org/x/sys/unix"
)

// childEnv tells a test that it is its own child, and which.
const childEnv = "CAPGNN_HOSTMEM_CHILD"

// lockedKB returns what the kernel says is locked of the mapping that holds mem.
func lockedKB(t *testing.T, mem []byte) string {
	t.Helper()
	return mapping(t, unsafe.Pointer(unsafe.SliceData(mem)))["Locked"]
}

// mayNotLock takes CAP_IPC_LOCK from the calling thread, and keeps the test on it.
func mayNotLock(t *testing.T) {
	t.Helper()
	runtime.LockOSThread()
	var caps [2]unix.CapUserData
	head := unix.CapUserHeader{Version: unix.LINUX_CAPABILITY_VERSION_3}
	if err := unix.Capget(&head, &caps[0]); err != nil {
		t.Fatal(err)
	}
	caps[0].Effective &^= 1 << unix.CAP_IPC_LOCK
	if err := unix.Capset(&head, &caps[0]); err != nil {
		t.Fatal(err)
	}
}

// under runs this test binary's test as a child after the shell commands; what it prints comes back.
func under(t *testing.T, commands, test, role string) string {
	t.Helper()
	cmd := exec.Command("sh", "-c", commands+` && exec "$0" "$@"`, os.Args[0], "-test.run=^"+test+"$", "-test.v")
	cmd.Env = append(os.Environ(), childEnv+"="+role)
	out, err := cmd.CombinedOutput()
	if err != nil {
		t.Fatalf("%s as %q: %v\n%s", commands, role, err, out)
	}
	if !strings.Contains(string(out), "--- PASS: "+test) {
		t.Fatalf("%s as %q: no test ran\n%s", commands, role, out)
	}
	return string(out)
}

// The kernel's own limit: what fits is locked, what does not is explained, what the explanation says helps.
func TestUlimit(t *testing.T) {
	switch os.Getenv(childEnv) {
	case "small":
		mayNotLock(t)
		underSmallLimit(t)
		return
	case "raised":
		mayNotLock(t)
		for range 2 {
			if _, err := NewPinned("cpu:0", "x", 48<<10, LockOptions{}); err != nil {
				t.Fatal(err)
			}
		}
		return
	}
	var r unix.Rlimit
	if err := unix.Getrlimit(unix.RLIMIT_MEMLOCK, &r); err != nil || r.Max < 96<<10 {
		t.Skipf("at most %d bytes may be locked here, the test needs 98304 (%v)", r.Max, err)
	}
	out := under(t, "ulimit -S -l 64", "TestUlimit", "small")
	_, line, ok := strings.Cut(out, "RAISE ")
	line, _, _ = strings.Cut(line, "\n")
	if !ok || line != "ulimit -l 96" {
		t.Fatalf("the child advises %q, want ulimit -l 96", line)
	}
	under(t, "ulimit -S -l 64 && "+line, "TestUlimit", "raised")
	out = under(t, "ulimit -l 64", "TestUlimit", "small")
	if !strings.Contains(out, "RAISE sudo prlimit --pid $$ --memlock=98304:98304\n") {
		t.Errorf("under a hard limit: %s", out)
	}
}

// underSmallLimit runs where 64 KiB may be locked.
func underSmallLimit(t *testing.T) {
	first, err := NewPinned("cpu:0", "x", 48<<10, LockOptions{})
	if err != nil {
		t.Fatal(err)
	}
	if got := lockedKB(t, first.Bytes()); got != "48 kB" {
		t.Errorf("%s are locked, want 48 kB", got)
	}
	_, err = NewPinned("cpu:0", "y", 48<<10, LockOptions{})
	var limit *Limit
	if !errors.As(err, &limit) || !limit.Locking || limit.Left != 16<<10 || limit.Allowed != 64<<10 || limit.Err != nil {
		t.Fatalf("got %v, want a limit of 65536 bytes with 16384 left", err)
	}
	fmt.Printf("RAISE %s\n", limit.Raise)

	blind := MLock{limits: func() lockLimits { return lockLimits{soft: -1} }}
	_, err = NewPinned("cpu:0", "y", 48<<10, LockOptions{Pinner: blind})
	if !errors.As(err, &limit) || !errors.Is(err, unix.ENOMEM) || limit.Raise != "ulimit -l 48" {
		t.Errorf("the kernel's answer: %v", err)
	}
	region, err := NewRegion("global cache", 48<<10, LockOptions{Optional: true})
	if err != nil {
		t.Fatal(err)
	}
	if !errors.As(region.Unlocked(), &limit) || lockedKB(t, region.mem.Bytes()) != "0 kB" {
		t.Errorf("optional: unlocked %v, %s locked", region.Unlocked(), lockedKB(t, region.mem.Bytes()))
	}
	if err := errors.Join(region.Close(), first.Close()); err != nil {
		t.Fatal(err)
	}
	again, err := NewPinned("cpu:0", "z", 64<<10, LockOptions{})
	if err != nil || lockedKB(t, again.Bytes()) != "64 kB" {
		t.Fatalf("what was closed is still locked: %v", err)
	}
	if err := again.Close(); err != nil {
		t.Error(err)
	}
}

// Nothing stays: neither the mapping, nor the file, nor the lock.
func TestRegionLeavesNothing(t *testing.T) {
	for _, m := range []mapper{sharedMemory, fileMemory} {
		before := left(t)
		r, err := NewRegion("global cache", 32<<10, LockOptions{maps: []mapper{m}, Optional: true})
		if err != nil {
			t.Fatal(err)
		}
		if got := left(t); got.maps != before.maps+1 || got.files != before.files {
			t.Errorf("%s: %+v open, want %+v and one mapping", m.kind, got, before)
		}
		if err := r.Close(); err != nil {
			t.Fatal(err)
		}
		if got := left(t); got != before {
			t.Errorf("%s: %+v after close, want %+v", m.kind, got, before)
		}
	}
}

type leftovers struct{ maps, files int }

// left counts mappings and open files of regions in this process.
func left(t *testing.T) (l leftovers) {
	t.Helper()
	maps, err := os.ReadFile("/proc/self/maps")
	if err != nil {
		t.Skipf("no /proc: %v", err)
	}
	l.maps = strings.Count(string(maps), "capgnn-shared")
	fds, err := os.ReadDir("/proc/self/fd")
	if err != nil {
		t.Fatal(err)
	}
	for _, fd := range fds {
		if to, _ := os.Readlink("/proc/self/fd/" + fd.Name()); strings.Contains(to, "capgnn-shared") {
			l.files++
		}
	}
	return l
}

// What the kernel counts as locked follows Register and Unregister, while the memory stays mapped.
func TestMLock(t *testing.T) {
	p, err := NewPinned("cpu:0", "x", 32<<10, LockOptions{Optional: true, Pinner: &FailPin{Nth: 1, Err: errRefuse}})
	if err != nil {
		t.Fatal(err)
	}
	defer p.Close()
	at := func(want string) {
		t.Helper()
		if got := lockedKB(t, p.Bytes()); got != want {
			t.Errorf("%s are locked, want %s", got, want)
		}
	}
	at("0 kB")
	err = MLock{}.Register(p.pages)
	var limit *Limit
	if errors.As(err, &limit) {
		t.Skipf("nothing may be locked here: %v", err)
	}
	at("32 kB")
	if err := errors.Join(err, MLock{}.Unregister(p.pages)); err != nil {
		t.Error(err)
	}
	at("0 kB")
	if err := errors.Join(MLock{}.Register(nil), MLock{}.Unregister(nil)); err != nil {
		t.Error(err)
	}
}
