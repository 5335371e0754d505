package main

// experiments are those of capgnn bench, in the order of the paper.
func experiments() []experiment {
	return []experiment{
		table1Experiment(), haloExperiment(), hitPriorityExperiment(), hitCapacityExperiment(), epochCapacityExperiment(), overheadExperiment(),
		rapaExperiment(), heteroExperiment(), convergenceExperiment(), overallExperiment(), ablationExperiment(), savingsExperiment(), scalingExperiment(),
		stalenessExperiment(), peersExperiment(),
	}
}

// Data sets of experiments: published ones where they are there, and stand-ins.
var (
	threeGraphs = []string{"coauthor_physics", "reddit-like:0.1", "products-like:0.1"}
	quickGraphs = []string{"flickr-like:0.05", "reddit-like:0.02"}
	// sevenGraphs stand for those of the paper's Table 5, in its order; scaled so that they can be trained on few cores.
	sevenGraphs = []string{"corafull-like", "flickr-like:0.5", "coauthor_physics", "reddit-like:0.1", "yelp-like:0.05", "amazonproducts-like:0.02", "products-like:0.02"}
)
