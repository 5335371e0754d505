package minibatch

import (
	"bytes"
	"fmt"
	"io"

	"capgnn/internal/checkpoint"
	"capgnn/internal/together"
	"capgnn/internal/trainer"
)

// save writes what row caches remember. Samples are functions of the step, so nothing is kept of those that were drawn
// ahead.
func (t *Trainer) save(c *checkpoint.File) (err error) {
	if t.state.Caches, err = t.caches(); err != nil {
		return err
	}
	for part, x := range t.state.Caches {
		c.Sections[cacheSection(part)] = bytes.NewReader(x.state)
	}
	return nil
}

// cacheSection is the name of what a part's cache remembers.
func cacheSection(part int) string { return fmt.Sprintf("rowcache/%d", part) }

// kept is what a part's cache remembers, as ranks tell each other.
type kept struct {
	Snapshot *snapshot // nil: there is none
	State    []byte
}

// caches returns the newest snapshot of each part's cache that is not behind the steps done; nil: there are none. Rows
// are not part of it: they are fetched again.
func (t *Trainer) caches() ([]snapshot, error) {
	own := make([]kept, len(t.workers))
	for i, x := range t.ownCaches() {
		own[i] = kept{&x, x.state}
	}
	all, err := together.Gather(t.Hub.Context(), t.Talk(), trainer.TagCaches, own)
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
func (t *Trainer) ownCaches() []snapshot {
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

// take takes the state over that a file has, whose sections are rank 0's.
func (t *Trainer) take(c *checkpoint.File) error {
	s := &t.state
	err := s.check(t.roots.steps, t.roots.parts)
	if m := &s.Merging; err == nil && (m.Kept < 0 || m.Kept > m.most) {
		err = fmt.Errorf("%d time steps of %d are dropped", m.Kept, m.most+1)
	}
	if err == nil {
		t.roots.merge(s.Merging)
		err = t.takeCaches(c)
	}
	if err != nil {
		return t.Unusable(err)
	}
	return nil
}

// takeCaches reads what row caches remember.
func (t *Trainer) takeCaches(c *checkpoint.File) (err error) {
	states := make([][]byte, len(t.state.Caches))
	for part := range states {
		if !t.Options.Leads() {
			break
		}
		if states[part], err = readAll(c.Sections[cacheSection(part)]); err != nil {
			return err
		}
	}
	if states, err = together.First(t.Hub.Context(), t.Talk(), trainer.TagCaches, states); err != nil {
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
