package minibatch

import "errors"

// Place says where a root of a step is computed.
type Place int

// Places of roots.
const (
	Batch Place = iota // where its place in the step's order falls, or with local roots at the part that took it
	Home               // at its home
	Hop                // where the model that it belongs to comes by: see docs/guide/sampling.md
)

func (p Place) String() string { return [...]string{"batch", "home", "hop"}[p] }

// checkPlace reports places that a run cannot have.
func (s *Sampling) checkPlace() (errs []error) {
	if s.Place != Batch {
		errs = append(errs, errors.New("place: roots are computed in the order of the batch only"))
	}
	if s.NoMerge || s.NoGather {
		errs = append(errs, errors.New("merging and gathering: there is nothing to merge or gather where roots are computed in the order of the batch"))
	}
	return errs
}
