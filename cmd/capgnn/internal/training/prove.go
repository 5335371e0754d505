package training

import (
	"context"

	"capgnn/cmd/capgnn/internal/devices"
	"capgnn/cmd/capgnn/internal/term"
	"capgnn/gnn"
	"capgnn/pipeline"
)

// prove refuses the program of --model FILE where the operations that are derived from it compute something else than
// it says.
func (t *Run) prove(ctx context.Context) error {
	if t.Config.Program() == nil {
		return nil
	}
	return Prove(ctx, t.Config.Model, t.network(), t.Data.Problem.Features.Sparse())
}

// Prove compares a program, which was read from a file, with its definition: in one part and in two (pipeline.Prove).
func Prove(ctx context.Context, file string, m gnn.Config, sparse bool) error {
	for _, list := range []string{"cpu:threads=1", "cpu:threads=1,cpu:threads=1"} {
		specs, err := devices.Parse(list)
		if err != nil {
			return err
		}
		open, err := devices.Open(specs)
		if err != nil {
			return err
		}
		err = pipeline.Prove(ctx, m, sparse, open)
		if err = devices.CloseAfter(err, open); err != nil {
			return term.Usagef("%s: %w", file, err)
		}
	}
	return nil
}
