package training

import (
	"context"
	"testing"

	"capgnn/cmd/capgnn/internal/runfolder"
	"capgnn/cmd/capgnn/internal/term"
	"capgnn/internal/checkpoint"
)

// An interruption of a run that is resumed says how it goes on, also before it trains.
func TestInterruptedBeforeTraining(t *testing.T) {
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	for _, tc := range []struct {
		epochs         int
		resume, longer bool
		want           string
	}{
		{0, false, false, "interrupted: before the first epoch: nothing was written"},
		{0, true, false, "interrupted: before the run went on: continue with `capgnn train --resume a`"},
		{9, true, true, "interrupted: before the run went on: continue with `capgnn train --resume a --epochs 9`"},
	} {
		run := New(nil, "", runfolder.Config{Epochs: tc.epochs})
		run.Dir, run.Resume, run.Longer = "a", tc.resume, tc.longer
		if err := run.BeforeTraining(ctx.Err()); err.Error() != tc.want || term.ExitCode(err) != term.ExitInterrupted {
			t.Errorf("got %v, want %s", err, tc.want)
		}
	}
}

// Checkpoints of versions that kept no settings, but their sum, are refused as such.
func TestCheckpointOfAnEarlierVersion(t *testing.T) {
	run := New(nil, "", runfolder.Config{})
	run.Dir = "a"
	err := run.explain(&checkpoint.Other{Dir: "a/checkpoint", Identity: "9f86d081884c7d65"})
	want := "--resume a: an earlier version of capgnn wrote its checkpoints: start a new run with --config a/config.yaml"
	if err == nil || err.Error() != want || term.ExitCode(err) != term.ExitUsage {
		t.Errorf("got %v, want %s", err, want)
	}
}
