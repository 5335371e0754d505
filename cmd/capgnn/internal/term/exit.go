package term

import (
	"context"
	"errors"
	"fmt"

	"github.com/urfave/cli/v2"

	"capgnn/gpu"
	"capgnn/internal/atomicfile"
	"capgnn/internal/regular"
)

// Exit codes of the program.
const (
	ExitDone        = 0
	ExitFailure     = 1
	ExitUsage       = 2   // wrong usage or input, also a device that is not there at the start
	ExitDoesNotFit  = 3   // memory
	ExitLost        = 4   // a device or peer was lost during a run: it failed, or did not answer in time
	ExitInterrupted = 130 // Ctrl-C, SIGTERM or SIGHUP, after a checkpoint
	ExitUnread      = 141 // the reader of standard output has gone: what shells say of programs that SIGPIPE ends
)

// usageError is wrong usage or wrong input: exit code 2.
type usageError struct{ err error }

func (e *usageError) Error() string { return e.err.Error() }
func (e *usageError) Unwrap() error { return e.err }

// Usagef returns a usageError with this text; %w wraps.
func Usagef(format string, a ...any) error { return &usageError{fmt.Errorf(format, a...)} }

// AsUsage marks err as caused by the user's input; nil stays nil. What has an exit code of its own keeps it.
func AsUsage(err error) error {
	if err == nil || ExitCode(err) != ExitFailure {
		return err
	}
	return &usageError{err}
}

// FitError is a run that does not fit a device's memory: exit code 3.
type FitError struct {
	Err    error
	Remedy string // the smallest change that would make it fit
}

// Error is the reason with the remedy behind it.
func (e *FitError) Error() string { return e.Err.Error() + "; " + e.Remedy }

// Unwrap returns the reason.
func (e *FitError) Unwrap() error { return e.Err }

// InterruptedError ends a run that a signal stopped: exit code 130.
type InterruptedError struct{ Note string }

// Error says what the interruption leaves.
func (e *InterruptedError) Error() string { return "interrupted: " + e.Note }

// Elsewhere is a fault of a run of several processes, which all of them end with.
type Elsewhere struct {
	Code int // exit code
	Line string
}

// Error is the line.
func (e *Elsewhere) Error() string { return e.Line }

// ExitCode maps an error to the process's exit code; the only place that does.
func ExitCode(err error) int {
	var (
		usage       *usageError
		interrupted *InterruptedError
		elsewhere   *Elsewhere
		fit         *FitError
		disk        *diskError
		oom         *gpu.OutOfMemory
		fault       *gpu.Fault
		unreadable  *regular.NotRegular
		unwritable  *atomicfile.Special
		coder       cli.ExitCoder // cli's own complaint, such as a help topic that does not exist
	)
	switch {
	case err == nil:
		return ExitDone
	case errors.As(err, &elsewhere):
		return elsewhere.Code
	case errors.As(err, &interrupted), errors.Is(err, context.Canceled):
		return ExitInterrupted
	case errors.As(err, &disk):
		return ExitFailure
	case errors.As(err, &fit), errors.As(err, &oom):
		return ExitDoesNotFit
	case errors.Is(err, gpu.ErrDeviceLost), errors.As(err, &fault):
		return ExitLost
	case errors.As(err, &usage), errors.As(err, &unreadable), errors.As(err, &unwritable), errors.Is(err, gpu.ErrNoDevice), errors.As(err, &coder):
		return ExitUsage
	default:
		return ExitFailure
	}
}
