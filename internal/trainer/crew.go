package trainer

import (
	"fmt"
	"time"

	"capgnn/gnn"
	"capgnn/gpu"
	"capgnn/internal/meet"
)

// Crew are the workers of a process.
type Crew struct {
	Workers []*Worker // of consecutive parts, in their order
	// Follows reports whether an error follows from one of another part, which counts before it; nil: none does.
	Follows func(error) bool
	Stuck   bool // a device does not answer
}

// Hub is what they share.
func (c *Crew) Hub() *meet.Hub { return c.Workers[0].Waits.Hub }

// Each runs f for the place of every worker, in a goroutine of its own, and waits for all. The first error stops the
// others' waits; who does not come back some time after it is left behind, with its memory.
func (c *Crew) Each(f func(i int) error) error {
	type outcome struct {
		i   int
		err error
	}
	hub, outcomes := c.Hub(), make(chan outcome, len(c.Workers))
	for i, w := range c.Workers {
		// Owned by this call, which waits for it; it ends at the latest when the hub does, unless its device does not
		// answer.
		go func() { outcomes <- outcome{i, w.Cause(f(i))} }()
	}
	errs := make([]error, len(c.Workers))
	var patience <-chan time.Time
	for range c.Workers {
		select {
		case o := <-outcomes:
			if errs[o.i] = o.err; o.err != nil {
				hub.Fail(fmt.Errorf("part %d stopped: %w", c.Workers[o.i].Index, o.err))
				if patience == nil {
					patience = time.After(2 * hub.Grace())
				}
			}
		case <-patience:
			c.Stuck = true
			return c.rootCause(errs)
		}
	}
	return c.rootCause(errs)
}

func (c *Crew) rootCause(errs []error) error {
	follows := c.Follows
	if follows == nil {
		follows = func(error) bool { return false }
	}
	return meet.RootCause(errs, c.Workers[0].Index, follows)
}

// Weights downloads the weights, which are those of any part. layout is of the same model.
func (c *Crew) Weights(layout *gnn.Weights) (*gnn.Weights, error) {
	w := c.Workers[0]
	flat, err := w.Download(w.Params.Flat)
	if err != nil {
		return nil, err
	}
	weights := layout.Clone()
	copy(weights.Flat, flat)
	return weights, nil
}

// Usages returns what every worker has done so far, by one of its counts.
func Usages(workers []*Worker, of func(*Worker) gpu.Usage) []gpu.Usage {
	u := make([]gpu.Usage, len(workers))
	for i, w := range workers {
		u[i] = of(w)
	}
	return u
}
