package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"math"
	"testing"

	"capgnn/gpu"
	"capgnn/pipeline"
)

func TestExitCodes(t *testing.T) {
	oom := &gpu.OutOfMemory{Device: "cpu:0"}
	for _, tc := range []struct {
		err  error
		want int
	}{
		{nil, exitDone},
		{errors.New("x"), exitFailure},
		{usagef("x"), exitUsage},
		{fmt.Errorf("a: %w", gpu.ErrNoDevice), exitUsage},
		{asUsage(errors.New("x")), exitUsage},
		{asUsage(oom), exitDoesNotFit},
		{fmt.Errorf("a: %w", oom), exitDoesNotFit},
		{usagef("a: %w", oom), exitDoesNotFit},
		{&fitError{errors.New("x"), "y"}, exitDoesNotFit},
		{&gpu.Fault{Device: "cpu:0", Err: gpu.ErrDeviceLost}, exitLost},
		{fmt.Errorf("epoch 3: %w", &gpu.Fault{Device: "cpu:0", Op: "Gemm", Err: errors.New("x")}), exitLost},
		{&gpu.Fault{Device: "cpu:0", Err: oom}, exitDoesNotFit},
		{fmt.Errorf("epoch 3: part 0 waited 5m0s for part 1: %w", gpu.ErrDeviceLost), exitLost},
		{asUsage(gpu.ErrDeviceLost), exitLost},
		{&pipeline.Diverged{Epoch: 3, Loss: math.NaN()}, exitFailure},
		{fmt.Errorf("a: %w", context.Canceled), exitInterrupted},
		{asUsage(context.Canceled), exitInterrupted},
		{&interruptedError{"x"}, exitInterrupted},
	} {
		if got := exitCode(tc.err); got != tc.want {
			t.Errorf("%v: exit code %d, want %d", tc.err, got, tc.want)
		}
	}
	same := errors.New("x")
	if got := oneLine(errors.Join(fmt.Errorf("a: %w", same), fmt.Errorf("a: %w", same))); got != "a: x" {
		t.Errorf("one cause of two errors is said as %q", got)
	}
	if got, want := oneLine(errors.Join(errors.New("a\nb "), errors.New("\nc"))), `a\nb ; \nc`; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
}

func TestNoteHandler(t *testing.T) {
	var out bytes.Buffer
	log := slog.New(&noteHandler{k: &console{err: &out}})
	log.Info("hidden")
	log.With("part", 1).Warn("checkpoint skipped", "error", "bad sum")
	if got, want := out.String(), "warning: checkpoint skipped part=1 error=bad sum\n"; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
}
