package pipeline

import (
	"encoding/binary"
	"fmt"
	"slices"

	"capgnn/gnn"
	"capgnn/graph"
	"capgnn/hostmem"
	"capgnn/internal/learn"
	"capgnn/internal/meet"
)

// evaluate runs a forward pass over every row on all parts, scores each split and returns the loss of validation. Logits stay on the devices; the host sees a
// chunk at a time.
func (t *Trainer) evaluate() (learn.Metrics, *float64, error) {
	own := make([]learn.Evidence, len(t.workers))
	err := t.logits(func(at int, ids []graph.NodeID, rows []float32) { t.judge.Count(&own[at], ids, rows) })
	if err != nil {
		return learn.Metrics{}, nil, err
	}
	t.receivedInEpoch() // what travels to evaluate counts for no epoch
	return t.scores(own)
}

// scores returns what is made of the evidence of all parts: that of this process is given.
func (t *Trainer) scores(own []learn.Evidence) (learn.Metrics, *float64, error) {
	if t.o.Ranks == nil {
		m, loss := t.judge.Metrics(own)
		return m, loss, nil
	}
	learn.Fold(own)
	all, err := gather(t.hub.Context(), t, tagEvaluation, own)
	if err != nil {
		return learn.Metrics{}, nil, err
	}
	m, loss := t.judge.Counted(all)
	if t.judge.Ranks() {
		by := m.ByClass
		m, err = t.rank(own)
		m.ByClass = by
	}
	return m, loss, err
}

// rank returns the metrics by ranks of scores: rank 0 gets those of all, a label at a time, and tells the others what it makes of them.
func (t *Trainer) rank(own []learn.Evidence) (learn.Metrics, error) {
	m, err := t.judge.Rank(func(split, label int) (r gnn.Ranked, err error) {
		for i := range own {
			if of := own[i].Ranked[split]; of != nil {
				r.Pos, r.Neg = append(r.Pos, of[label].Pos...), append(r.Neg, of[label].Neg...)
			}
		}
		head := binary.LittleEndian.AppendUint64(nil, uint64(len(r.Pos)))
		from, err := t.collect(t.hub.Context(), tagScores, slices.Concat(head, hostmem.Bytes(r.Pos), hostmem.Bytes(r.Neg)))
		if err != nil || !t.o.leads() {
			return gnn.Ranked{}, err
		}
		for rank, b := range from[1:] {
			if len(b) < 8 || len(b)%4 != 0 || binary.LittleEndian.Uint64(b) > uint64(len(b)-8)/4 {
				return r, fmt.Errorf("read scores of rank %d: it sent %d bytes", rank+1, len(b))
			}
			scores := make([]float32, len(b)/4-2)
			copy(hostmem.Bytes(scores), b[8:])
			pos := binary.LittleEndian.Uint64(b)
			r.Pos, r.Neg = append(r.Pos, scores[:pos]...), append(r.Neg, scores[pos:]...)
		}
		return r, nil
	})
	if err != nil {
		return m, err
	}
	return fromRank0(t.hub.Context(), t, tagScores, m)
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
