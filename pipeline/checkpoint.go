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
)

// saver writes checkpoints of a trainer, and continues from them. The devices are idle meanwhile.
type saver struct{ *Trainer }

// checkpoint writes the run's state.
func (t saver) checkpoint() error {
	var err error
	for _, w := range t.workers { // rows may be under way to the next epoch
		if err := w.sync(); err != nil {
			return err
		}
	}
	w, m := t.workers[0], t.moments()
	c := &checkpoint.File{Identity: t.o.Identity, Epoch: t.state.Epochs, Step: t.reduce.Steps(), Weights: w.vector(w.params.Flat, t.finiteWeights),
		M: m[0].section(t.finiteWeights), V: m[1].section(t.finiteWeights), VMax: m[2].section(t.finiteWeights)}
	if t.state.best != nil {
		c.BestWeights = section.Floats(t.state.best.Flat)
		if c.Best, err = json.Marshal(t.state.Best); err != nil {
			return err
		}
	}
	if err := t.halo.Save(c); err != nil {
		return err
	}
	if c.State, err = json.Marshal(t.state); err != nil {
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

// restore continues from the newest valid checkpoint; without any, the run starts from the beginning.
func (t saver) restore() error {
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
	m := t.moments()
	fits := func(s checkpoint.Section, elements int) bool { return checkpoint.Size(s) == 4*int64(elements) }
	if !fits(c.Weights, len(t.weights.Flat)) || !fits(c.M, m[0].len()) || !fits(c.V, m[1].len()) || !fits(c.VMax, m[2].len()) {
		return fmt.Errorf("resume: %s holds a model or optimiser of another size", t.o.CheckpointDir)
	}
	if err := json.Unmarshal(c.State, &t.state); err != nil {
		return fmt.Errorf("resume: read the state of %s: %w", t.o.CheckpointDir, err)
	}
	t.reduce.Resume(c.Step)
	piece := make([]byte, checkpoint.Piece)
	if err := t.takeWeights(c, piece); err != nil {
		return fmt.Errorf("resume: read %s: %w", t.o.CheckpointDir, err)
	}
	t.state.resumeBypass(t.halo.NewBypass(t.o.Cache.Bypass))
	t.o.Log.Info("resumed", "epoch", t.state.Epochs)
	return t.halo.Restore(c, piece, t.state.Bypass.Off, func(f func(part int) error) error {
		return t.each(func(w *worker) error { return f(w.index) })
	})
}

// takeWeights puts weights and moments where they belong, by way of piece.
func (t saver) takeWeights(c *checkpoint.File, piece []byte) error {
	var all []section.Place
	for _, w := range t.workers {
		all = append(all, w.placeOf(w.params.Flat))
	}
	err := section.Upload(c.Weights, piece, all...)
	m := t.moments()
	for k, from := range []checkpoint.Section{c.M, c.V, c.VMax} {
		if err == nil {
			err = m[k].load(from, piece)
		}
	}
	if err == nil && checkpoint.Size(c.BestWeights) > 0 { // as many as weights
		t.state.best = t.weights.Clone()
		_, err = io.ReadFull(c.BestWeights, hostmem.Bytes(t.state.best.Flat))
	}
	return err
}

// scattered is a vector whose elements lie one behind the other on several devices.
type scattered []deviceVector

type deviceVector struct {
	w *worker
	v gpu.Vec
}

// moments returns what the optimiser remembers: first, second and largest second moments.
func (t saver) moments() (all [3]scattered) {
	for _, m := range t.reduce.Moments() {
		for k, v := range []gpu.Vec{m.M, m.V, m.VMax} {
			all[k] = append(all[k], deviceVector{t.worker(t.o.First + m.Part), v})
		}
	}
	return all
}

func (s scattered) len() int {
	n := 0
	for _, p := range s {
		n += p.v.Len
	}
	return n
}

// section returns the vector as a section of a checkpoint; nil if it is empty.
func (s scattered) section(check func([]byte) error) checkpoint.Section {
	if s.len() == 0 {
		return nil
	}
	var all []io.Reader
	for _, p := range s {
		if p.v.Len > 0 {
			all = append(all, p.w.vector(p.v, check))
		}
	}
	return section.Of(io.MultiReader(all...), 4*int64(s.len()))
}

// load puts a section of the vector's size back, by way of piece.
func (s scattered) load(from checkpoint.Section, piece []byte) error {
	for _, p := range s {
		if err := section.Upload(section.Of(from, 4*int64(p.v.Len)), piece, p.w.placeOf(p.v)); err != nil {
			return err
		}
	}
	return nil
}

// vector returns a device vector as a section; nil if it is empty.
func (w *worker) vector(v gpu.Vec, check func([]byte) error) checkpoint.Section {
	if v.Len == 0 {
		return nil
	}
	return section.OfDevice(w.compute, w.waits.Settle, v.Buf, 4*gpu.Bytes(v.Off), 4*gpu.Bytes(v.Len), check)
}

// placeOf is where a vector lies.
func (w *worker) placeOf(v gpu.Vec) section.Place {
	return section.Place{Queue: w.compute, Buf: v.Buf, At: 4 * gpu.Bytes(v.Off)}
}
