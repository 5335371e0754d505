package learn

import (
	"fmt"
	"iter"

	"capgnn/gnn"
	"capgnn/gpu"
	"capgnn/graph"
)

// severalLabels is the task of vertices that have any number of labels each: cross-entropy of each label, micro-F1.
type severalLabels struct{ labels }

// Targets implements Task.
func (t *severalLabels) Targets(all bool) []Targets {
	classes := t.p.Classes
	list := []Targets{{Name: "targets", Size: func(rows int) int { return rows * classes }}}
	list[0].Fill = func(dst []byte, ids []graph.NodeID, _ func(int) bool) {
		for i, v := range ids {
			copy(dst[i*classes:], t.p.targets(v))
		}
	}
	if all {
		return list
	}
	mask := Targets{Name: "training mask", Size: func(rows int) int { return rows }}
	mask.Fill = func(dst []byte, ids []graph.NodeID, counts func(int) bool) {
		for i := range ids {
			if dst[i] = 0; counts(i) {
				dst[i] = 1
			}
		}
	}
	return append(list, mask)
}

// Even implements Task.
func (t *severalLabels) Even() bool { return true }

// Terms implements Task.
func (t *severalLabels) Terms(n int, _ iter.Seq[graph.NodeID]) float64 {
	return float64(n * t.p.Classes)
}

// On implements Task.
func (t *severalLabels) On(func(gpu.Bytes, string) gpu.Buffer, gpu.Queue, func() gpu.Queue, int) Loss {
	return Loss{Enqueue: func(q gpu.Queue, x Compared) {
		a := gpu.LossArgs{Logits: x.Logits, Grad: x.Grad, Targets: x.Targets[0], Scale: x.Scale, Loss: x.Sum}
		if len(x.Targets) > 1 {
			a.Mask = x.Targets[1]
		}
		q.BCELoss(a)
	}}
}

// Count implements Task.
func (t *severalLabels) Count(e *Evidence, ids []graph.NodeID, logits []float32) {
	classes := t.p.Classes
	targets := make([]uint8, 0, len(ids)*classes)
	for _, v := range ids {
		targets = append(targets, t.p.targets(v)...)
	}
	t.eachSplit(ids, func(s int, in []bool) {
		n := Tally{F1: gnn.MicroF1(logits, classes, targets, in)}
		for _, member := range in {
			if member {
				n.Members++
			}
		}
		if s == validation {
			n.takeLoss(gnn.BinaryCrossEntropy(logits, classes, targets, in))
		}
		if t.countsClasses(s) {
			n.Classes = gnn.LabelCounts(logits, classes, targets, in)
		}
		e.Splits[s] = e.Splits[s].Add(n)
		for i, r := 0, t.ranked(e, s); r != nil && i < len(ids); i++ {
			for c := 0; in[i] && c < classes; c++ {
				r[c].Add(logits[i*classes+c], targets[i*classes+c] != 0)
			}
		}
	})
}

// Counted implements Task.
func (t *severalLabels) Counted(all []Evidence) Metrics {
	return t.metrics(sumOf(all), nil, func(n Tally) float64 { return n.F1.Score() })
}

// Rank implements Task.
func (t *severalLabels) Rank(of func(split, label int) (gnn.Ranked, error)) (Metrics, error) {
	return t.rank(t.p.Classes, of)
}

// ofSeveralLabels is Of.
func (m Metric) ofSeveralLabels() (Metric, error) {
	switch m {
	case Auto, "":
		return MicroF1, nil
	case Accuracy:
		return m, fmt.Errorf("%s is of one label per vertex, these have several: choose %s or %s", m, MicroF1, MacroF1)
	}
	return m, nil
}
