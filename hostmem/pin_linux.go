package hostmem

import (
	"math"
	"os"

	"golang.org/x/sys/unix"
)

// systemLocks reads RLIMIT_MEMLOCK and what is locked already. A process with CAP_IPC_LOCK has no limit; inside a user
// namespace the capability does not count, which only mlock itself tells.
func systemLocks() lockLimits {
	l := lockLimits{soft: -1, hard: -1}
	var r unix.Rlimit
	if unix.Getrlimit(unix.RLIMIT_MEMLOCK, &r) == nil {
		l.soft, l.hard = int64(min(r.Cur, math.MaxInt64)), int64(min(r.Max, math.MaxInt64))
	}
	if mayLockAll() {
		l.soft, l.hard = math.MaxInt64, math.MaxInt64
	}
	if status, err := os.ReadFile("/proc/self/status"); err == nil {
		l.locked, _ = field(status, "VmLck:")
	}
	return l
}

// mayLockAll reports whether the calling thread has CAP_IPC_LOCK.
func mayLockAll() bool {
	var caps [2]unix.CapUserData
	head := unix.CapUserHeader{Version: unix.LINUX_CAPABILITY_VERSION_3}
	err := unix.Capget(&head, &caps[0])
	return err == nil && caps[0].Effective&(1<<unix.CAP_IPC_LOCK) != 0
}
