package learn

import (
	"fmt"
	"slices"
	"strings"
)

// Metric scores logits, in [0, 1]; higher is better.
type Metric string

// The metrics.
const (
	Auto     Metric = "auto"     // Accuracy, or MicroF1 of multi-label problems
	Accuracy Metric = "accuracy" // one label per vertex
	MicroF1  Metric = "micro-f1" // multi-label
	// MacroF1 is the mean over the classes that some vertex has or was predicted to have; multi-label: over all.
	MacroF1 Metric = "macro-f1"
	// ROCAUC is of the positive one of two classes, by the difference of their logits; multi-label: mean over the
	// labels that some vertices have and others do not.
	ROCAUC           Metric = "roc-auc"
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
	if p.Targets != nil {
		return m.ofSeveralLabels()
	}
	return m.ofOneLabel(p)
}

// splitNames are those of a problem's splits, in their order everywhere.
var splitNames = [...]string{"train", "val", "test"}

func (p *Problem) splits() [len(splitNames)][]bool { return [...][]bool{p.Train, p.Val, p.Test} }

// Gaps says how many classes each split lacks, or has at every vertex where the metric needs both; "": none. Splits
// without vertices do not count. Nothing is said of a problem in shards, as no process has all of its labels.
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

// Scores reports whether the vertices of a split have a score; a problem in shards is said to have one, as no process
// has all of its labels.
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

// ClassSizes returns how many vertices each class (label) has in every split, and in none of them; vertices without a
// label count nowhere. nil: no process has all labels.
func (p *Problem) ClassSizes() map[string][]int {
	if p.Shards != nil {
		return nil
	}
	// The graph may have been given back.
	out, none := map[string][]int{}, make([]bool, max(len(p.Labels), len(p.Targets)/max(p.Classes, 1)))
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

// Positive returns the positive class of two.
func (p *Problem) Positive() int {
	if p.PositiveFirst {
		return 0
	}
	return 1
}
