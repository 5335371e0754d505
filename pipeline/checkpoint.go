package pipeline

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"

	"capgnn/gpu"
	"capgnn/hostmem"
	"capgnn/internal/checkpoint"
)

// checkpoint writes the run's state, if it is to be written anywhere.
func (t *Trainer) checkpoint() error {
	if t.o.CheckpointDir == "" {
		return nil
	}
	var err error
	for _, w := range t.workers { // rows may be under way to the next epoch
		if err := w.sync(); err != nil {
			return err
		}
	}
	w, finite := t.workers[0], t.finiteWeights
	c := &checkpoint.File{Identity: t.o.Identity, Epoch: t.state.Epochs, Step: w.opt.steps, Weights: w.vector(w.params.Flat, finite),
		M: w.vector(w.opt.m, finite), V: w.vector(w.opt.v, finite), VMax: w.vector(w.opt.vmax, finite)}
	if t.state.best != nil {
		c.BestWeights = floats(t.state.best.Flat)
		if c.Best, err = json.Marshal(t.state.Best); err != nil {
			return err
		}
	}
	if err := t.keepHalo(c); err != nil {
		return err
	}
	if c.State, err = json.Marshal(t.state); err != nil {
		return err
	}
	err = checkpoint.Save(t.o.CheckpointDir, c, t.o.CheckpointKeep)
	if bad := new(notFinite); errors.As(err, &bad) {
		return bad
	}
	return err
}

// restore continues from the newest valid checkpoint; without any, the run starts from the beginning.
func (t *Trainer) restore() error {
	c, skipped, err := checkpoint.LoadLatest(t.o.CheckpointDir)
	for _, s := range skipped {
		t.o.Log.Warn("checkpoint skipped", "error", s)
	}
	if errors.Is(err, checkpoint.ErrNone) {
		t.o.Log.Warn("no valid checkpoint: starting from the first epoch", "dir", t.o.CheckpointDir)
		return nil
	}
	if err != nil {
		return err
	}
	defer c.Close()
	if c.Identity != t.o.Identity {
		return fmt.Errorf("resume: %s holds a run of other data or options", t.o.CheckpointDir)
	}
	w0 := t.workers[0]
	fits := func(s checkpoint.Section, elements int) bool { return checkpoint.Size(s) == 4*int64(elements) }
	if !fits(c.Weights, len(t.weights.Flat)) || !fits(c.M, w0.opt.m.Len) || !fits(c.V, w0.opt.v.Len) || !fits(c.VMax, w0.opt.vmax.Len) {
		return fmt.Errorf("resume: %s holds a model or optimiser of another size", t.o.CheckpointDir)
	}
	if err := json.Unmarshal(c.State, &t.state); err != nil {
		return fmt.Errorf("resume: read the state of %s: %w", t.o.CheckpointDir, err)
	}
	w0.opt.steps = c.Step
	piece := make([]byte, checkpoint.Piece)
	if err := t.takeWeights(c, piece); err != nil {
		return fmt.Errorf("resume: read %s: %w", t.o.CheckpointDir, err)
	}
	t.resumeBypass()
	t.o.Log.Info("resumed", "epoch", t.state.Epochs)
	return t.restoreHalo(c, piece)
}

// takeWeights puts weights and moments where they belong, by way of piece.
func (t *Trainer) takeWeights(c *checkpoint.File, piece []byte) error {
	w0, all := t.workers[0], []place(nil)
	for _, w := range t.workers {
		all = append(all, w.placeOf(w.params.Flat))
	}
	err := uploadSection(c.Weights, piece, all...)
	for _, part := range []struct {
		dst gpu.Vec
		src checkpoint.Section
	}{{w0.opt.m, c.M}, {w0.opt.v, c.V}, {w0.opt.vmax, c.VMax}} {
		if err == nil {
			err = uploadSection(part.src, piece, w0.placeOf(part.dst))
		}
	}
	if err == nil && checkpoint.Size(c.BestWeights) > 0 { // as many as weights
		t.state.best = t.weights.Clone()
		_, err = io.ReadFull(c.BestWeights, hostmem.Bytes(t.state.best.Flat))
	}
	return err
}
