package pipeline

import (
	"capgnn/graph"
	"capgnn/internal/learn"
	"capgnn/internal/meet"
)

// evaluate runs a forward pass over every row on all parts, scores each split and returns the loss of validation. Logits stay on the devices; the host sees a
// chunk at a time.
func (t *Trainer) evaluate() (learn.Metrics, *float64, error) {
	p := t.p
	splits := [3][]bool{p.Train, p.Val, p.Test}
	const validation = 1
	own := make([][len(splits)]learn.Tally, len(t.workers))
	count := func(at int, ids []graph.NodeID, rows []float32) {
		for s, mask := range splits {
			own[at][s] = own[at][s].Add(p.Count(ids, rows, mask, s == validation))
		}
	}
	if err := t.logits(count); err != nil {
		return learn.Metrics{}, nil, err
	}
	t.receivedInEpoch() // what travels to evaluate counts for no epoch
	counts, err := gather(t.hub.Context(), t, tagEvaluation, own)
	if err != nil {
		return learn.Metrics{}, nil, err
	}
	var all [len(splits)]learn.Tally
	for _, c := range counts {
		for s := range all {
			all[s] = all[s].Add(c[s])
		}
	}
	multi := p.Targets != nil
	return learn.Metrics{Train: all[0].Score(multi), Val: all[1].Score(multi), Test: all[2].Score(multi)}, all[1].FiniteLoss(), nil
}

// logits has count see the logits of every vertex that this process evaluates, with the place of the part that made them.
func (t *Trainer) logits(count func(at int, ids []graph.NodeID, rows []float32)) error {
	if t.o.phased() {
		return t.layeredLogits(count)
	}
	return t.each(func(w *worker) error {
		if err := meet.Guard(func() { w.logits = w.eval.Forward(w.compute, w.evalHalo, 0) }); err != nil {
			return err
		}
		if err := w.sync(); err != nil {
			return err
		}
		return w.emit(t.hub.Context(), w.logits, func(ids []graph.NodeID, rows []float32) error {
			count(t.at(w), ids, rows)
			return nil
		})
	})
}
