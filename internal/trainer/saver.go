package trainer

import (
	"encoding/json"
	"errors"
	"io"
	"log/slog"

	"capgnn/gnn"
	"capgnn/gpu"
	"capgnn/hostmem"
	"capgnn/internal/checkpoint"
	"capgnn/internal/checkpoint/section"
	"capgnn/internal/together"
	"capgnn/reduce"
)

// Saver writes checkpoints of a run, and continues from them. The devices are idle meanwhile. Of several ranks all call
// it, and rank 0 has the files.
type Saver struct {
	Crew           *Crew
	Reduce         *reduce.Reduction
	Rule           gnn.Optimizer
	Weights        *gnn.Weights // their layout
	Talk           together.Talk
	Found, Section uint32 // tags: of what a file says, and of pieces of its sections

	Dir, Identity string
	Keep          int
	Log           *slog.Logger
	Finite        func(part []byte) error // refuses weights and moments that are no numbers
}

// Held is a section of a checkpoint that a rank has.
type Held struct {
	Name  string
	Bytes int64
	Rank  int
}

// Save adds weights and moments to a file, and the weights of the best evaluation, of which its scores are given, and
// writes it. others are sections of ranks other than 0, by name: each of these has its own in the file.
func (s *Saver) Save(c *checkpoint.File, best *gnn.Weights, scores any, others []Held) (err error) {
	moments := s.moments()
	if !s.Talk.Leads() {
		return s.give(c, moments, others)
	}
	w := s.Crew.Workers[0]
	c.Identity, c.Step, c.Weights = s.Identity, s.Reduce.Steps(), w.vector(w.Params.Flat).Section(s.Finite)
	for k, into := range []*checkpoint.Section{&c.M, &c.V, &c.VMax} {
		switch size := s.bytes(k); {
		case size == 0:
		case s.Talk.Ranks != nil: // they lie in the last one
			*into = s.Talk.Section(s.Crew.Hub().Context(), s.Section, s.Talk.Ranks.Ranks()-1, size)
		default:
			*into = moments[k].Section(s.Finite)
		}
	}
	for _, h := range others {
		c.Sections[h.Name] = s.Talk.Section(s.Crew.Hub().Context(), s.Section, h.Rank, h.Bytes)
	}
	if best != nil {
		c.BestWeights = section.Floats(best.Flat)
		if c.Best, err = json.Marshal(scores); err != nil {
			return err
		}
	}
	return checkpoint.Save(s.Dir, c, s.Keep)
}

// give gives rank 0 what lies here.
func (s *Saver) give(c *checkpoint.File, moments [3]section.Scattered, others []Held) error {
	piece := make([]byte, checkpoint.Piece)
	for k, m := range moments {
		if err := s.Talk.Give(s.Crew.Hub().Context(), s.Section, m.Section(s.Finite), s.bytes(k), piece); err != nil {
			return err
		}
	}
	for _, h := range others {
		if err := s.Talk.Give(s.Crew.Hub().Context(), s.Section, c.Sections[h.Name], h.Bytes, piece); err != nil {
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

// Newest returns the newest valid checkpoint, which has sections at rank 0 only, and what it says. The caller closes
// it.
func (s *Saver) Newest() (*checkpoint.File, Found, error) {
	c := &checkpoint.File{Epoch: -1}
	if s.Talk.Leads() {
		sizes := checkpoint.Sizes{Weights: 4 * int64(len(s.Weights.Flat)),
			M: s.bytes(0), V: s.bytes(1), VMax: s.bytes(2)}
		if file, err := checkpoint.Newest(s.Dir, s.Identity, sizes, s.Log); err != nil {
			return nil, Found{}, err
		} else if file != nil {
			c = file
		}
	}
	own := Found{c.Epoch, c.Step, c.State, checkpoint.Size(c.BestWeights) > 0}
	f, err := together.First(s.Crew.Hub().Context(), s.Talk, s.Found, own)
	if err != nil {
		return nil, f, errors.Join(err, c.Close())
	}
	c.Epoch = f.Epoch
	return c, f, nil
}

// Load puts steps, weights and moments of a checkpoint where they belong, by way of piece, and returns the best
// weights; nil: it has none.
func (s *Saver) Load(c *checkpoint.File, f *Found, piece []byte) (best *gnn.Weights, err error) {
	s.Reduce.Resume(f.Step)
	var all []section.Place
	for _, w := range s.Crew.Workers {
		all = append(all, w.vector(w.Params.Flat).Place())
	}
	size := 4 * int64(len(s.Weights.Flat))
	if err := section.Upload(s.Share(c.Weights, size), piece, all...); err != nil {
		return nil, err
	}
	moments := s.moments()
	for k, from := range []checkpoint.Section{c.M, c.V, c.VMax} {
		if err := moments[k].Load(s.Share(from, s.bytes(k)), piece); err != nil {
			return nil, err
		}
	}
	if !f.Best {
		return nil, nil
	}
	best = s.Weights.Clone()
	_, err = io.ReadFull(s.Share(c.BestWeights, size), hostmem.Bytes(best.Flat))
	return best, err
}

// Share returns a section of rank 0's as every rank reads it; size is what the others know of it.
func (s *Saver) Share(own checkpoint.Section, size int64) checkpoint.Section {
	return s.Talk.Share(s.Crew.Hub().Context(), s.Section, own, size)
}

// bytes is the size of the k-th of moments, over all ranks.
func (s *Saver) bytes(k int) int64 {
	if k >= reduce.Kept(s.Rule) {
		return 0
	}
	return 4 * int64(len(s.Weights.Flat))
}

// moments returns what the optimiser remembers: first, second and largest second moments.
func (s *Saver) moments() (all [3]section.Scattered) {
	for _, m := range s.Reduce.Moments() {
		for k, v := range []gpu.Vec{m.M, m.V, m.VMax} {
			all[k] = append(all[k], s.Crew.Workers[m.Part].vector(v))
		}
	}
	return all
}

// vector returns a vector of the device as what a checkpoint reads and writes.
func (w *Worker) vector(v gpu.Vec) section.Vector {
	return section.Vector{Queue: w.Compute, Settle: w.Waits.Settle, Vec: v}
}
