package main

import (
	"context"
	"errors"
	"fmt"

	"github.com/urfave/cli/v2"

	"capgnn/gpu"
	"capgnn/internal/atomicfile"
	"capgnn/internal/regular"
	"capgnn/rapa"
)

// Exit codes (DESIGN.md 9).
const (
	exitDone        = 0
	exitFailure     = 1
	exitUsage       = 2   // wrong usage or input, also a device that is not there at the start
	exitDoesNotFit  = 3   // memory
	exitLost        = 4   // a device or peer was lost during a run: it failed, or did not answer in time
	exitInterrupted = 130 // Ctrl-C or SIGTERM, after a checkpoint
)

// usageError is wrong usage or wrong input: exit code 2.
type usageError struct{ err error }

func (e *usageError) Error() string { return e.err.Error() }
func (e *usageError) Unwrap() error { return e.err }

// usagef returns a usageError with this text; %w wraps.
func usagef(format string, a ...any) error { return &usageError{fmt.Errorf(format, a...)} }

// asUsage marks err as caused by the user's input; nil stays nil. What has an exit code of its own keeps it.
func asUsage(err error) error {
	if err == nil || exitCode(err) != exitFailure {
		return err
	}
	return &usageError{err}
}

// fitError is a run that does not fit a device's memory: exit code 3.
type fitError struct {
	err    error
	remedy string // the smallest change that would make it fit
}

func (e *fitError) Error() string { return e.err.Error() + "; " + e.remedy }
func (e *fitError) Unwrap() error { return e.err }

// asFit marks parts that fit no devices, and all else as caused by the user's input.
func asFit(err error) error {
	var e *rapa.InfeasibleError
	if !errors.As(err, &e) {
		return asUsage(err)
	}
	return &fitError{fmt.Errorf("the parts need about %s and the devices can give %s beside what each must hold", size(gpu.Bytes(e.NeedBytes)), size(gpu.Bytes(e.HaveBytes))),
		fmt.Sprintf("add a device, give about %s more, or take a smaller --hidden or --storage bf16", size(gpu.Bytes(e.MoreBytes())))}
}

// interruptedError ends a run that a signal stopped: exit code 130.
type interruptedError struct{ note string }

func (e *interruptedError) Error() string { return "interrupted: " + e.note }

// exitCode maps an error to the process's exit code; the only place that does.
func exitCode(err error) int {
	var (
		usage       *usageError
		interrupted *interruptedError
		fit         *fitError
		disk        *diskError
		oom         *gpu.OutOfMemory
		fault       *gpu.Fault
		unreadable  *regular.NotRegular
		unwritable  *atomicfile.Special
		coder       cli.ExitCoder // cli's own complaint, such as a help topic that does not exist
	)
	switch {
	case err == nil:
		return exitDone
	case errors.As(err, &interrupted), errors.Is(err, context.Canceled):
		return exitInterrupted
	case errors.As(err, &disk):
		return exitFailure
	case errors.As(err, &fit), errors.As(err, &oom):
		return exitDoesNotFit
	case errors.Is(err, gpu.ErrDeviceLost), errors.As(err, &fault):
		return exitLost
	case errors.As(err, &usage), errors.As(err, &unreadable), errors.As(err, &unwritable), errors.Is(err, gpu.ErrNoDevice), errors.As(err, &coder):
		return exitUsage
	default:
		return exitFailure
	}
}
