package term

import (
	"cmp"
	"errors"
	"fmt"
	"strings"
	"syscall"

	"capgnn/gpu"
	"capgnn/hostmem"
)

// The least that the program begins with. Below it the Go runtime would end the process in the middle of something, which
// no program can catch.
const (
	leastAddressSpace = 2 << 30   // bytes: the runtime and its threads reserve up to 1.8 GiB, not all at once
	leastData         = 160 << 20 // bytes: of these 64 MiB are the first heap, and each thread has 8 MiB
	LeastOpenFiles    = 32
)

// limits are the answers of the system that mean one of its limits, and what to do.
var limits = []struct {
	cause  syscall.Errno
	disk   bool
	remedy string
}{
	{syscall.EMFILE, false, "let it open more files (ulimit -n)"},
	{syscall.ENFILE, false, "the machine has too many files open: close some"},
	{syscall.ENOMEM, false, "give this process more memory (ulimit -v, container, machine)"},
	{syscall.ENOSPC, true, "free some space, or choose another place"},
	{syscall.EDQUOT, true, "free some space, or choose another place"},
	{syscall.EFBIG, true, "let it write larger files (ulimit -f)"},
}

// MoreMemory is the remedy of a process that needs so many bytes more than it may have.
func MoreMemory(by gpu.Bytes) string {
	return fmt.Sprintf("give this process more memory (%s, container, machine)", cmp.Or(hostmem.Raise(int64(by)), "ulimit -v or -d"))
}

// WithinLimits returns err, or, where a limit of the system has caused it, an error that says what to do and has its exit code: a
// full disk is a failure, whatever was to be written; too little memory or too few open files is a run that does not fit.
func WithinLimits(err error) error {
	if code := ExitCode(err); code != ExitFailure && code != ExitUsage {
		return err
	}
	for _, l := range limits {
		switch {
		case !errors.Is(err, l.cause):
		case l.disk && strings.Contains(err.Error(), "free some space"): // a download has said what to do
			return &diskError{err, ""}
		case l.disk:
			return &diskError{err, "; " + l.remedy}
		default:
			return &FitError{err, l.remedy}
		}
	}
	return err
}

// diskError is a file that could not be written: exit code 1, also where a flag has named it.
type diskError struct {
	err    error
	remedy string // "" or behind a semicolon
}

func (e *diskError) Error() string { return e.err.Error() + e.remedy }
func (e *diskError) Unwrap() error { return e.err }
