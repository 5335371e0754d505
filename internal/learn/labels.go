package learn

import (
	"errors"
	"fmt"
	"runtime"
	"sync"

	"capgnn/gnn"
	"capgnn/graph"
)

// Labels is the Kind of tasks that classify vertices: one label each or several, as the Problem has them. The loss of
// one label is weighted and smoothed as torch.nn.CrossEntropyLoss(weight, label_smoothing) is (docs/mathematics.md,
// docs/adr/0050). With the weights w, the smoothing s, C classes and p = softmax(logits) that of a vertex of class y is
//
//	l = −(1 − s)·w[y]·log p[y] − s/C·Σ_c w[c]·log p[c]
//
// and that of a set Σ l / Σ w[y].
type Labels struct {
	Metric    Metric    // what is scored, and by which validation score the best weights are chosen; "" = Auto
	Weights   []float64 // by class, ≥ 0; nil: 1
	Smoothing float64   // share of each target that is spread over all classes, [0, 1)
}

var _ Kind = Labels{}

// Of implements Kind.
func (l Labels) Of(p *Problem) (Task, error) {
	metric, err := l.Metric.Of(p)
	if err != nil {
		err = fmt.Errorf("metric %w", err)
	}
	var missing error
	if (p.Labels == nil) == (p.Targets == nil) {
		missing = errors.New("need labels or targets, and not both")
	}
	if err := errors.Join(missing, l.check(p.Classes, p.Targets != nil), err); err != nil {
		return nil, err
	}
	of := labels{p, metric}
	if p.Targets != nil {
		return &severalLabels{of}, nil
	}
	return &oneLabel{of, l}, nil
}

// labels is what classifying with one label and with several have in common.
type labels struct {
	p      *Problem
	metric Metric
}

// Check implements Task.
func (l *labels) Check(m gnn.Config) error {
	if m.Out == l.p.Classes && m.Multi == (l.p.Targets != nil) {
		return nil
	}
	return fmt.Errorf("the model has %d outputs (multi-label: %t), the data %d classes", m.Out, m.Multi, l.p.Classes)
}

// Metric implements Task.
func (l *labels) Metric() Metric { return l.metric }

// Ranks implements Task.
func (l *labels) Ranks() bool { return l.metric.ranks() }

// eachSplit calls f for the splits that there are, with which of some vertices are in them.
func (l *labels) eachSplit(ids []graph.NodeID, f func(s int, in []bool)) {
	for s, mask := range l.p.splits() {
		if len(mask) == 0 {
			continue
		}
		in := make([]bool, len(ids))
		for i, v := range ids {
			in[i] = mask[v]
		}
		f(s, in)
	}
}

// countsClasses reports whether predictions of a split are counted by class.
func (l *labels) countsClasses(s int) bool {
	return l.metric == MacroF1 || s == test && l.p.Classes <= MaxClasses
}

// ranked returns the scores of a split's vertices by label, to be added to; nil: none are ranked.
func (l *labels) ranked(e *Evidence, s int) []gnn.Ranked {
	if l.Ranks() && e.Ranked[s] == nil {
		e.Ranked[s] = make([]gnn.Ranked, l.p.Classes)
	}
	return e.Ranked[s]
}

// metrics returns the scores of splits: macro-F1, or what score makes of a split that has a vertex.
func (l *labels) metrics(sum [len(splitNames)]Tally, pairs []int, score func(Tally) float64) Metrics {
	of := func(n Tally) *float64 {
		if n.Total+n.Members == 0 {
			return nil
		}
		if l.metric == MacroF1 {
			return n.macroF1(l.p.Targets != nil)
		}
		value := score(n)
		return &value
	}
	return Metrics{Train: of(sum[0]), Val: of(sum[validation]), Test: of(sum[test]),
		ValLoss: sum[validation].FiniteLoss(), ByClass: l.p.byClass(sum[test], pairs)}
}

// macroF1 returns the mean F1 of the classes that a vertex has or was given, multi-label of all, in their order; nil:
// there is none.
func (a Tally) macroF1(multi bool) *float64 {
	sum, n := 0.0, 0
	for _, c := range a.Classes {
		if multi || c != (gnn.F1Counts{}) {
			sum, n = sum+c.Score(), n+1
		}
	}
	if n == 0 {
		return nil
	}
	sum /= float64(n)
	return &sum
}

// rank is Rank of so many labels: of every split the mean over those that apply to some of its vertices and not to
// others, in their order; nil if there is none.
func (l *labels) rank(labels int, of func(split, label int) (gnn.Ranked, error)) (m Metrics, err error) {
	values := make([]*float64, len(splitNames)*labels)
	var wait sync.WaitGroup
	room := make(chan struct{}, runtime.GOMAXPROCS(0)) // lists that are sorted at a time
	for at := range values {
		var r gnn.Ranked
		if r, err = of(at/labels, at%labels); err != nil {
			break
		}
		room <- struct{}{}
		wait.Go(func() { // ends before Rank does
			defer func() { <-room }()
			values[at] = l.metric.rankOf(&r)
		})
	}
	wait.Wait()
	for s, into := range []**float64{&m.Train, &m.Val, &m.Test} {
		*into = mean(values[s*labels:][:labels])
	}
	return m, err
}

// rankOf returns the score of one label; nil if it applies to all, or to none.
func (m Metric) rankOf(r *gnn.Ranked) *float64 {
	value, ok := 0.0, false
	if m == ROCAUC {
		value, ok = r.ROCAUC()
	} else {
		value, ok = r.AveragePrecision()
	}
	if !ok {
		return nil
	}
	return &value
}

// mean returns that of the values that are there; nil: none is.
func mean(values []*float64) *float64 {
	sum, n := 0.0, 0
	for _, v := range values {
		if v != nil {
			sum, n = sum+*v, n+1
		}
	}
	if n == 0 {
		return nil
	}
	sum /= float64(n)
	return &sum
}
