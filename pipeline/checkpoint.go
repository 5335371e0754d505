package pipeline

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"

	"capgnn/gpu"
	"capgnn/hostmem"
	"capgnn/internal/checkpoint"
	"capgnn/internal/checkpoint/section"
	"capgnn/internal/meet"
	"capgnn/pipeline/halo"
	"capgnn/reduce"
)

// saver writes checkpoints of a trainer, and continues from them. The devices are idle meanwhile. Of several ranks all call it.
type saver struct{ *Trainer }

// checkpoint writes the run's state.
func (t saver) checkpoint() error {
	for _, w := range t.workers { // rows may be under way to the next epoch
		if err := w.Sync(); err != nil {
			return err
		}
	}
	if t.joined && !t.o.leads() {
		return t.giveAll()
	}
	c, err := t.file()
	if err != nil {
		return err
	}
	err = checkpoint.Save(t.o.CheckpointDir, c, t.o.CheckpointKeep)
	if bad := new(section.NotFinite); errors.As(err, &bad) {
		return bad
	}
	if late := new(meet.Late); errors.As(err, &late) {
		return late
	}
	return err
}

// file returns the run's state as a file, whose sections are read where they lie.
func (t saver) file() (c *checkpoint.File, err error) {
	w := t.workers[0]
	c = &checkpoint.File{Identity: t.o.Identity, Epoch: t.state.Epochs, Step: t.reduce.Steps(), Weights: w.vector(w.Params.Flat).Section(t.finiteWeights)}
	moments := t.moments()
	for k, into := range []*checkpoint.Section{&c.M, &c.V, &c.VMax} {
		switch size := t.momentBytes(k); {
		case size == 0:
		case t.joined:
			*into = t.section(t.o.Ranks.Ranks()-1, size)
		default:
			*into = moments[k].Section(t.finiteWeights)
		}
	}
	if t.state.best != nil {
		c.BestWeights = section.Floats(t.state.best.Flat)
		if c.Best, err = json.Marshal(t.state.Best); err != nil {
			return nil, err
		}
	}
	if err := t.halo.Save(c); err != nil {
		return nil, err
	}
	if err := t.addOthers(c); err != nil {
		return nil, err
	}
	c.State, err = json.Marshal(t.state)
	return c, err
}

// giveAll gives rank 0 what the optimiser remembers, which lies in the last rank, and halo rows.
func (t saver) giveAll() error {
	var c checkpoint.File
	if err := t.halo.Save(&c); err != nil {
		return err
	}
	others, err := t.holdings(&c)
	if err != nil {
		return err
	}
	piece := make([]byte, checkpoint.Piece)
	for k, m := range t.moments() {
		if err := t.give(m.Section(t.finiteWeights), t.momentBytes(k), piece); err != nil {
			return err
		}
	}
	for _, h := range others {
		if err := t.give(c.Sections[h.Name], h.Bytes, piece); err != nil {
			return err
		}
	}
	return nil
}

// momentBytes is the size of the k-th of moments over all ranks.
func (t saver) momentBytes(k int) int64 {
	if k >= reduce.Kept(t.o.Optimizer) {
		return 0
	}
	return 4 * int64(len(t.weights.Flat))
}

// found is what a checkpoint says beside its sections. Epoch −1: there is none.
type found struct {
	Epoch, Step int
	State       []byte
	Best        bool // there are weights at the best evaluation
}

// restore continues from the newest valid checkpoint; without any, the run starts from the beginning.
func (t saver) restore() error {
	c := &checkpoint.File{Epoch: -1}
	if t.o.leads() {
		var err error
		if c, err = t.newest(); err != nil {
			return err
		}
		defer c.Close()
	}
	f, err := fromRank0(t.hub.Context(), t.Trainer, tagFound, found{c.Epoch, c.Step, c.State, checkpoint.Size(c.BestWeights) > 0})
	if err != nil || f.Epoch < 0 {
		return err
	}
	c.Epoch = f.Epoch
	if err := json.Unmarshal(f.State, &t.state); err != nil {
		return fmt.Errorf("resume: read the state of %s: %w", t.o.CheckpointDir, err)
	}
	t.reduce.Resume(f.Step)
	piece := make([]byte, checkpoint.Piece)
	if err := t.takeWeights(c, f.Best, piece); err != nil {
		return fmt.Errorf("resume: read %s: %w", t.o.CheckpointDir, err)
	}
	t.o.Log.Info("resumed", "epoch", t.state.Epochs)
	by := halo.Resuming{Each: func(f func(part int) error) error { return t.each(func(w *worker) error { return f(w.Index) }) }}
	if t.joined && t.Ages() {
		if err := t.resumeTogether(c, &by); err != nil {
			return err
		}
	}
	err = t.halo.Restore(c, piece, by)
	return err
}

// newest returns the newest valid checkpoint; where there is none, one of epoch −1.
func (t saver) newest() (*checkpoint.File, error) {
	sizes := checkpoint.Sizes{Weights: 4 * int64(len(t.weights.Flat)), M: t.momentBytes(0), V: t.momentBytes(1), VMax: t.momentBytes(2)}
	c, err := checkpoint.Newest(t.o.CheckpointDir, t.o.Identity, sizes, t.o.Log)
	if c == nil {
		c = &checkpoint.File{Epoch: -1}
	}
	return c, err
}

// takeWeights puts weights and moments where they belong, by way of piece.
func (t saver) takeWeights(c *checkpoint.File, best bool, piece []byte) error {
	var all []section.Place
	for _, w := range t.workers {
		all = append(all, w.vector(w.Params.Flat).Place())
	}
	size := 4 * int64(len(t.weights.Flat))
	err := section.Upload(t.share(c.Weights, size), piece, all...)
	m := t.moments()
	for k, from := range []checkpoint.Section{c.M, c.V, c.VMax} {
		if err == nil {
			err = m[k].Load(t.share(from, t.momentBytes(k)), piece)
		}
	}
	if err == nil && best { // as many as weights
		t.state.best = t.weights.Clone()
		_, err = io.ReadFull(t.share(c.BestWeights, size), hostmem.Bytes(t.state.best.Flat))
	}
	return err
}

// moments returns what the optimiser remembers: first, second and largest second moments.
func (t saver) moments() (all [3]section.Scattered) {
	for _, m := range t.reduce.Moments() {
		for k, v := range []gpu.Vec{m.M, m.V, m.VMax} {
			all[k] = append(all[k], t.worker(t.o.First+m.Part).vector(v))
		}
	}
	return all
}

// vector returns a device vector as what a checkpoint reads and writes.
func (w *worker) vector(v gpu.Vec) section.Vector {
	return section.Vector{Queue: w.Compute, Settle: w.Waits.Settle, Vec: v}
}
