package training

import (
	"errors"
	"fmt"

	"capgnn/internal/learn"
)

// settleCriterion settles what the loss weighs, which the data has a say in.
func (t *Run) settleCriterion() error {
	c, p := &t.Config, t.Data.Problem
	t.labels = learn.Labels{Metric: t.metric(), Weights: c.ClassWeights.Value.List, Smoothing: c.LabelSmoothing}
	count := p.TrainingByClass()
	if c.ClassWeights.Value.Balanced && count != nil {
		t.labels.Weights = balancedWeights(count)
		missing := 0
		for _, n := range count {
			if n == 0 {
				missing++
			}
		}
		if missing > 0 {
			t.Console.Note("note: --class-weights balanced: %d of %d classes have no training vertex, so their weight is 0", missing, len(count))
		}
	}
	switch {
	case p.Targets != nil && (c.ClassWeights.String() != "" || c.LabelSmoothing > 0):
		return t.AsUsage(errors.New("--class-weights and --label-smoothing are for one label per vertex, these have several: drop them"))
	case t.labels.Weights != nil && len(t.labels.Weights) != p.Classes:
		return t.AsUsage(fmt.Errorf("--class-weights has %d weights, the data set %d classes: give one for each", len(t.labels.Weights), p.Classes))
	case t.labels.Weights != nil && t.labels.Total(count) == 0:
		return t.AsUsage(errors.New("--class-weights: no class of a training vertex has a weight above 0"))
	}
	return nil
}

// balancedWeights returns n/(C·n_c) by class, as scikit-learn's balanced: with n of all vertices and C classes, all classes weigh as much together. Those without a vertex
// have 0, and do not count.
func balancedWeights(count []int) []float64 {
	n, classes := 0, 0
	for _, k := range count {
		if n += k; k > 0 {
			classes++
		}
	}
	w := make([]float64, len(count))
	for c, k := range count {
		if k > 0 {
			w[c] = float64(n) / (float64(classes) * float64(k))
		}
	}
	return w
}
