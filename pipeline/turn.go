package pipeline

import (
	"slices"
	"time"

	"capgnn/chunks"
	"capgnn/gnn"
	"capgnn/gpu"
	"capgnn/internal/trainer"
)

// SuperEpoch describes the chunks that isolated parts trained on in an epoch.
type SuperEpoch struct {
	Shift    int // part i has held chunks i and (i + Shift) mod c
	Phases   int // of the epoch
	Switches int // how often parts got other chunks, or workers other parts: before the epoch, and between its phases
	// Switch is the time of changing chunks, and Bytes what it copied from the host to devices. Neither is part of the
	// epoch's figures. Over ranks Switch is the longest, and Bytes the sum.
	Switch   time.Duration
	Bytes    gpu.Bytes
	Coverage chunks.Coverage // of all parts
	parts    []chunks.Coverage
}

// chunkRecord is what one worker with isolated parts has to say of an epoch.
type chunkRecord struct {
	Phases []chunks.Coverage // by phase, of the part that it had
	Switch time.Duration     // of its process
	Bytes  gpu.Bytes
}

// add enters the record of a worker. All are entered in their order.
func (s *SuperEpoch) add(r *chunkRecord) {
	s.Switch, s.Bytes = max(s.Switch, r.Switch), s.Bytes+r.Bytes
	s.parts = append(s.parts, r.Phases...)
	s.Coverage = chunks.Total(s.parts)
}

// turn begins an epoch of isolated parts.
func (t *Trainer) turn(e *EpochStats) {
	s := t.isolation
	if s == nil {
		return
	}
	e.Isolated = &SuperEpoch{Shift: s.turn.Schedule.At(e.Epoch).Shift, Phases: s.turn.Count(), Switches: s.turn.Switches(e.Epoch)}
	for _, w := range t.workers {
		w.hold.record = chunkRecord{}
	}
}

// phases returns how many an epoch has.
func (t *Trainer) phases() int {
	if t.isolation == nil {
		return 1
	}
	return t.isolation.turn.Count()
}

// shareOf returns which share of an epoch's loss a phase has; 0: nothing is trained in it.
func (t *Trainer) shareOf(epoch, phase int) float64 {
	s := t.isolation
	if s == nil {
		return 1
	}
	at := chunks.Moment{Shift: chunks.First.Shift, Phase: phase}
	if last := s.turn.Schedule.Epochs - 1; last >= 0 { // a forecast goes beyond it
		at.Shift = s.turn.Schedule.At(min(epoch, last)).Shift
	}
	return s.turn.Share(at)
}

// hold brings the pairs of a phase to the workers of this process, and begins to make those that come behind them. Where parts are not isolated, and
// behind the last epoch, it does nothing.
func (t *Trainer) hold(epoch, phase int) error {
	s := t.isolation
	if s == nil || epoch >= t.o.Epochs {
		return nil
	}
	at := chunks.Moment{Shift: s.turn.Schedule.At(epoch).Shift, Phase: phase}
	replicates := t.plan.Input == gnn.Replicated
	if at != s.held {
		start, before := trainer.Now(t.o.Devices), trainer.Usages(t.crew.Workers, (*trainer.Worker).Usage)
		pairs := s.take(at, t.o.own(), replicates)
		if err := t.each(func(w *worker) error { return w.hold.put(pairs[t.at(w)]) }); err != nil {
			return err
		}
		s.held = at
		for i, w := range t.workers {
			w.hold.record.Switch += trainer.Now(t.o.Devices) - start
			w.hold.record.Bytes += w.Usage().Sub(before[i]).H2D
		}
	}
	if next, ok := s.turn.Behind(epoch, phase); ok && s.ahead == nil {
		s.prepare(next, t.o.own(), replicates)
	}
	return nil
}

// buildIsolated puts an isolated part on its device: memory for the largest pair, and unless parts take turns what evaluation reads of the whole graph.
func (t placer) buildIsolated(b *builder) error {
	w, s := b.worker, t.isolation
	h := &holding{contents: b.contents, s: s, most: s.capacityOf(w.Index), slots: map[string]gpu.Buffer{}, base: -1}
	w.hold = h
	readsX := t.plan.Input != gnn.Precomputed || t.o.Model.ReadsOwn()
	if t.plan.Input == gnn.Precomputed {
		h.ax = w.ld.matrix("aggregated features", h.most.rows, h.model.In)
	}
	if readsX && (s.stored == nil || t.plan.Input == gnn.Precomputed) {
		h.x = w.ld.matrix("features", h.most.rows, h.model.In)
	}
	if w.ld.err != nil {
		return w.ld.err
	}
	eval, evalIn := t.wholePart(b)
	w.newLoss(t.task, h.most.loss)
	in := gnn.Input{AX: h.ax, X: gnn.Features{Dense: h.x}}
	if eval != nil {
		in.X = evalIn.X
	} else if b.sparse {
		in.X.Sparse.Cols = h.model.In
	}
	if err := t.buildPasses(w, h.planned(), eval, in, evalIn); err != nil {
		return err
	}
	return h.put(s.pairOf(w.Index, chunks.First.Shift, t.plan.Input == gnn.Replicated))
}

// wholePart puts on a device what a part's evaluation reads of the whole graph; nil: evaluation goes layer by layer.
func (t placer) wholePart(b *builder) ([]gnn.LayerGraph, gnn.Input) {
	if t.o.phased() {
		return nil, gnn.Input{}
	}
	all, h := len(b.part.Inner), b.hold
	eval := slices.Repeat([]gnn.LayerGraph{b.layer(b.part, all, all)}, t.o.Model.Layers)
	in := gnn.Input{AX: h.ax, X: gnn.Features{Dense: h.x}} // the base chunk's rows come first, in the order of the part
	if b.sparse {
		in = b.input(eval[0], 0, 0)
	} else if t.plan.Input == gnn.Replicated {
		in.Halo.Dense = b.denseRows("halo features", b.part.In.IDs)
	}
	return eval, in
}
