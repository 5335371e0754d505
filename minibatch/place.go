package minibatch

import (
	"errors"
	"fmt"
)

// Place is where the roots of a step are computed, if they are drawn globally; local roots are computed at home. It
// changes the gradient and the loss of a step only by rounding.
type Place int

// Places of roots.
const (
	Batch Place = iota // where its place in the step's order falls, or with local roots at the part that took it
	Home               // at its home; what a part has beyond 1.05 times its share, those that lose the fewest neighbours by it, where most of their neighbours are
	Hop                // at its home too, in the time step in which the model comes by that is the batch's share that it is in (HopGNN)
)

func (p Place) String() string { return [...]string{"batch", "home", "hop"}[p] }

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
