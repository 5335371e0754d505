package pipeline

import "capgnn/internal/learn"

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
