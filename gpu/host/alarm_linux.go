package host

import (
	"os"
	"time"

	"golang.org/x/sys/unix"
)

// alarm is a timer of the system. Its goroutine waits for it as for a file: without a core, and without keeping a processor
// from other goroutines. time.Sleep may come 1 ms late, as the Go scheduler waits for its own timers in whole milliseconds.
// The zero alarm is ready for use by one goroutine.
type alarm struct {
	file   *os.File // nil until the first wait, and where the system gives none
	failed bool
}

// sleep returns after d.
func (a *alarm) sleep(d time.Duration) {
	if a.file == nil && !a.failed {
		a.open()
	}
	if a.file == nil || !a.ring(d) {
		time.Sleep(d)
	}
}

func (a *alarm) open() {
	fd, err := unix.TimerfdCreate(unix.CLOCK_MONOTONIC, unix.TFD_CLOEXEC|unix.TFD_NONBLOCK)
	if a.failed = err != nil; !a.failed {
		a.file = os.NewFile(uintptr(fd), "timer")
	}
}

// ring sets the timer and waits for it; false: it did neither.
func (a *alarm) ring(d time.Duration) bool {
	conn, err := a.file.SyscallConn()
	if err != nil {
		return false
	}
	when := unix.ItimerSpec{Value: unix.NsecToTimespec(int64(max(d, 1)))}
	var count [8]byte
	failed := conn.Control(func(fd uintptr) { err = unix.TimerfdSettime(int(fd), 0, &when, nil) })
	if err != nil || failed != nil {
		return false
	}
	_, err = a.file.Read(count[:])
	return err == nil
}

func (a *alarm) close() {
	if a.file != nil {
		a.file.Close()
	}
}
