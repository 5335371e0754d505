package learn

import (
	"cmp"
	"slices"

	"capgnn/gnn"
)

// A run keeps scores by class for at most MaxClasses classes, and counts vertices by pairs of classes for at most
// maxConfused (64 Ki pairs). Confusion has the MaxConfusion largest classes.
const (
	MaxClasses   = 1000
	maxConfused  = 256
	MaxConfusion = 20
)

// ByClass says how the vertices of the test split were predicted, class by class. Of multi-label problems a class is a
// label.
type ByClass struct {
	Counts []gnn.F1Counts // of every class
	// Largest are the classes of Confusion, ascending: all, or those of which most test vertices are. Confusion[i][k]
	// is how many vertices of class Largest[i] were predicted to be of class Largest[k]. nil: multi-label, or too many
	// classes.
	Largest   []int   `json:",omitempty"`
	Confusion [][]int `json:",omitempty"`
}

// ClassScore is what a class has of scores. All are in [0, 1].
type ClassScore struct {
	Class     int
	Support   int      // vertices of the class
	Precision *float64 // of the vertices predicted to be of the class, the share that are; nil: none was predicted
	Recall    *float64 // of the vertices of the class, the share predicted to be; nil: the class has none
	// F1 is the harmonic mean of both, 0 if no vertex of the class was predicted to be; nil: none is of the class or
	// was predicted to be.
	F1 *float64
}

// Scores returns those of every class.
func (b *ByClass) Scores() []ClassScore {
	out := make([]ClassScore, len(b.Counts))
	for c, n := range b.Counts {
		s := ClassScore{Class: c, Support: n.TP + n.FN}
		s.Precision, s.Recall = ratio(n.TP, n.TP+n.FP), ratio(n.TP, n.TP+n.FN)
		if n != (gnn.F1Counts{}) {
			f1 := n.Score()
			s.F1 = &f1
		}
		out[c] = s
	}
	return out
}

// ratio returns a/b, nil for b = 0.
func ratio(a, b int) *float64 {
	if b == 0 {
		return nil
	}
	x := float64(a) / float64(b)
	return &x
}

// Fold moves what all have counted by pairs of classes to the first, so that less of it travels to other processes.
func Fold(own []Evidence) {
	for i := 1; i < len(own); i++ {
		own[0].Confused, own[i].Confused = addPairs(own[0].Confused, own[i].Confused), nil
	}
}

// addPairs adds b to a, which it may take.
func addPairs(a, b []int) []int {
	if len(a) == 0 || len(b) == 0 {
		return append(a, b...)
	}
	for i := range min(len(a), len(b)) { // alike, but that of another process is not believed
		a[i] += b[i]
	}
	return a
}

// confused adds up what all have counted by pairs of classes.
func confused(all []Evidence) (pairs []int) {
	for i := range all {
		pairs = addPairs(pairs, all[i].Confused)
	}
	return pairs
}

// tallyOf returns what pairs of classes say of a split.
func (p *Problem) tallyOf(pairs []int) Tally {
	wide := p.Classes + 1
	if len(pairs) != p.Classes*wide {
		return Tally{}
	}
	n := Tally{Classes: make([]gnn.F1Counts, p.Classes)}
	for k, x := range pairs {
		is, said := k/wide, k%wide
		n.Total += x
		if is == said {
			n.Correct += x
			n.Classes[is].TP += x
			continue
		}
		n.Classes[is].FN += x
		if said < p.Classes {
			n.Classes[said].FP += x
		}
	}
	return n
}

// byClass returns what was counted of the test split, also by pairs of classes, nil: not so; nil: it has no vertex.
func (p *Problem) byClass(n Tally, pairs []int) *ByClass {
	if n.Classes == nil || p.Classes > MaxClasses || n.Total+n.Members == 0 {
		return nil
	}
	b := &ByClass{Counts: n.Classes}
	if pairs == nil {
		return b
	}
	b.Largest = largestClasses(n.Classes)
	for _, is := range b.Largest {
		row := make([]int, len(b.Largest))
		for k, said := range b.Largest {
			row[k] = pairs[is*(p.Classes+1)+said]
		}
		b.Confusion = append(b.Confusion, row)
	}
	return b
}

// largestClasses returns the MaxConfusion classes of which most vertices are, of equal ones the first, ascending.
func largestClasses(counts []gnn.F1Counts) []int {
	list := make([]int, len(counts))
	for c := range list {
		list[c] = c
	}
	size := func(c int) int { return counts[c].TP + counts[c].FN }
	slices.SortStableFunc(list, func(a, b int) int { return cmp.Compare(size(b), size(a)) })
	list = list[:min(len(list), MaxConfusion)]
	slices.Sort(list)
	return list
}
