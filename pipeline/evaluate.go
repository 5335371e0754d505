package pipeline

import (
	"capgnn/graph"
	"capgnn/internal/learn"
	"capgnn/internal/meet"
)

// evaluate runs a forward pass over every row on all parts, scores each split and returns the loss of validation. Logits stay on the devices; the host sees a
// chunk at a time.
func (t *Trainer) evaluate() (learn.Metrics, error) {
	own := make([]learn.Evidence, len(t.workers))
	err := t.logits(func(at int, ids []graph.NodeID, rows []float32) { t.Task.Count(&own[at], ids, rows) })
	if err != nil {
		return learn.Metrics{}, err
	}
	t.Received() // what travels to evaluate counts for no epoch
	return t.Scores(own)
}

// logits has count see the logits of every vertex that this process evaluates, with the place of the part that made them.
func (t *Trainer) logits(count func(at int, ids []graph.NodeID, rows []float32)) error {
	if t.o.phased() {
		return t.layeredLogits(count)
	}
	return t.each(func(w *worker) error {
		err := meet.Guard(func() {
			w.turns.run(ofEvaluation)
			w.logits = w.eval.Forward(w.Compute, w.evalHalo, 0)
		})
		if err != nil {
			return err
		}
		defer w.turns.over() // logits lie there
		if err := w.Sync(); err != nil {
			return err
		}
		return w.emit(t.Hub.Context(), w.logits, func(ids []graph.NodeID, rows []float32) error {
			count(w.At, ids, rows)
			return nil
		})
	})
}
