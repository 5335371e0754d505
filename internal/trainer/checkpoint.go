package trainer

import (
	"encoding/json"
	"errors"
	"fmt"

	"capgnn/hostmem"
	"capgnn/internal/checkpoint"
	"capgnn/internal/checkpoint/section"
	"capgnn/internal/meet"
)

func (t *Trainer) finite(part []byte) error {
	if section.Finite(hostmem.Of[float32](part)) {
		return nil
	}
	return &section.NotFinite{What: t.Engine.Where()}
}

// Checkpoint writes the run's state. Of several ranks all call it, and rank 0 writes.
func (t *Trainer) Checkpoint() error {
	c := &checkpoint.File{Epoch: t.State.Epochs, Sections: map[string]checkpoint.Section{}}
	others, err := t.Engine.Save(c)
	if err != nil {
		return err
	}
	if c.State, err = json.Marshal(t.Engine.State()); err != nil {
		return err
	}
	err = t.save(c, others)
	if bad := new(section.NotFinite); errors.As(err, &bad) {
		return bad
	}
	if late := new(meet.Late); errors.As(err, &late) {
		return late
	}
	return err
}

// Restore continues from the newest valid checkpoint; without any, the run starts from the beginning.
func (t *Trainer) Restore() error {
	c, f, err := t.newest()
	if err != nil {
		return err
	}
	defer c.Close()
	if f.Epoch < 0 {
		return nil
	}
	piece := make([]byte, checkpoint.Piece)
	if err = json.Unmarshal(f.State, t.Engine.State()); err == nil {
		t.State.best, err = t.load(c, &f, piece)
	}
	if err != nil {
		return t.Unusable(err)
	}
	t.Options.Log.Info("resumed", "epoch", t.State.Epochs, "step", t.State.Batch)
	return t.Engine.Restore(c, piece)
}

// Unusable is the error of a checkpoint whose bytes are whole and whose state this run cannot have.
func (t *Trainer) Unusable(err error) error {
	return fmt.Errorf("resume: the state in %s is not one of this run: %w: train anew, or remove that folder and resume "+
		"from the start", t.Options.CheckpointDir, err)
}
