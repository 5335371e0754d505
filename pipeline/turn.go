package pipeline

import (
	"slices"

	"capgnn/gnn"
	"capgnn/gpu"
	"capgnn/internal/trainer"
	"capgnn/pipeline/chunks"
)

// phases returns how many an epoch has.
func (t *Trainer) phases() int {
	if t.isolation == nil {
		return 1
	}
	return t.isolation.Course.Count()
}

// shareOf returns which share of an epoch's loss a phase has; 0: nothing is trained in it.
func (t *Trainer) shareOf(epoch, phase int) float64 {
	s := t.isolation
	if s == nil {
		return 1
	}
	return s.Course.Share(chunks.Moment{Shift: s.Course.Shift(epoch), Phase: phase})
}

// hold brings the pairs of a phase to the workers of this process, and begins to make those that come behind them. Where parts are not isolated, and
// behind the last epoch, it does nothing.
func (t *Trainer) hold(epoch, phase int) error {
	s := t.isolation
	if s == nil || epoch >= t.o.Epochs {
		return nil
	}
	return s.Hold(epoch, phase, func(take func() []*pair) error {
		start, before := trainer.Now(t.o.Devices), trainer.Usages(t.Crew.Workers, (*trainer.Worker).Usage)
		pairs := take()
		err := t.each(func(w *worker) error { return w.hold.put(pairs[w.At]) })
		t.switching += trainer.Now(t.o.Devices) - start
		for i, w := range t.workers {
			w.hold.copied += w.Usage().Sub(before[i]).H2D
		}
		return err
	})
}

// buildIsolated puts an isolated part on its device: memory for the largest pair, and unless parts take turns what evaluation reads of the whole graph.
func (t *Trainer) buildIsolated(b *builder) error {
	w, s := b.worker, t.isolation
	h := &holding{contents: b.contents, s: s, slots: map[string]gpu.Buffer{}, base: -1}
	for _, part := range s.Course.PartsOf(w.Index) {
		h.most.cover(s, part)
	}
	w.hold = h
	readsX := t.plan.Input != gnn.Precomputed || t.o.Model.ReadsOwn()
	if t.plan.Input == gnn.Precomputed {
		h.ax = w.matrix("aggregated features", h.most.rows, h.model.In)
	}
	if readsX && (s.stored == nil || t.plan.Input == gnn.Precomputed) {
		h.x = w.matrix("features", h.most.rows, h.model.In)
	}
	if w.Failed != nil {
		return w.Failed
	}
	eval, evalIn := t.wholePart(b)
	w.NewLoss(t.Task, w.Alloc, h.most.loss, 1)
	in := gnn.Input{AX: h.ax, X: gnn.Features{Dense: h.x}}
	if eval != nil {
		in.X = evalIn.X
	} else if b.sparse {
		in.X.Sparse.Cols = h.model.In
	}
	if err := t.buildPasses(w, h.planned(), eval, in, evalIn); err != nil {
		return err
	}
	return h.put(s.pairOf(w.Index, chunks.First.Shift))
}

// wholePart puts on a device what a part's evaluation reads of the whole graph; nil: evaluation goes layer by layer.
func (t *Trainer) wholePart(b *builder) ([]gnn.LayerGraph, gnn.Input) {
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
