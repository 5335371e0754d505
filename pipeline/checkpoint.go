package pipeline

import (
	"encoding/json"
	"errors"
	"fmt"

	"capgnn/internal/checkpoint"
	"capgnn/internal/checkpoint/section"
	"capgnn/internal/meet"
	"capgnn/internal/trainer"
	"capgnn/pipeline/halo"
)

// saver writes checkpoints of a trainer, and continues from them. Halo rows lie in their sections.
type saver struct{ *Trainer }

// core is what writes and reads weights and moments.
func (t saver) core() *trainer.Saver {
	o, talk := &t.o, t.talk()
	if !t.joined {
		talk.Ranks = nil
	}
	return &trainer.Saver{Crew: &t.crew, Reduce: t.reduce, Rule: o.Optimizer, Weights: t.weights, Talk: talk,
		Found: tagFound, Section: tagSection, Dir: o.CheckpointDir, Identity: o.Identity, Keep: o.CheckpointKeep,
		Log: o.Log, Finite: t.finiteWeights}
}

// checkpoint writes the run's state.
func (t saver) checkpoint() error {
	for _, w := range t.workers { // rows may be under way to the next epoch
		if err := w.Sync(); err != nil {
			return err
		}
	}
	c := &checkpoint.File{Epoch: t.state.Epochs}
	if err := t.halo.Save(c); err != nil {
		return err
	}
	others, err := t.holdings(c)
	if err != nil {
		return err
	}
	if c.State, err = json.Marshal(t.state); err != nil {
		return err
	}
	err = t.core().Save(c, t.state.best, t.state.Best, others)
	if bad := new(section.NotFinite); errors.As(err, &bad) {
		return bad
	}
	if late := new(meet.Late); errors.As(err, &late) {
		return late
	}
	return err
}

// restore continues from the newest valid checkpoint; without any, the run starts from the beginning.
func (t saver) restore() error {
	core := t.core()
	c, f, err := core.Newest()
	if err != nil {
		return err
	}
	defer c.Close()
	if f.Epoch < 0 {
		return nil
	}
	if err := json.Unmarshal(f.State, &t.state); err != nil {
		return fmt.Errorf("resume: read the state of %s: %w", t.o.CheckpointDir, err)
	}
	piece := make([]byte, checkpoint.Piece)
	if t.state.best, err = core.Load(c, &f, piece); err != nil {
		return fmt.Errorf("resume: read %s: %w", t.o.CheckpointDir, err)
	}
	t.o.Log.Info("resumed", "epoch", t.state.Epochs)
	by := halo.Resuming{Each: func(f func(part int) error) error {
		return t.each(func(w *worker) error { return f(w.Index) })
	}}
	if t.joined && t.Ages() {
		if err := t.resumeTogether(core, c, &by); err != nil {
			return err
		}
	}
	return t.halo.Restore(c, piece, by)
}
