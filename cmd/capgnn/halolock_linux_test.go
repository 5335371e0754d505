package main

import (
	"bytes"
	"runtime"
	"strings"
	"testing"

	"golang.org/x/sys/unix"
)

// mayNotLock takes the right to lock more than the limit from what the calling thread starts, and keeps the test on it.
func mayNotLock(t *testing.T) {
	t.Helper()
	runtime.LockOSThread() // for good: the thread ends with the test
	var caps [2]unix.CapUserData
	head := unix.CapUserHeader{Version: unix.LINUX_CAPABILITY_VERSION_3}
	if err := unix.Capget(&head, &caps[0]); err != nil {
		t.Fatal(err)
	}
	if caps[0].Permitted&(1<<unix.CAP_IPC_LOCK) == 0 {
		return
	}
	if err := unix.Prctl(unix.PR_CAPBSET_DROP, unix.CAP_IPC_LOCK, 0, 0, 0); err != nil {
		t.Skipf("the right to lock memory cannot be given up here: %v", err)
	}
}

// Where little memory may be locked a run goes on without, says so in one line, and has the same bits.
func TestLittleMemoryMayBeLocked(t *testing.T) {
	mayNotLock(t)
	s := newSandbox(t)
	newStore().write(s, "ok.npz")
	args := cached("--staleness", "pipeline=on", "--peer", "off", "--cache", "gpu=40%,cpu=60%")
	want := s.train(args...).SHA256
	cmd := s.limitedTo("l", 4, append([]string{"train", "--json", "--run-dir", "small"}, args...)...)
	var out, errs bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &errs
	if err := cmd.Run(); err != nil {
		t.Fatalf("%v\n%s", err, errs.String())
	}
	if got := readResultLine(t, out.String()).SHA256; got != want {
		t.Errorf("weights %s, want %s", got, want)
	}
	if n := strings.Count(errs.String(), "global cache is not page-locked"); n != 1 || !strings.Contains(errs.String(), "ulimit -l") {
		t.Errorf("it is said %d times that memory is not locked: %s", n, errs.String())
	}
}
