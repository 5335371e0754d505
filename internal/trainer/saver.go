package trainer

import (
	"encoding/json"
	"errors"
	"io"

	"capgnn/gnn"
	"capgnn/gpu"
	"capgnn/hostmem"
	"capgnn/internal/checkpoint"
	"capgnn/internal/checkpoint/section"
	"capgnn/internal/together"
	"capgnn/reduce"
)

// Held is a section of a checkpoint that a rank has.
type Held struct {
	Name  string
	Bytes int64
	Rank  int
}

// save adds weights and moments to a file, and the weights of the best evaluation with its scores, and writes it. others are sections of ranks other than 0, by name: each of these has its own in the file.
func (t *Trainer) save(c *checkpoint.File, others []Held) (err error) {
	moments := t.moments()
	if !t.joined().Leads() {
		return t.give(c, moments, others)
	}
	w := t.Crew.Workers[0]
	c.Identity, c.Step, c.Weights = t.Options.Identity, t.Reduce.Steps(), w.vector(w.Params.Flat).Section(t.finite)
	for k, into := range []*checkpoint.Section{&c.M, &c.V, &c.VMax} {
		switch size := t.bytes(k); {
		case size == 0:
		case t.joined().Ranks != nil: // they lie in the last one
			*into = t.joined().Section(t.Hub.Context(), TagSection, t.joined().Ranks.Ranks()-1, size)
		default:
			*into = moments[k].Section(t.finite)
		}
	}
	for _, h := range others {
		c.Sections[h.Name] = t.joined().Section(t.Hub.Context(), TagSection, h.Rank, h.Bytes)
	}
	if best := t.State.best; best != nil {
		c.BestWeights = section.Floats(best.Flat)
		if c.Best, err = json.Marshal(t.State.Best); err != nil {
			return err
		}
	}
	return checkpoint.Save(t.Options.CheckpointDir, c, t.Options.CheckpointKeep)
}

// give gives rank 0 what lies here.
func (t *Trainer) give(c *checkpoint.File, moments [3]section.Scattered, others []Held) error {
	piece := make([]byte, checkpoint.Piece)
	for k, m := range moments {
		if err := t.joined().Give(t.Hub.Context(), TagSection, m.Section(t.finite), t.bytes(k), piece); err != nil {
			return err
		}
	}
	for _, h := range others {
		if err := t.joined().Give(t.Hub.Context(), TagSection, c.Sections[h.Name], h.Bytes, piece); err != nil {
			return err
		}
	}
	return nil
}

// Found is what a checkpoint says beside its sections.
type Found struct {
	Epoch, Step int // Epoch −1: there is none
	State       []byte
	Best        bool // there are weights at the best evaluation
}

// newest returns the newest valid checkpoint, which has sections at rank 0 only, and what it says. The caller closes
// it.
func (t *Trainer) newest() (*checkpoint.File, Found, error) {
	c := &checkpoint.File{Epoch: -1}
	if t.joined().Leads() {
		sizes := checkpoint.Sizes{Weights: 4 * int64(len(t.Weights.Flat)),
			M: t.bytes(0), V: t.bytes(1), VMax: t.bytes(2)}
		if file, err := checkpoint.Newest(t.Options.CheckpointDir, t.Options.Identity, sizes, t.Options.Log); err != nil {
			return nil, Found{}, err
		} else if file != nil {
			c = file
		}
	}
	own := Found{c.Epoch, c.Step, c.State, checkpoint.Size(c.BestWeights) > 0}
	f, err := together.First(t.Hub.Context(), t.joined(), TagFound, own)
	if err != nil {
		return nil, f, errors.Join(err, c.Close())
	}
	c.Epoch = f.Epoch
	return c, f, nil
}

// load puts steps, weights and moments of a checkpoint where they belong, by way of piece, and returns the best
// weights; nil: it has none.
func (t *Trainer) load(c *checkpoint.File, f *Found, piece []byte) (best *gnn.Weights, err error) {
	t.Reduce.Resume(f.Step)
	var all []section.Place
	for _, w := range t.Crew.Workers {
		all = append(all, w.vector(w.Params.Flat).Place())
	}
	size := 4 * int64(len(t.Weights.Flat))
	if err := section.Upload(t.Shared(c.Weights, size), piece, all...); err != nil {
		return nil, err
	}
	moments := t.moments()
	for k, from := range []checkpoint.Section{c.M, c.V, c.VMax} {
		if err := moments[k].Load(t.Shared(from, t.bytes(k)), piece); err != nil {
			return nil, err
		}
	}
	if !f.Best {
		return nil, nil
	}
	best = t.Weights.Clone()
	_, err = io.ReadFull(t.Shared(c.BestWeights, size), hostmem.Bytes(best.Flat))
	return best, err
}

// Shared returns a section of rank 0's as every rank reads it; size is what the others know of it.
func (t *Trainer) Shared(own checkpoint.Section, size int64) checkpoint.Section {
	return t.joined().Share(t.Hub.Context(), TagSection, own, size)
}

// bytes is the size of the k-th of moments, over all ranks.
func (t *Trainer) bytes(k int) int64 {
	if k >= reduce.Kept(t.Options.Optimizer) {
		return 0
	}
	return 4 * int64(len(t.Weights.Flat))
}

// moments returns what the optimiser remembers: first, second and largest second moments.
func (t *Trainer) moments() (all [3]section.Scattered) {
	for _, m := range t.Reduce.Moments() {
		for k, v := range []gpu.Vec{m.M, m.V, m.VMax} {
			all[k] = append(all[k], t.Crew.Workers[m.Part].vector(v))
		}
	}
	return all
}

// vector returns a vector of the device as what a checkpoint reads and writes.
func (w *Worker) vector(v gpu.Vec) section.Vector {
	return section.Vector{Queue: w.Compute, Settle: w.Waits.Settle, Vec: v}
}
