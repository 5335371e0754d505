package learn

import (
	"fmt"
	"iter"
	"maps"
	"slices"

	"capgnn/gnn"
	"capgnn/gpu"
	"capgnn/graph"
	"capgnn/hostmem"
)

// oneLabel is the task of vertices that have one class each: cross-entropy, accuracy.
type oneLabel struct {
	labels
	loss Labels
}

// Targets implements Task. Rows that do not count have label −1; for a weighing they are of a class of their own.
func (t *oneLabel) Targets(all bool) []Targets {
	size := func(rows int) int { return 4 * rows }
	list := []Targets{{"labels", size, t.fill(-1)}}
	if !all && !t.loss.plain() {
		list = append(list, Targets{"classes of rows", size, t.fill(int32(t.p.Classes))})
	}
	return list
}

// fill writes classes, none for rows that do not count.
func (t *oneLabel) fill(none int32) func(dst []byte, ids []graph.NodeID, counts func(row int) bool) {
	return func(dst []byte, ids []graph.NodeID, counts func(row int) bool) {
		classes := hostmem.Of[int32](dst)
		for i, v := range ids {
			if classes[i] = none; counts == nil || counts(i) {
				classes[i] = t.p.label(v)
			}
		}
	}
}

// Even implements Task.
func (t *oneLabel) Even() bool { return t.loss.Weights == nil }

// Terms implements Task.
func (t *oneLabel) Terms(n int, ids iter.Seq[graph.NodeID]) float64 {
	if t.Even() {
		return float64(n)
	}
	count := make([]int, t.p.Classes)
	for v := range ids {
		count[t.p.label(v)]++
	}
	return t.loss.Total(count)
}

// On implements Task.
func (t *oneLabel) On(alloc func(gpu.Bytes, string) gpu.Buffer, q gpu.Queue, beside func() gpu.Queue, rows int) Loss {
	if w := t.loss.on(alloc, q, beside, t.p.Classes, rows); w != nil {
		return Loss{onHost: w, Enqueue: func(q gpu.Queue, x Compared) {
			w.Loss(q, x.labelled(), ints(x.Targets[len(x.Targets)-1]), x.Host)
		}}
	}
	return Loss{Enqueue: func(q gpu.Queue, x Compared) { q.SoftmaxLoss(x.labelled()) }}
}

// labelled returns what operations of devices read of x.
func (x *Compared) labelled() gpu.LossArgs {
	return gpu.LossArgs{Logits: x.Logits, Grad: x.Grad, Labels: ints(x.Targets[0]), Scale: x.Scale, Loss: x.Sum}
}

// Count implements Task. Pairs of classes, where they are counted, say all that is to be known of the test split.
func (t *oneLabel) Count(e *Evidence, ids []graph.NodeID, logits []float32) {
	list := make([]int32, len(ids))
	for i, v := range ids {
		list[i] = t.p.label(v)
	}
	classes := t.p.Classes
	t.eachSplit(ids, func(s int, in []bool) {
		if s == test && t.confuses() {
			if e.Confused == nil {
				e.Confused = make([]int, classes*(classes+1))
			}
			gnn.Confuse(e.Confused, logits, classes, list, in)
		} else {
			var n Tally
			n.Correct, n.Total = gnn.Accuracy(logits, classes, list, in)
			if s == validation {
				n.takeLoss(gnn.CrossEntropy(logits, classes, list, in))
			}
			if t.countsClasses(s) {
				n.Classes = gnn.ClassCounts(logits, classes, list, in)
			}
			e.Splits[s] = e.Splits[s].Add(n)
		}
		yes := t.p.Positive()
		for i, r := 0, t.ranked(e, s); r != nil && i < len(ids); i++ {
			if row := logits[i*classes:][:classes]; in[i] && list[i] >= 0 {
				r[0].Add(row[yes]-row[1-yes], list[i] == int32(yes))
			}
		}
	})
}

// Counted implements Task.
func (t *oneLabel) Counted(all []Evidence) Metrics {
	sum := sumOf(all)
	var pairs []int
	if t.confuses() {
		pairs = confused(all)
		sum[test] = t.p.tallyOf(pairs)
	}
	return t.metrics(sum, pairs, func(n Tally) float64 { return float64(n.Correct) / float64(n.Total) })
}

// Rank implements Task: of two classes the positive one has scores.
func (t *oneLabel) Rank(of func(split, label int) (gnn.Ranked, error)) (Metrics, error) {
	return t.rank(1, of)
}

// confuses reports whether vertices are counted by pairs of classes.
func (t *oneLabel) confuses() bool { return t.p.Classes <= maxConfused }

// ofOneLabel is Of.
func (m Metric) ofOneLabel(p *Problem) (Metric, error) {
	switch m {
	case Auto, "":
		return Accuracy, nil
	case MicroF1:
		return m, fmt.Errorf("%s of one label per vertex is the accuracy: choose %s or %s", m, Accuracy, MacroF1)
	case ROCAUC, AveragePrecision:
		if p.Classes != 2 {
			return m, fmt.Errorf("%s is of two classes or of several labels per vertex, these have one of %d%s: choose %s or %s",
				m, p.Classes, p.emptyClasses(), Accuracy, MacroF1)
		}
	}
	return m, nil
}

// emptyClasses says that all but two classes have no vertex, as of labels that count from 1; "": others have some, or
// it is not known.
func (p *Problem) emptyClasses() string {
	used := map[int32]bool{}
	for _, y := range p.Labels {
		used[y] = true
	}
	delete(used, -1)
	if len(used) != 2 {
		return ""
	}
	two := slices.Sorted(maps.Keys(used))
	return fmt.Sprintf(", of which only %d and %d have vertices (make two classes of them)", two[0], two[1])
}
