package term

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
		{nil, ExitDone},
		{errors.New("x"), ExitFailure},
		{Usagef("x"), ExitUsage},
		{fmt.Errorf("a: %w", gpu.ErrNoDevice), ExitUsage},
		{AsUsage(errors.New("x")), ExitUsage},
		{AsUsage(oom), ExitDoesNotFit},
		{fmt.Errorf("a: %w", oom), ExitDoesNotFit},
		{Usagef("a: %w", oom), ExitDoesNotFit},
		{&FitError{errors.New("x"), "y"}, ExitDoesNotFit},
		{&gpu.Fault{Device: "cpu:0", Err: gpu.ErrDeviceLost}, ExitLost},
		{fmt.Errorf("epoch 3: %w", &gpu.Fault{Device: "cpu:0", Op: "Gemm", Err: errors.New("x")}), ExitLost},
		{&gpu.Fault{Device: "cpu:0", Err: oom}, ExitDoesNotFit},
		{fmt.Errorf("epoch 3: part 0 waited 5m0s for part 1: %w", gpu.ErrDeviceLost), ExitLost},
		{AsUsage(gpu.ErrDeviceLost), ExitLost},
		{&pipeline.Diverged{Epoch: 3, Loss: math.NaN()}, ExitFailure},
		{fmt.Errorf("a: %w", context.Canceled), ExitInterrupted},
		{AsUsage(context.Canceled), ExitInterrupted},
		{&InterruptedError{"x"}, ExitInterrupted},
	} {
		if got := ExitCode(tc.err); got != tc.want {
			t.Errorf("%v: exit code %d, want %d", tc.err, got, tc.want)
		}
	}
	same := errors.New("x")
	if got := OneLine(errors.Join(fmt.Errorf("a: %w", same), fmt.Errorf("a: %w", same))); got != "a: x" {
		t.Errorf("one cause of two errors is said as %q", got)
	}
	if got, want := OneLine(errors.Join(errors.New("a\nb "), errors.New("\nc"))), `a\nb ; \nc`; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
}

func TestNoteHandler(t *testing.T) {
	var out bytes.Buffer
	log := slog.New(&NoteHandler{Console: &Console{Err: &out}})
	log.Info("hidden")
	log.With("part", 1).Warn("checkpoint skipped", "error", "bad sum")
	if got, want := out.String(), "warning: checkpoint skipped part=1 error=bad sum\n"; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
}
