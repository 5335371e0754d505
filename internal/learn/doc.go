// Package learn says what a run learns and how well it does.
//
// Its nouns: a Problem is a graph with features, splits, and labels; a Task is what is learned of it: targets, a Loss
// on a device, and Metrics, which are scores.
//
// # Contract
//
// A Problem is read-only, and its slices are indexed by original vertex id. Evidence of disjoint vertices adds up, in
// whatever parts or chunks it was counted: counts are exact, the sum of losses is in the order of parts. It survives
// JSON with every bit (Number).
//
// # A new task
//
// A task is one file here, as onelabel.go and severallabels.go are, and a Kind that options name. Trainers, parts,
// samplers, steps, evaluators and ranks call it; nothing of them has to be touched. It gives:
//
//   - Problem.Train: the vertices whose rows the loss reads. They have a target, or are ends of edges that have one.
//   - Targets: names, sizes for so many rows, and what fills them. Whoever brings them to a device sees bytes, so they
//     may be classes, floats, or pairs of rows: Fill is told which vertex each row is of.
//   - On: a Loss, which makes the gradient of all of its rows and the sum. It may gather rows, as one of edges does
//     that compares both ends, and add to the gradient of both. A sum that the host makes has a queue of its own.
//   - Terms, which the sum is divided by: all parts of a step have the same.
//   - Count and Counted: Evidence, to which it may add what it counts, and Metrics of it. Lists that are looked at
//     together, as scores by rank are, travel one after the other.
//
// Rows are of vertices of the part. Those of others come by layers alone: where the ends of an edge are of two parts,
// the program has a layer that brings the other end's row.
//
// # Usage
//
//	task, err := learn.Labels{Metric: learn.MacroF1}.Of(p)
//	task.Count(&own[part], ids, logits)
//	m := learn.MetricsOf(task, own)
package learn
