package pipeline

import (
	"capgnn/gnn"
	"capgnn/hostmem"
)

// evaluate runs a forward pass over every row on all parts and scores each split. Logits stay in the workers.
func (t *Trainer) evaluate() (Metrics, error) {
	err := t.each(func(w *worker) error {
		if err := w.guard(func() { w.runEval(hostmem.Bytes(w.logits)) }); err != nil {
			return err
		}
		return w.sync()
	})
	if err != nil {
		return Metrics{}, err
	}
	score := func(mask []bool) *float64 {
		if mask == nil {
			return nil
		}
		return t.score(mask)
	}
	return Metrics{Train: score(t.p.Train), Val: score(t.p.Val), Test: score(t.p.Test)}, nil
}

// score counts over all parts the vertices of a mask: accuracy, or micro-F1 for multi-label problems. nil if there are
// none.
func (t *Trainer) score(mask []bool) *float64 {
	var correct, total int
	var counts gnn.F1Counts
	seen := false
	for _, w := range t.workers {
		local := make([]bool, len(w.part.Inner))
		for i, v := range w.part.Inner {
			local[i] = mask[v]
			seen = seen || mask[v]
		}
		if t.p.Targets != nil {
			counts = counts.Add(gnn.MicroF1(w.logits, t.p.Classes, w.localTargets(t.p), local))
			continue
		}
		c, n := gnn.Accuracy(w.logits, t.p.Classes, w.localLabels(t.p), local)
		correct, total = correct+c, total+n
	}
	value := counts.Score()
	if t.p.Targets == nil {
		seen = total > 0
		value = float64(correct) / float64(max(total, 1))
	}
	if !seen {
		return nil
	}
	return &value
}

// localLabels returns the labels of the inner vertices in local order.
func (w *worker) localLabels(p *Problem) []int32 {
	if w.evalLabels == nil {
		w.evalLabels = make([]int32, len(w.part.Inner))
		for i, v := range w.part.Inner {
			w.evalLabels[i] = p.Labels[v]
		}
	}
	return w.evalLabels
}

// localTargets returns the targets of the inner vertices in local order.
func (w *worker) localTargets(p *Problem) []uint8 {
	if w.evalTargets == nil {
		w.evalTargets = make([]uint8, 0, len(w.part.Inner)*p.Classes)
		for _, v := range w.part.Inner {
			w.evalTargets = append(w.evalTargets, p.Targets[int(v)*p.Classes:][:p.Classes]...)
		}
	}
	return w.evalTargets
}

// Logits returns the logits of the last evaluation by original vertex id: vertices × classes.
func (t *Trainer) Logits() []float32 {
	out := make([]float32, t.p.Vertices()*t.p.Classes)
	for _, w := range t.workers {
		for i, v := range w.part.Inner {
			copy(out[int(v)*t.p.Classes:][:t.p.Classes], w.logits[i*t.p.Classes:])
		}
	}
	return out
}
