//go:build unix

package hostmem

import (
	"syscall"
	"time"
)

// ProcessorTime returns the processor time that this process has used, in all of its threads; 0 where the system does not say.
func ProcessorTime() time.Duration {
	var u syscall.Rusage
	if syscall.Getrusage(syscall.RUSAGE_SELF, &u) != nil {
		return 0
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}
