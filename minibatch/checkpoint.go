package minibatch

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"

	"capgnn/gpu"
	"capgnn/hostmem"
	"capgnn/internal/checkpoint"
	"capgnn/internal/checkpoint/section"
	"capgnn/internal/together"
	"capgnn/reduce"
)

// saver writes checkpoints of a trainer, and continues from them. The devices are idle meanwhile. Samples are functions of the step, so nothing is kept of those that were
// drawn ahead.
type saver struct{ *Trainer }

// checkpoint writes the run's state. Of several ranks all call it, and rank 0 writes.
func (t saver) checkpoint() error {
	caches, err := t.caches()
	if err != nil {
		return err
	}
	if !t.o.leads() {
		return t.giveMoments()
	}
	w := t.workers[0]
	c := &checkpoint.File{Identity: t.o.Identity, Epoch: t.state.Epochs, Step: t.reduce.Steps(), Weights: w.vector(w.Params.Flat).Section(t.finite)}
	moments := t.moments()
	for k, into := range []*checkpoint.Section{&c.M, &c.V, &c.VMax} {
		switch size := t.momentBytes(k); {
		case size == 0:
		case t.o.several(): // they lie in the last one
			*into = t.talk().Section(t.hub.Context(), tagSection, t.o.Ranks.Ranks()-1, size)
		default:
			*into = moments[k].Section(t.finite)
		}
	}
	if t.state.best != nil {
		c.BestWeights = section.Floats(t.state.best.Flat)
		if c.Best, err = json.Marshal(t.state.Best); err != nil {
			return err
		}
	}
	state := t.state
	if state.Caches = caches; state.Caches != nil {
		c.Sections = map[string]checkpoint.Section{}
	}
	for part, x := range state.Caches {
		c.Sections[cacheSection(part)] = bytes.NewReader(x.state)
	}
	if c.State, err = json.Marshal(state); err != nil {
		return err
	}
	return checkpoint.Save(t.o.CheckpointDir, c, t.o.CheckpointKeep)
}

// cacheSection is the name of what a part's cache remembers.
func cacheSection(part int) string { return fmt.Sprintf("rowcache/%d", part) }

// giveMoments gives rank 0 what the optimiser remembers, which lies in the last rank.
func (t saver) giveMoments() error {
	piece := make([]byte, checkpoint.Piece)
	for k, m := range t.moments() {
		var own checkpoint.Section
		if len(m) > 0 {
			own = m.Section(t.finite)
		}
		if err := t.talk().Give(t.hub.Context(), tagSection, own, t.momentBytes(k), piece); err != nil {
			return err
		}
	}
	return nil
}

// kept is what a part's cache remembers, as ranks tell each other.
type kept struct {
	Snapshot *snapshot // nil: there is none
	State    []byte
}

// caches returns the newest snapshot of each part's cache that is not behind the steps done; nil: there are none. Rows are not part of it: they are fetched again.
func (t saver) caches() ([]snapshot, error) {
	own := make([]kept, len(t.workers))
	for i, x := range t.ownCaches() {
		own[i] = kept{&x, x.state}
	}
	all, err := together.Gather(t.hub.Context(), t.talk(), tagCaches, own)
	if err != nil {
		return nil, err
	}
	var list []snapshot
	for _, k := range all {
		if k.Snapshot == nil {
			return nil, nil
		}
		k.Snapshot.state = k.State
		list = append(list, *k.Snapshot)
	}
	return list, nil
}

// ownCaches returns those of the parts of this process; nil: there are none.
func (t saver) ownCaches() []snapshot {
	var list []snapshot
	for _, w := range t.workers {
		if w.fetcher == nil {
			return nil
		}
		x := w.fetcher.snapshots.before((t.state.Epochs*t.roots.steps + t.state.Batch) * w.fetcher.turns)
		if x == nil {
			x = t.state.cache(w.Index)
		}
		if x == nil {
			return nil
		}
		list = append(list, *x)
	}
	return list
}

// cache returns what a part's cache remembered in the run that this one goes on from; nil: nothing.
func (s *state) cache(part int) *snapshot {
	if part >= len(s.Caches) {
		return nil
	}
	return &s.Caches[part]
}

// finite checks some weights or moments.
func (t saver) finite(part []byte) error {
	if section.Finite(hostmem.Of[float32](part)) {
		return nil
	}
	return &section.NotFinite{What: fmt.Sprintf("epoch %d: weights after step %d", t.state.Epochs, t.state.Batch)}
}

// restore continues from the newest valid checkpoint; without any, the run starts from the beginning.
func (t saver) restore() error {
	c := &checkpoint.File{Epoch: -1}
	if t.o.leads() {
		sizes := checkpoint.Sizes{Weights: 4 * int64(len(t.weights.Flat)), M: t.momentBytes(0), V: t.momentBytes(1), VMax: t.momentBytes(2)}
		file, err := checkpoint.Newest(t.o.CheckpointDir, t.o.Identity, sizes, t.o.Log)
		if err != nil {
			return err
		}
		if file != nil {
			c = file
			defer c.Close()
		}
	}
	f, err := together.First(t.hub.Context(), t.talk(), tagFound, found{c.Epoch, c.Step, c.State, checkpoint.Size(c.BestWeights) > 0})
	if err != nil || f.Epoch < 0 {
		return err
	}
	if err := t.take(c, &f); err != nil {
		return fmt.Errorf("resume: read the state of %s: %w", t.o.CheckpointDir, err)
	}
	t.o.Log.Info("resumed", "epoch", t.state.Epochs, "step", t.state.Batch)
	return nil
}

// check reports where a state cannot be one of a run of so many steps in an epoch, and parts.
func (s *state) check(steps, parts int) error {
	p := &s.Partial
	switch none := s.Batch == 0 && p.Parts == nil && p.Computed == nil; {
	case s.Epochs < 0 || s.BestEpoch < -1 || s.BestEpoch >= s.Epochs && s.BestEpoch >= 0:
		return fmt.Errorf("%d epochs, the best %d", s.Epochs, s.BestEpoch)
	case s.Batch < 0 || s.Batch > steps:
		return fmt.Errorf("%d steps of an epoch of %d", s.Batch, steps)
	case !none && (len(p.Parts) != parts || len(p.Computed) != parts || len(p.Work) != parts):
		return fmt.Errorf("an epoch by %d of %d parts", len(p.Parts), parts)
	}
	return nil
}

// found is what a checkpoint says beside its sections. Epoch −1: there is none.
type found struct {
	Epoch, Step int
	State       []byte
	Best        bool // there are weights at the best evaluation
}

// take goes on from a file, which rank 0 has.
func (t saver) take(c *checkpoint.File, f *found) error {
	if err := json.Unmarshal(f.State, &t.state); err != nil {
		return err
	}
	s := &t.state
	if err := s.check(t.roots.steps, t.roots.parts); err != nil {
		return err
	}
	if m := &s.Merging; m.Kept < 0 || m.Kept > m.most {
		return fmt.Errorf("%d time steps of %d are dropped", m.Kept, m.most+1)
	}
	t.roots.merge(s.Merging)
	if err := t.takeCaches(c); err != nil {
		return err
	}
	t.reduce.Resume(f.Step)
	piece := make([]byte, checkpoint.Piece)
	var all []section.Place
	for _, w := range t.workers {
		all = append(all, w.vector(w.Params.Flat).Place())
	}
	share := func(of checkpoint.Section, size int64) checkpoint.Section {
		return t.talk().Share(t.hub.Context(), tagSection, of, size)
	}
	size := 4 * int64(len(t.weights.Flat))
	if err := section.Upload(share(c.Weights, size), piece, all...); err != nil {
		return err
	}
	moments := t.moments()
	for k, from := range []checkpoint.Section{c.M, c.V, c.VMax} {
		if err := moments[k].Load(share(from, t.momentBytes(k)), piece); err != nil {
			return err
		}
	}
	if !f.Best {
		return nil
	}
	s.best = t.weights.Clone()
	_, err := io.ReadFull(share(c.BestWeights, size), hostmem.Bytes(s.best.Flat))
	return err
}

// takeCaches reads what row caches remember.
func (t saver) takeCaches(c *checkpoint.File) (err error) {
	states := make([][]byte, len(t.state.Caches))
	for part := range states {
		if !t.o.leads() {
			break
		}
		if states[part], err = readAll(c.Sections[cacheSection(part)]); err != nil {
			return err
		}
	}
	if states, err = together.First(t.hub.Context(), t.talk(), tagCaches, states); err != nil {
		return err
	}
	if len(states) != len(t.state.Caches) {
		return fmt.Errorf("rank 0 has %d row caches, not %d", len(states), len(t.state.Caches))
	}
	for part := range states {
		t.state.Caches[part].state = states[part]
	}
	return nil
}

// readAll reads a section, which may be missing.
func readAll(s checkpoint.Section) ([]byte, error) {
	if s == nil {
		return nil, nil
	}
	return io.ReadAll(s)
}

// momentBytes is the size of the k-th of moments.
func (t saver) momentBytes(k int) int64 {
	if k >= reduce.Kept(t.o.Optimizer) {
		return 0
	}
	return 4 * int64(len(t.weights.Flat))
}

// moments returns what the optimiser remembers: first, second and largest second moments.
func (t saver) moments() (all [3]section.Scattered) {
	for _, m := range t.reduce.Moments() {
		for k, v := range []gpu.Vec{m.M, m.V, m.VMax} {
			all[k] = append(all[k], t.workers[m.Part].vector(v))
		}
	}
	return all
}

// vector returns a vector of the device as what a checkpoint reads and writes.
func (w *worker) vector(v gpu.Vec) section.Vector {
	return section.Vector{Queue: w.Compute, Settle: w.Waits.Settle, Vec: v}
}
