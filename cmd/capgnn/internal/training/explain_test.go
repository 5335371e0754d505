package training

import (
	"context"
	"testing"

	"capgnn/cmd/capgnn/internal/runfolder"
	"capgnn/cmd/capgnn/internal/term"
)

// An interruption of a run that is resumed says how it goes on, also before it trains.
func TestInterruptedBeforeTraining(t *testing.T) {
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	for _, tc := range []struct {
		run  Run
		want string
	}{
		{Run{Dir: "a"}, "interrupted: before the first epoch: nothing was written"},
		{Run{Dir: "a", Resume: true}, "interrupted: before the run went on: continue with `capgnn train --resume a`"},
		{Run{Dir: "a", Resume: true, Longer: true, Config: runfolder.Config{Epochs: 9}},
			"interrupted: before the run went on: continue with `capgnn train --resume a --epochs 9`"},
	} {
		if err := tc.run.BeforeTraining(ctx.Err()); err.Error() != tc.want || term.ExitCode(err) != term.ExitInterrupted {
			t.Errorf("got %v, want %s", err, tc.want)
		}
	}
}
