package term

import (
	"fmt"
	"os"
	"syscall"

	"capgnn/gpu"
)

// writeSignals are sent to a process that writes what cannot be written.
var writeSignals = []os.Signal{syscall.SIGPIPE, syscall.SIGXFSZ}

// CheckLimits refuses to begin under limits of the system that no command fits into.
func CheckLimits() error {
	var space, data, files syscall.Rlimit
	if err := syscall.Getrlimit(syscall.RLIMIT_AS, &space); err == nil && space.Cur < leastAddressSpace {
		return &FitError{fmt.Errorf("this process may use %s of address space and needs %s", Size(gpu.Bytes(space.Cur)), Size(gpu.Bytes(leastAddressSpace))),
			"raise the limit (ulimit -v)"}
	}
	if err := syscall.Getrlimit(syscall.RLIMIT_DATA, &data); err == nil && data.Cur < leastData {
		return &FitError{fmt.Errorf("this process may use %s of data and needs %s", Size(gpu.Bytes(data.Cur)), Size(gpu.Bytes(leastData))),
			"raise the limit (ulimit -d)"}
	}
	if err := syscall.Getrlimit(syscall.RLIMIT_NOFILE, &files); err == nil && files.Cur < LeastOpenFiles {
		return &FitError{fmt.Errorf("this process may open %d files at once and needs %d", files.Cur, LeastOpenFiles), "raise the limit (ulimit -n)"}
	}
	return nil
}
