package checkpoint

import (
	"errors"
	"fmt"
	"log/slog"
)

// Sizes are the bytes of a run's arrays: of another model or optimiser they differ.
type Sizes struct{ Weights, M, V, VMax int64 }

// Other says that a folder holds checkpoints of another run.
type Other struct{ Dir, Identity string }

func (e *Other) Error() string {
	return fmt.Sprintf("resume: %s holds a run of other data or options: restore these, or start a new run", e.Dir)
}

// There reports whether the folder dir has a checkpoint.
func There(dir string) bool {
	epochs, err := epochsIn(dir)
	return err == nil && len(epochs) > 0
}

// Newest returns the newest whole checkpoint in the folder dir for a run to go on from, and warns of those that it passes over; nil: there is none. The file is of
// that run and of its sizes, or there is an error. It is open: the caller closes it.
func Newest(dir, identity string, sizes Sizes, log *slog.Logger) (*File, error) {
	c, skipped, err := LoadLatest(dir)
	for _, s := range skipped {
		log.Warn("checkpoint skipped", "error", s)
	}
	if errors.Is(err, ErrNone) {
		log.Warn("no valid checkpoint: starting from the first epoch", "dir", dir)
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	if c.Identity != identity {
		c.Close()
		return nil, &Other{dir, c.Identity}
	}
	if (Sizes{Size(c.Weights), Size(c.M), Size(c.V), Size(c.VMax)}) != sizes {
		c.Close()
		return nil, fmt.Errorf("resume: %s holds a model or optimiser of another size: restore these, or start a new run", dir)
	}
	return c, nil
}
