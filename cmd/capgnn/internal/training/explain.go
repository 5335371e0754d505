package training

import (
	"context"
	"errors"
	"fmt"
	"syscall"

	"capgnn/cmd/capgnn/internal/runfolder"
	"capgnn/cmd/capgnn/internal/term"
	"capgnn/gpu"
	"capgnn/hostmem"
	"capgnn/jaca"
	"capgnn/minibatch"
)

// unbegun says what an interruption leaves before the run trains.
func (t *Run) unbegun() string {
	if !t.Resume {
		return "before the first epoch: nothing was written"
	}
	more := ""
	if t.Longer { // which no file says yet
		more = fmt.Sprintf(" --epochs %d", t.Config.Epochs)
	}
	return fmt.Sprintf("before the run went on: continue with `capgnn train --resume %s%s`", t.Dir, more)
}

// BeforeTraining says of an interruption that nothing was lost by it.
func (t *Run) BeforeTraining(err error) error {
	if errors.Is(err, context.Canceled) {
		return &term.InterruptedError{Note: t.unbegun()}
	}
	return err
}

// MoreMemory says what a device that ran out of memory lacks: its budget, or memory of the system that its budget counts on.
func MoreMemory(e *gpu.OutOfMemory) string {
	if e.Have >= e.Need {
		return "give this process more memory (ulimit -v, container, machine)"
	}
	return fmt.Sprintf("give %s at least %s more memory (mem=)", e.Device, term.Size(e.Need-e.Have))
}

// Explain adds to an error of the trainer what the user can do about it.
func (t *Run) Explain(err error) error {
	var oom *gpu.OutOfMemory
	var large *jaca.TooLarge
	var limit *hostmem.Limit
	var step *minibatch.TooLarge
	switch {
	case errors.As(err, &large), errors.As(err, &limit), errors.Is(err, syscall.ENOMEM):
		return runfolder.ExplainCache(err)
	case errors.As(err, &step):
		return &term.FitError{Err: fmt.Errorf("place steps of %s: %w", term.Counted(step.Batch, "root"), step.Memory), Remedy: fittingBatch(step.Fits)}
	case errors.As(err, &oom):
		return &term.FitError{Err: err, Remedy: MoreMemory(oom)}
	case term.ExitCode(err) == term.ExitLost && t.Ranks == nil && t.Dir.HoldsRun():
		return fmt.Errorf("%w: continue from the last checkpoint with `capgnn train --resume %s`", err, t.resuming(0))
	}
	return err
}
