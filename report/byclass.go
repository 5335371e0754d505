package report

import (
	"cmp"
	"fmt"
	"slices"

	"capgnn/internal/runfile"
)

// shownClasses is how many classes are shown; smaller ones are folded away.
const shownClasses = 20

// className is the number of a class, with its name where it has one.
func (r *Run) className(class int) string {
	if names := r.Result.Classes; class >= 0 && class < len(names) {
		return fmt.Sprintf("%d %s", class, names[class])
	}
	return fmt.Sprint(class)
}

// multiLabel reports whether vertices have several labels.
func (r *Run) multiLabel() bool { return r.Result.Several || r.Result.Metric == "micro-f1" }

// classSection draws how the test set was predicted, class by class.
func (r *Run) classSection() (section, bool) {
	if r.Result == nil || len(r.Result.ByClass) == 0 {
		return section{}, false
	}
	text := "How the vertices of the test set were predicted"
	if r.Result.BestEpoch != nil {
		text += fmt.Sprintf(" by the weights of epoch %d", *r.Result.BestEpoch)
	}
	pictures := []any{r.classTable()}
	if m := r.confusionMatrix(); m != nil {
		pictures = append(pictures, m)
	}
	return sectionOf("Test set by class", text+".", pictures...)
}

// classTable lists the scores of classes: of more than shownClasses the largest first, the others folded away.
func (r *Run) classTable() *table {
	what, list := "class", r.Result.ByClass
	if r.multiLabel() {
		what = "label"
	}
	t := &table{ID: "by-class", Beside: true, Columns: []string{what, "support", "precision", "recall", "F1"},
		Note: "Support: test vertices that have this " + what + ". Precision: the share that has it of the vertices predicted to have it. Recall: the share predicted to have it of the vertices that have it. F1: harmonic mean of both."}
	if len(list) > shownClasses {
		list = slices.Clone(list)
		slices.SortStableFunc(list, func(a, b runfile.ClassScore) int { return cmp.Compare(b.Support, a.Support) })
	}
	var mean [3]float64
	support, counted := 0.0, 0.0
	for i, c := range list {
		row := []string{r.className(c.Class), written(count, float64(c.Support))}
		for k, x := range []*float64{c.Precision, c.Recall, c.F1} {
			row = append(row, written(score, or(x)))
			if x != nil {
				mean[k] += *x
			}
		}
		support += float64(c.Support)
		if c.F1 != nil || r.multiLabel() {
			counted++
		}
		if i < shownClasses {
			t.Rows = append(t.Rows, row)
		} else {
			t.Rest = append(t.Rest, row)
		}
	}
	if counted > 0 {
		last := []string{"mean", written(count, support)}
		for _, sum := range mean {
			last = append(last, written(score, sum/counted))
		}
		t.Rows = append(t.Rows, last)
		over := "the classes that some test vertex has or was predicted to have"
		if r.multiLabel() {
			over = "all labels"
		}
		t.Note += " Mean: over " + over + ", where an undefined score (-) counts as 0; its support is the sum."
	}
	if t.Rest != nil {
		t.RestTitle = fmt.Sprintf("The other %d %s", len(t.Rest), map[bool]string{false: "classes", true: "labels"}[r.multiLabel()])
		if len(t.Rest) == 1 {
			t.RestTitle = "The other " + what
		}
	}
	return t
}

// confusionMatrix draws which classes are taken for which: the darker a cell, the larger its share of the class.
func (r *Run) confusionMatrix() *matrix {
	c := r.Result.Confusion
	if c == nil || len(c.Classes) != len(c.Counts) {
		return nil
	}
	m := matrix{ID: "confusion", Title: "Confusion matrix of the test set", Down: "class", Across: "predicted class", texts: shownClasses,
		Note: "Rows are true classes, columns are predicted classes. The darker a cell, the larger its share of its row."}
	if more := len(r.Result.ByClass) - len(c.Classes); more > 0 {
		m.Note += fmt.Sprintf(" Only the %d largest classes are drawn: vertices that have another class, or for which another one was predicted, are left out.", len(c.Classes))
	}
	support := map[int]float64{}
	for _, s := range r.Result.ByClass {
		support[s.Class] = float64(s.Support)
	}
	for _, class := range c.Classes {
		m.labels, m.rows = append(m.labels, fmt.Sprint(class)), append(m.rows, support[class])
	}
	m.says = func(i, j int, n string) string {
		return fmt.Sprintf("%s of %s of class %s predicted as %s", n, written(count, m.rows[i]), r.className(c.Classes[i]), r.className(c.Classes[j]))
	}
	return matrixOf(m, count, c.Counts)
}
