package experiments

import (
	"context"

	"capgnn/internal/bench"
)

// Options are the flags of capgnn bench.
type Options struct {
	Datasets []string // nil: those of the experiment
	Devices  string   // "": those of the experiment
	Seeds    []uint64
	Epochs   int // 0: those of the experiment
	Quick    bool
	Out      string
	Python   string
	Ranks    int // 0: the experiment is not one over ranks
	Place    Place
}

// cell is one result that an experiment wants.
type cell struct {
	id      bench.Cell
	measure func(ctx context.Context) (*bench.Line, error)
}

// Experiment is one of the paper, or of ours.
type Experiment struct {
	Name, Usage string
	full, quick []string // data sets
	// plan says which cells there are, and shows them once they have lines.
	plan func(b *Bench, datasets []string) ([]cell, func() bench.Section, error)
}

// All are those of capgnn bench, in the order of the paper.
func All() []Experiment {
	return []Experiment{
		table1Experiment(), haloExperiment(), hitPriorityExperiment(), hitCapacityExperiment(), epochCapacityExperiment(), overheadExperiment(),
		rapaExperiment(), heteroExperiment(), convergenceExperiment(), overallExperiment(), ablationExperiment(), scalingExperiment(),
		stalenessExperiment(), samplerExperiment(), fetchExperiment(), rapidExperiment(), massiveExperiment(), hopExperiment(), grappaExperiment(), linksExperiment(), clusterExperiment(), peersExperiment(),
	}
}

// Data sets of experiments: published ones where they are there, and stand-ins.
var (
	// haloGraphs are those of the paper's Fig. 5 but ogbn-proteins, for which there is no stand-in.
	haloGraphs  = []string{"flickr-like:0.5", "yelp-like:0.05", "reddit-like:0.1", "tolokers"}
	quickGraphs = []string{"flickr-like:0.05", "reddit-like:0.02"}
	// sevenGraphs stand for those of the paper's Table 5, in its order; scaled so that they can be trained on few cores.
	sevenGraphs = []string{"corafull-like", "flickr-like:0.5", "coauthor_physics", "reddit-like:0.1", "yelp-like:0.05", "amazonproducts-like:0.02", "products-like:0.02"}
)
