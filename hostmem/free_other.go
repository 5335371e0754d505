//go:build !linux

package hostmem

import (
	"errors"
	"fmt"
	"runtime"
)

func systemRoom() (room, error) {
	return room{}, fmt.Errorf("read free memory on %s: %w", runtime.GOOS, errors.ErrUnsupported)
}

// systemPeak returns what the Go runtime has obtained from the system, which only grows; mapped files are not in it.
func systemPeak() (int64, error) {
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return int64(m.Sys), nil
}

// systemThreads does not know.
func systemThreads() int { return 0 }

// systemAnonymous does not know.
func systemAnonymous() int64 { return 0 }
