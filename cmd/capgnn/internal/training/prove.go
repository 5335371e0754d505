package training

import (
	"context"

	"capgnn/cmd/capgnn/internal/devices"
	"capgnn/cmd/capgnn/internal/term"
	"capgnn/pipeline"
)

// prove refuses the program of --model FILE where the operations that are derived from it compute something else than
// it says: in one part and in two.
func (t *Run) prove(ctx context.Context) error {
	if t.Config.Program() == nil {
		return nil
	}
	for _, list := range []string{"cpu:threads=1", "cpu:threads=1,cpu:threads=1"} {
		specs, err := devices.Parse(list)
		if err != nil {
			return err
		}
		open, err := devices.Open(specs)
		if err != nil {
			return err
		}
		err = pipeline.Prove(ctx, t.network(), t.Data.Problem.Features.Sparse(), open)
		if err = devices.CloseAfter(err, open); err != nil {
			return term.Usagef("--model %s: %w", t.Config.Model, err)
		}
	}
	return nil
}
