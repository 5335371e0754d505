package chunks

import (
	"cmp"
	"io"

	"capgnn/graph"
)

// Turns says what the isolated parts of a process hold when, and has it made: by worker a P.
type Turns[P any] struct {
	Isolated
	Ahead[P]
	Pieces *Cut
	Course Course
	Train  []bool    // targets, by vertex
	Held   Moment    // whose pairs workers hold
	Table  io.Closer // that they read of; nil: none
}

// NewTurns returns those of the workers of own, of so many in all, on chunks that vertices are in. of makes what a worker holds of a
// part in the super-epochs of a shift; part −1: it has none.
func NewTurns[P any](i Isolated, in []int32, own graph.Range, workers, epochs int, trains func(v graph.NodeID) bool,
	of func(part, shift int) P) (*Turns[P], error) {
	t := &Turns[P]{Isolated: i, Held: First}
	t.Targets, t.Correction = cmp.Or(i.Targets, Base), cmp.Or(i.Correction, None)
	var err error
	if t.Pieces, err = New(in, i.Count(workers)); err != nil {
		return nil, err
	}
	t.Course, t.Train = NewCourse(t.Isolated, t.Pieces, workers, epochs, trains)
	t.Make = func(at Moment) (all []P) {
		for w := own.Lo; w < own.Hi; w++ {
			all = append(all, of(t.Course.Part(at.Phase, w), at.Shift))
		}
		return all
	}
	return t, nil
}

// Hold has put bring what workers hold in a phase of an epoch, which it takes, where that is not what they hold, and
// begins to make what is behind.
func (t *Turns[P]) Hold(epoch, phase int, put func(take func() []P) error) error {
	if at := (Moment{t.Course.Shift(epoch), phase}); at != t.Held {
		if err := put(func() []P { return t.Take(at) }); err != nil {
			return err
		}
		t.Held = at
	}
	if next, ok := t.Course.Behind(min(epoch, t.Course.Schedule.Epochs-1), phase); ok {
		t.Prepare(next)
	}
	return nil
}

// Close waits for what is made, and gives the table back.
func (t *Turns[P]) Close() error {
	if t.Wait(); t.Table == nil {
		return nil
	}
	return t.Table.Close()
}
