package hostmem

import (
	"fmt"
	"os"
	"syscall"
)

// systemRoom falls back to sysinfo(2) where /proc is not mounted.
func systemRoom() (room, error) {
	r, err := linuxRoom(os.DirFS("/"))
	if err == nil {
		return r, nil
	}
	var s syscall.Sysinfo_t
	if serr := syscall.Sysinfo(&s); serr != nil {
		return room{}, err
	}
	unit := int64(s.Unit)
	return room{free: int64(s.Freeram+s.Bufferram) * unit, total: int64(s.Totalram) * unit}, nil
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
