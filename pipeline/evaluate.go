package pipeline

import (
	"math"

	"capgnn/gnn"
	"capgnn/graph"
	"capgnn/internal/meet"
)

// tally is the evidence for the metric of one split.
type tally struct {
	correct, total int // single-label: vertices
	f1             gnn.F1Counts
	members        int // multi-label: vertices
	loss           gnn.LossSum
}

func (a tally) add(b tally) tally {
	return tally{a.correct + b.correct, a.total + b.total, a.f1.Add(b.f1), a.members + b.members, a.loss.Add(b.loss)}
}

// score returns accuracy, or micro-F1 for multi-label problems; nil if there is no vertex.
func (a tally) score(multi bool) *float64 {
	value := a.f1.Score()
	if !multi {
		value = float64(a.correct) / float64(max(a.total, 1))
	}
	if a.total+a.members == 0 {
		return nil
	}
	return &value
}

// finiteLoss returns the mean loss of the split; nil where it has no vertex or the loss is no number.
func (a tally) finiteLoss() *float64 {
	mean := a.loss.Mean()
	if math.IsNaN(mean) || math.IsInf(mean, 0) {
		return nil
	}
	return &mean
}

// evaluate runs a forward pass over every row on all parts, scores each split and returns the loss of validation. Logits stay on the devices; the host sees a
// chunk at a time.
func (t *Trainer) evaluate() (Metrics, *float64, error) {
	p := t.p
	splits := [3][]bool{p.Train, p.Val, p.Test}
	const validation = 1
	counts := make([][len(splits)]tally, len(t.workers))
	err := t.each(func(w *worker) error {
		if err := meet.Guard(func() { w.logits = w.eval.Forward(w.compute, w.evalHalo, 0) }); err != nil {
			return err
		}
		if err := w.sync(); err != nil {
			return err
		}
		return w.emit(t.hub.Context(), w.logits, func(ids []graph.NodeID, rows []float32) error {
			for s, mask := range splits {
				counts[t.at(w)][s] = counts[t.at(w)][s].add(p.count(ids, rows, mask, s == validation))
			}
			return nil
		})
	})
	if err != nil {
		return Metrics{}, nil, err
	}
	var all [len(splits)]tally
	for _, c := range counts {
		for s := range all {
			all[s] = all[s].add(c[s])
		}
	}
	multi := p.Targets != nil
	return Metrics{Train: all[0].score(multi), Val: all[1].score(multi), Test: all[2].score(multi)}, all[1].finiteLoss(), nil
}

// count compares the logits of some vertices with what is known about those of them that are in mask; loss adds that of them.
func (p *Problem) count(ids []graph.NodeID, logits []float32, mask []bool, loss bool) tally {
	var n tally
	if len(mask) == 0 {
		return n
	}
	in := make([]bool, len(ids))
	for i, v := range ids {
		in[i] = mask[v]
	}
	if p.Targets != nil {
		targets := make([]uint8, 0, len(ids)*p.Classes)
		for _, v := range ids {
			targets = append(targets, p.Targets[int(v)*p.Classes:][:p.Classes]...)
			if mask[v] {
				n.members++
			}
		}
		n.f1 = gnn.MicroF1(logits, p.Classes, targets, in)
		if loss {
			n.loss = gnn.BinaryCrossEntropy(logits, p.Classes, targets, in)
		}
		return n
	}
	labels := make([]int32, len(ids))
	for i, v := range ids {
		labels[i] = p.Labels[v]
	}
	n.correct, n.total = gnn.Accuracy(logits, p.Classes, labels, in)
	if loss {
		n.loss = gnn.CrossEntropy(logits, p.Classes, labels, in)
	}
	return n
}
