package pipeline

import (
	"math"

	"capgnn/gnn"
	"capgnn/graph"
	"capgnn/internal/meet"
)

// tally is the evidence for the metric of one split.
type tally struct {
	Correct, Total int // single-label: vertices
	F1             gnn.F1Counts
	Members        int    // multi-label: vertices
	Loss           number // over so many terms
	Terms          int
}

func (a tally) add(b tally) tally {
	return tally{a.Correct + b.Correct, a.Total + b.Total, a.F1.Add(b.F1), a.Members + b.Members, a.Loss + b.Loss, a.Terms + b.Terms}
}

// takeLoss sets the loss.
func (a *tally) takeLoss(l gnn.LossSum) { a.Loss, a.Terms = number(l.Sum), l.Terms }

// score returns accuracy, or micro-F1 for multi-label problems; nil if there is no vertex.
func (a tally) score(multi bool) *float64 {
	value := a.F1.Score()
	if !multi {
		value = float64(a.Correct) / float64(max(a.Total, 1))
	}
	if a.Total+a.Members == 0 {
		return nil
	}
	return &value
}

// finiteLoss returns the mean loss of the split; nil where it has no vertex or the loss is no number.
func (a tally) finiteLoss() *float64 {
	mean := gnn.LossSum{Sum: float64(a.Loss), Terms: a.Terms}.Mean()
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
	own := make([][len(splits)]tally, len(t.workers))
	err := t.each(func(w *worker) error {
		if err := meet.Guard(func() { w.logits = w.eval.Forward(w.compute, w.evalHalo, 0) }); err != nil {
			return err
		}
		if err := w.sync(); err != nil {
			return err
		}
		return w.emit(t.hub.Context(), w.logits, func(ids []graph.NodeID, rows []float32) error {
			for s, mask := range splits {
				own[t.at(w)][s] = own[t.at(w)][s].add(p.count(ids, rows, mask, s == validation))
			}
			return nil
		})
	})
	if err != nil {
		return Metrics{}, nil, err
	}
	t.receivedInEpoch() // what travels to evaluate counts for no epoch
	counts, err := gather(t.hub.Context(), t, tagEvaluation, own)
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
				n.Members++
			}
		}
		n.F1 = gnn.MicroF1(logits, p.Classes, targets, in)
		if loss {
			n.takeLoss(gnn.BinaryCrossEntropy(logits, p.Classes, targets, in))
		}
		return n
	}
	labels := make([]int32, len(ids))
	for i, v := range ids {
		labels[i] = p.Labels[v]
	}
	n.Correct, n.Total = gnn.Accuracy(logits, p.Classes, labels, in)
	if loss {
		n.takeLoss(gnn.CrossEntropy(logits, p.Classes, labels, in))
	}
	return n
}
