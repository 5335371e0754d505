package training

import (
	"context"

	"capgnn/cmd/capgnn/internal/devices"
	"capgnn/cmd/capgnn/internal/ranks"
	"capgnn/gpu"
)

// openMeters opens the meters of the run's devices and of this machine. Of ranks of one machine the first has those of its processors, and
// of ranks that share a GPU the first has its. Simulated devices have none.
func (t *Run) openMeters(ctx context.Context) error {
	if t.Specs[0].Simulated() {
		return nil
	}
	powercap := devices.Powercap
	if t.Ranks != nil {
		if local, _ := t.Ranks.Local(); local > 0 {
			powercap = ""
		}
	}
	t.meters = devices.OpenMeters(t.ownSpecs(), powercap, t.Console.Note)
	if t.Ranks == nil {
		return nil
	}
	ids, err := ranks.All(ctx, t.Ranks, t.meters.IDs())
	if err == nil {
		t.meters.Share(t.Ranks.Rank(), ids[:t.Ranks.Rank()])
	}
	return err
}

// readMeters returns what devices have taken since it was called before. Behind the last epoch they are read whatever that takes.
func (t *Run) readMeters(epoch int) []gpu.Metered { return t.meters.Read(epoch == t.Config.Epochs-1) }
