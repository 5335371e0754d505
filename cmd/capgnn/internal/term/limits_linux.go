package term

import (
	"fmt"
	"os"
	"syscall"
)

// writeSignals are sent to a process that writes what cannot be written.
var writeSignals = []os.Signal{syscall.SIGPIPE, syscall.SIGXFSZ}

// CheckLimits refuses to begin under limits of the system that no command fits into.
func CheckLimits() error {
	for _, l := range []struct {
		resource  int
		least     uint64
		unit      uint64 // of ulimit, in which the line says what it needs
		say, flag string
	}{
		{syscall.RLIMIT_AS, leastAddressSpace, 1 << 10, "may use %d KiB of address space", "-v"},
		{syscall.RLIMIT_DATA, leastData, 1 << 10, "may use %d KiB of data", "-d"},
		{syscall.RLIMIT_NOFILE, LeastOpenFiles, 1, "may open %d files at once", "-n"},
	} {
		var has syscall.Rlimit
		if err := syscall.Getrlimit(l.resource, &has); err == nil && has.Cur < l.least {
			enough := l.least / l.unit
			if l.unit > 1 { // what the runtime reserves differs from run to run
				enough += enough / 8
			}
			return &FitError{fmt.Errorf("this process "+l.say, has.Cur/l.unit),
				fmt.Sprintf("raise the limit: ulimit %s %d", l.flag, enough)}
		}
	}
	return nil
}
