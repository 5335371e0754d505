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
		for _, c := range []struct {
			resource  int
			used, say string
		}{{syscall.RLIMIT_AS, "VmSize:", addressSpace}, {syscall.RLIMIT_DATA, "VmData:", "ulimit -d"}} {
			var l syscall.Rlimit
			if syscall.Getrlimit(c.resource, &l) == nil && l.Cur < math.MaxInt64 {
				r.within(int64(l.Cur), ofStatus(c.used)+heapStep, c.say)
			}
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

// heapStep is what the Go runtime maps at once when its heap grows.
const heapStep = 64 << 20

// ofStatus returns an entry of /proc/self/status in bytes, 0 if it is not known.
func ofStatus(key string) int64 {
	status, err := os.ReadFile("/proc/self/status")
	if err != nil {
		return 0
	}
	n, _ := field(status, key)
	return n
}

// systemThreads returns how many threads this process has.
func systemThreads() int { return int(ofStatus("Threads:")) }

// systemAnonymous reads RssAnon.
func systemAnonymous() int64 { return ofStatus("RssAnon:") }

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
