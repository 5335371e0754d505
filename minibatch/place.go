package minibatch

import "errors"

// Place says where a root of a step is computed, with global roots: local ones are computed where they are at home. The gradient of a step is the same in every place, to
// rounding, and so is its loss.
type Place int

// Places of roots.
const (
	Batch Place = iota // where its place in the step's order falls, or with local roots at the part that took it
	Home               // at its home; what a part has beyond 1.05 times its share, the last ones in order, at the parts with least of theirs
	Hop                // where the model that it belongs to comes by: see docs/guide/sampling.md
)

func (p Place) String() string { return [...]string{"batch", "home", "hop"}[p] }

// checkPlace reports places that a run cannot have.
func (s *Sampling) checkPlace() (errs []error) {
	if s.Place != Batch && s.Place != Home {
		errs = append(errs, errors.New("place: roots are computed in the order of the batch, or at home"))
	}
	if s.NoMerge || s.NoGather {
		errs = append(errs, errors.New("merging and gathering: there is nothing to merge or gather where roots are computed in the order of the batch, or at home"))
	}
	return errs
}
