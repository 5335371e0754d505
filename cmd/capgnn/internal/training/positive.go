package training

import (
	"fmt"
	"slices"
	"strconv"

	"golang.org/x/text/unicode/norm"

	"capgnn/cmd/capgnn/internal/term"
	"capgnn/internal/learn"
)

// settlePositive settles which of two classes is the positive one of the metrics by rank: --metric positive=, else class 1.
func (t *Run) settlePositive() error {
	p, m, want := t.Data.Problem, t.metric(), t.Config.Positive
	if !m.OfTwo(p) {
		if want != "" {
			return fmt.Errorf("--metric positive=%s: chooses one of two classes, and %s has vertices with several labels: drop it", want, t.Data.Name)
		}
		return nil
	}
	if want != "" {
		class := slices.Index(t.Data.Names.Classes, norm.NFC.String(want))
		if n, err := strconv.Atoi(want); class < 0 && err == nil && (n == 0 || n == 1) {
			class = n
		}
		if class < 0 {
			return fmt.Errorf("--metric positive=%s is neither of the classes %s and %s", want, t.className(0), t.className(1))
		}
		p.PositiveFirst = class == 0
		return nil
	}
	sizes := [2]int{}
	for _, of := range p.ClassSizes() {
		sizes[0], sizes[1] = sizes[0]+of[0], sizes[1]+of[1]
	}
	if share := float64(sizes[1]) / float64(max(1, sizes[0]+sizes[1])); m == learn.AveragePrecision && share > 0.5 {
		t.Console.Note("note: --metric %s is of class %s, which %s of the labelled vertices have; --metric positive=%s takes the other one", m, t.className(1), term.Percentage(share), t.className(0))
	}
	return nil
}

// positive is what the positive class of two is called; "": the metric has none.
func (t *Run) positive() string {
	if !t.metric().OfTwo(t.Data.Problem) {
		return ""
	}
	return t.className(t.Data.Problem.Positive())
}

// className is what a class is called: its name, else its number.
func (t *Run) className(class int) string {
	if names := t.Data.Names.Classes; class < len(names) {
		return names[class]
	}
	return strconv.Itoa(class)
}
