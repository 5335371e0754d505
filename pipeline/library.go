package pipeline

import (
	"gorgonia.org/tensor"

	"capgnn/internal/learn"
)

// Names for programs outside this module, which cannot import package learn (docs/guide/go.md). Packages of this module use its own names.
type (
	// Problem is what a run learns.
	Problem = learn.Problem
	// Features is the input of layer 0.
	Features = learn.Features
	// Labels is what Options.Task says of labels: weights of their loss, and a metric.
	Labels = learn.Labels
	// Metrics are scores in [0, 1].
	Metrics = learn.Metrics
)

// DenseFeatures returns the rows of x, float32 [vertices, columns], as features. They share memory with x where its elements lie
// row by row.
func DenseFeatures(x *tensor.Dense) (Features, error) { return learn.DenseFeatures(x) }
