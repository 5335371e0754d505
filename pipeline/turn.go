package pipeline

import (
	"slices"
	"time"

	"capgnn/chunks"
	"capgnn/gnn"
	"capgnn/gpu"
)

// SuperEpoch is what isolated parts have held in an epoch.
type SuperEpoch struct {
	Shift    int  // part i has held chunks i and (i + Shift) mod c
	Switched bool // before the epoch every part got another chunk
	// Switch is the time of that, and Bytes what it has moved from the host to devices. Neither is in the epoch's. Over ranks the longest, and all.
	Switch   time.Duration
	Bytes    gpu.Bytes
	Coverage chunks.Coverage // of all parts
	parts    []chunks.Coverage
}

// chunkRecord is what one isolated part has to say of an epoch.
type chunkRecord struct {
	Coverage chunks.Coverage
	Switch   time.Duration // of its process
	Bytes    gpu.Bytes
}

// add enters the record of a part. All are entered in part order.
func (s *SuperEpoch) add(r *chunkRecord) {
	s.Switch, s.Bytes = max(s.Switch, r.Switch), s.Bytes+r.Bytes
	s.parts = append(s.parts, r.Coverage)
	s.Coverage = chunks.Total(s.parts)
}

// turn has isolated parts hold what they train on in an epoch.
func (t *Trainer) turn(e *EpochStats) error {
	s := t.isolation
	if s == nil {
		return nil
	}
	at := s.schedule.At(e.Epoch)
	e.Isolated = &SuperEpoch{Shift: at.Shift, Switched: at.Epoch == 0 && e.Epoch > 0 && s.turn.Shifts() > 1}
	for _, w := range t.workers {
		w.hold.record.Switch, w.hold.record.Bytes = 0, 0
	}
	return t.hold(e.Epoch)
}

// hold brings the pairs of an epoch to the parts of this process, and begins to make those of the next super-epoch. Where parts are not isolated, and
// behind the last epoch, it does nothing.
func (t *Trainer) hold(epoch int) error {
	s := t.isolation
	if s == nil || epoch >= t.o.Epochs {
		return nil
	}
	at := s.schedule.At(epoch)
	replicates := t.plan.Input == gnn.Replicated
	if at.Shift != s.held {
		start, before := t.now(), usages(t.workers, (*worker).usage)
		pairs := s.take(at.Shift, t.o.own(), replicates)
		if err := t.each(func(w *worker) error { return w.hold.put(pairs[t.at(w)]) }); err != nil {
			return err
		}
		s.held = at.Shift
		for i, w := range t.workers {
			w.hold.record = chunkRecord{pairs[i].coverage, t.now() - start, w.usage().Sub(before[i]).H2D}
		}
	}
	if next := epoch - at.Epoch + at.Length; next < t.o.Epochs && s.ahead == nil {
		if shift := s.schedule.At(next).Shift; shift != at.Shift {
			s.prepare(shift, t.o.own(), replicates)
		}
	}
	return nil
}

// buildIsolated puts an isolated part on its device: what evaluation reads of the whole graph, and memory for the largest pair.
func (t placer) buildIsolated(b *builder) error {
	w, s := b.worker, t.isolation
	h := &holding{worker: w, s: s, model: t.o.Model, plan: t.plan, most: s.capacityOf(w.index), slots: map[string]gpu.Buffer{}}
	w.hold = h
	all := len(w.part.Inner)
	eval := slices.Repeat([]gnn.LayerGraph{b.layer(b.adjacency(w.part, b.scale.whole), all, all)}, t.o.Model.Layers)
	readsX := t.plan.Input != gnn.Precomputed || t.o.Model.Kind != gnn.GCN
	if t.plan.Input == gnn.Precomputed {
		h.ax = h.matrix("aggregated features", h.most.rows)
	}
	if readsX && (s.stored == nil || t.plan.Input == gnn.Precomputed) {
		h.x = h.matrix("features", h.most.rows)
	}
	if w.ld.err != nil {
		return w.ld.err
	}
	evalIn := gnn.Input{AX: h.ax, X: gnn.Features{Dense: h.x}} // the base chunk's rows come first, in the order of the part
	if b.sparse {
		evalIn = b.input(eval[0], 0, 0)
	} else if t.plan.Input == gnn.Replicated {
		evalIn.Halo.Dense = b.denseRows("halo features", b.part.In.IDs)
	}
	b.loss = gpu.Array[float64]{Buf: b.ld.alloc(8, "loss"), Len: 1}
	b.lossHost = make([]byte, 8)
	in := gnn.Input{AX: h.ax, X: evalIn.X}
	if err := t.buildPasses(w, h.planned(), eval, in, evalIn); err != nil {
		return err
	}
	first := s.pairOf(w.index, firstShift, t.plan.Input == gnn.Replicated)
	h.record.Coverage = first.coverage
	return h.put(first)
}

// firstShift is what parts are built with.
const firstShift = 1
