package learn

import (
	"fmt"
	"maps"
	"runtime"
	"slices"
	"strings"
	"sync"

	"capgnn/gnn"
	"capgnn/graph"
)

// Metric scores logits, in [0, 1]; higher is better.
type Metric string

// The metrics.
const (
	Auto             Metric = "auto"              // Accuracy, or MicroF1 of multi-label problems
	Accuracy         Metric = "accuracy"          // one label per vertex
	MicroF1          Metric = "micro-f1"          // multi-label
	MacroF1          Metric = "macro-f1"          // mean over the classes that some vertex has or was predicted to have; multi-label: over all
	ROCAUC           Metric = "roc-auc"           // of the positive one of two classes, by the difference of their logits; multi-label: mean over the labels that some vertices have and others do not
	AveragePrecision Metric = "average-precision" // as ROCAUC
)

// AllMetrics are all of them.
var AllMetrics = []Metric{Auto, Accuracy, MicroF1, MacroF1, ROCAUC, AveragePrecision}

// OfTwo reports whether the metric is of one of the problem's two classes, the positive one.
func (m Metric) OfTwo(p *Problem) bool { return m.ranks() && p.Targets == nil }

// ranks reports whether the metric needs the scores of all vertices of a split at once.
func (m Metric) ranks() bool { return m == ROCAUC || m == AveragePrecision }

// Of returns the metric of a problem: what Auto is, or why it has none.
func (m Metric) Of(p *Problem) (Metric, error) {
	multi := p.Targets != nil
	switch m {
	case Auto, "":
		if multi {
			return MicroF1, nil
		}
		return Accuracy, nil
	case Accuracy:
		if multi {
			return m, fmt.Errorf("%s is of one label per vertex, these have several: choose %s or %s", m, MicroF1, MacroF1)
		}
	case MicroF1:
		if !multi {
			return m, fmt.Errorf("%s of one label per vertex is the accuracy: choose %s or %s", m, Accuracy, MacroF1)
		}
	case ROCAUC, AveragePrecision:
		if !multi && p.Classes != 2 {
			return m, fmt.Errorf("%s is of two classes or of several labels per vertex, these have one of %d%s: choose %s or %s",
				m, p.Classes, p.emptyClasses(), Accuracy, MacroF1)
		}
	}
	return m, nil
}

// emptyClasses says that all but two classes have no vertex, as of labels that count from 1; "": others have some, or it
// is not known.
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

// splitNames are those of a problem's splits, in their order everywhere.
var splitNames = [...]string{"train", "val", "test"}

func (p *Problem) splits() [len(splitNames)][]bool { return [...][]bool{p.Train, p.Val, p.Test} }

// Gaps says how many classes each split lacks, or has at every vertex where the metric needs both; "": none. Splits without vertices do not count. Nothing is said
// of a problem in shards, as no process has all of its labels.
func (m Metric) Gaps(p *Problem) string {
	if p.Shards != nil || m != MacroF1 && !m.ranks() {
		return ""
	}
	var list []string
	for s, mask := range p.splits() {
		has, members := p.members(mask)
		missing := 0
		for _, n := range has {
			if n == 0 || m.ranks() && n == members {
				missing++
			}
		}
		if missing > 0 && members > 0 {
			list = append(list, fmt.Sprintf("%d of %d in %s", missing, len(has), splitNames[s]))
		}
	}
	return strings.Join(list, ", ")
}

// Scores reports whether the vertices of a split have a score; a problem in shards is said to have one, as no process has all of its labels.
func (m Metric) Scores(p *Problem, mask []bool) bool {
	if p.Shards != nil {
		return true
	}
	has, members := p.members(mask)
	if !m.ranks() {
		return members > 0
	}
	return slices.ContainsFunc(has, func(n int) bool { return n > 0 && n < members })
}

// ClassSizes returns how many vertices each class (label) has in every split, and in none of them; vertices without a label count nowhere. nil: no process has all labels.
func (p *Problem) ClassSizes() map[string][]int {
	if p.Shards != nil {
		return nil
	}
	out, none := map[string][]int{}, make([]bool, max(len(p.Labels), len(p.Targets)/max(p.Classes, 1))) // the graph may have been given back
	for v := range none {
		none[v] = true
	}
	for s, mask := range p.splits() {
		out[splitNames[s]], _ = p.members(mask)
		for v, in := range mask {
			none[v] = none[v] && !in
		}
	}
	out["none"], _ = p.members(none)
	return out
}

// members returns how many vertices of a split each class has, and how many there are.
func (p *Problem) members(mask []bool) (has []int, all int) {
	has = make([]int, p.Classes)
	for v, in := range mask {
		switch {
		case !in || p.Labels != nil && p.Labels[v] < 0:
			continue
		case p.Labels != nil:
			has[p.Labels[v]]++
		default:
			for c, t := range p.Targets[v*p.Classes:][:p.Classes] {
				has[c] += int(t)
			}
		}
		all++
	}
	return has, all
}

// Judge scores the logits of a problem's splits.
type Judge struct {
	p      *Problem
	metric Metric
}

// NewJudge returns one that scores by a metric, which the problem has.
func NewJudge(p *Problem, m Metric) *Judge {
	m, err := m.Of(p)
	if err != nil {
		panic("learn: " + err.Error())
	}
	return &Judge{p: p, metric: m}
}

// Metric returns by what it scores.
func (j *Judge) Metric() Metric { return j.metric }

// Ranks reports whether scores of all vertices are looked at together: Metrics then takes what Rank returns.
func (j *Judge) Ranks() bool { return j.metric.ranks() }

// Splits, by their places: validation is the one whose loss is added up, test the one of which a ByClass is.
const validation, test = 1, 2

// Evidence is what has been counted of some vertices.
type Evidence struct {
	Splits [len(splitNames)]Tally
	Ranked [len(splitNames)][]gnn.Ranked `json:"-"` // by label, of a Judge that Ranks
	// Confused counts the test split in place of its Tally, as gnn.Confuse does; nil: it has no vertex here, or problems of its kind have a Tally.
	Confused []int `json:",omitempty"`
}

// Count adds the logits of some vertices.
func (j *Judge) Count(e *Evidence, ids []graph.NodeID, logits []float32) {
	for s, mask := range j.p.splits() {
		if s == test && len(mask) > 0 && j.p.confuses() {
			j.p.confuse(e, ids, logits, mask) // which says all that is to be known of the split
		} else {
			n := j.p.Count(ids, logits, mask, s == validation)
			if len(mask) > 0 && (j.metric == MacroF1 || s == test && j.p.Classes <= MaxClasses) {
				n.Classes = j.p.countClasses(ids, logits, mask)
			}
			e.Splits[s] = e.Splits[s].Add(n)
		}
		if j.Ranks() && len(mask) > 0 {
			e.Ranked[s] = j.p.rank(e.Ranked[s], ids, logits, mask)
		}
	}
}

// countClasses counts predictions by class.
func (p *Problem) countClasses(ids []graph.NodeID, logits []float32, mask []bool) []gnn.F1Counts {
	in, labels, targets := p.pick(ids, mask)
	if p.Targets != nil {
		return gnn.LabelCounts(logits, p.Classes, targets, in)
	}
	return gnn.ClassCounts(logits, p.Classes, labels, in)
}

// rank adds the scores of some vertices, those of mask, to those of a split.
func (p *Problem) rank(r []gnn.Ranked, ids []graph.NodeID, logits []float32, mask []bool) []gnn.Ranked {
	if r == nil {
		r = make([]gnn.Ranked, p.rankedLabels())
	}
	for i, v := range ids {
		row := logits[i*p.Classes:][:p.Classes]
		switch {
		case !mask[v] || p.Labels != nil && p.label(v) < 0:
		case p.Labels != nil:
			yes := p.Positive()
			r[0].Add(row[yes]-row[1-yes], p.label(v) == int32(yes))
		default:
			for c, t := range p.TargetsOf(v) {
				r[c].Add(row[c], t != 0)
			}
		}
	}
	return r
}

// Positive returns the positive class of two.
func (p *Problem) Positive() int {
	if p.PositiveFirst {
		return 0
	}
	return 1
}

// rankedLabels returns how many labels have scores of their own: of two classes the positive one.
func (p *Problem) rankedLabels() int {
	if p.Targets == nil {
		return 1
	}
	return p.Classes
}

// Metrics returns the scores of all vertices and the loss of validation: of what parts have counted, in their order. A Judge that Ranks has its scores from Rank, which
// here is asked of what the evidence holds.
func (j *Judge) Metrics(all []Evidence) Metrics {
	m := j.Counted(all)
	if j.Ranks() {
		r, _ := j.Rank(func(split, label int) (r gnn.Ranked, err error) {
			for i := range all {
				if of := all[i].Ranked[split]; of != nil {
					r.Pos, r.Neg = append(r.Pos, of[label].Pos...), append(r.Neg, of[label].Neg...)
				}
			}
			return r, nil
		})
		m.Train, m.Val, m.Test = r.Train, r.Val, r.Test
	}
	return m
}

// Counted is Metrics without what Rank returns.
func (j *Judge) Counted(all []Evidence) Metrics {
	var sum [len(splitNames)]Tally
	for i := range all {
		for s := range sum {
			sum[s] = sum[s].Add(all[i].Splits[s])
		}
	}
	var pairs []int
	if j.p.confuses() {
		pairs = confused(all)
		sum[test] = j.p.tallyOf(pairs)
	}
	score := func(t Tally) *float64 {
		if j.metric == MacroF1 {
			return t.macroF1(j.p.Targets != nil)
		}
		return t.Score(j.p.Targets != nil)
	}
	return Metrics{score(sum[0]), score(sum[validation]), score(sum[test]), sum[validation].FiniteLoss(), j.p.byClass(sum[test], pairs), false}
}

// macroF1 returns the mean F1 of the classes that a vertex has or was given, of multi-label problems of all labels, in their order; nil if there is no vertex.
func (a Tally) macroF1(multi bool) *float64 {
	sum, n := 0.0, 0
	for _, c := range a.Classes {
		if multi || c != (gnn.F1Counts{}) {
			sum, n = sum+c.Score(), n+1
		}
	}
	if a.Total+a.Members == 0 || n == 0 {
		return nil
	}
	sum /= float64(n)
	return &sum
}

// Rank returns the scores by rank: of every split the mean over the labels that apply to some of its vertices and not to others, in their order; nil if there is none. of
// returns what all vertices of a split have, for one label after another, split by split; its error ends it.
func (j *Judge) Rank(of func(split, label int) (gnn.Ranked, error)) (m Metrics, err error) {
	labels := j.p.rankedLabels()
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
			values[at] = j.metric.rankOf(&r)
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
