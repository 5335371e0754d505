package minibatch

import (
	"errors"
	"fmt"
)

// Place says where a root of a step is computed, with global roots: local ones are computed where they are at home. The gradient of a step is the same in every place, to
// rounding, and so is its loss.
type Place int

// Places of roots.
const (
	Batch Place = iota // where its place in the step's order falls, or with local roots at the part that took it
	Home               // at its home; what a part has beyond 1.05 times its share, those that lose the fewest neighbours by it, where most of their neighbours are
	Hop                // at its home too, in the time step in which the model comes by that is the batch's share that it is in (HopGNN)
)

func (p Place) String() string { return [...]string{"batch", "home", "hop"}[p] }

// checkPlace reports places that a run cannot have.
func (s *Sampling) checkPlace() (errs []error) {
	if s.Place < Batch || s.Place > Hop {
		errs = append(errs, fmt.Errorf("place %d of roots is unknown", s.Place))
	}
	if s.Place != Hop && (s.NoMerge || s.NoGather || s.MeasureMerge || s.Merged != nil) {
		errs = append(errs, errors.New("merging and gathering: there is nothing to merge or gather where roots are computed in the order of the batch, or at home"))
	}
	if s.Merged != nil && (s.NoMerge || *s.Merged < 0) {
		errs = append(errs, fmt.Errorf("%d merged time steps: want none or more, and merging", *s.Merged))
	}
	return errs
}
