package hostmem

import (
	"fmt"
	"math"
	"os"
	"syscall"
)

// systemRoom falls back to sysinfo(2) where /proc is not mounted.
func systemRoom() (room, error) {
	r, err := linuxRoom(os.DirFS("/"))
	if err == nil {
		var space syscall.Rlimit
		if syscall.Getrlimit(syscall.RLIMIT_AS, &space) == nil && space.Cur < math.MaxInt64 {
			r.within(int64(space.Cur), addressSpaceInUse())
		}
		return r, nil
	}
	var s syscall.Sysinfo_t
	if serr := syscall.Sysinfo(&s); serr != nil {
		return room{}, err
	}
	unit := int64(s.Unit)
	return room{free: int64(s.Freeram+s.Bufferram) * unit, total: int64(s.Totalram) * unit}, nil
}

// addressSpaceInUse returns VmSize in bytes, 0 if it is not known.
func addressSpaceInUse() int64 {
	status, err := os.ReadFile("/proc/self/status")
	if err != nil {
		return 0
	}
	used, _ := field(status, "VmSize:")
	return used
}

// systemAnonymous reads RssAnon.
func systemAnonymous() int64 {
	status, err := os.ReadFile("/proc/self/status")
	if err != nil {
		return 0
	}
	n, _ := field(status, "RssAnon:")
	return n
}

// systemPeak reads VmHWM, or asks getrusage(2) where /proc is not mounted.
func systemPeak() (int64, error) {
	if status, err := os.ReadFile("/proc/self/status"); err == nil {
		if peak, ok := field(status, "VmHWM:"); ok {
			return peak, nil
		}
	}
	var u syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &u); err != nil {
		return 0, fmt.Errorf("read peak memory: %w", err)
	}
	return int64(u.Maxrss) << 10, nil
}
