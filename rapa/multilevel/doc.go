// Package multilevel cuts graphs into parts with few edges, or little communication, between them.
//
// Its nouns: Options say what is wanted, a Constraint is a quantity that parts may hold only so much of, and an Objective
// what there shall be little of between parts. A level is one graph of the hierarchy, a state a partition of it.
//
// # Contract
//
// Partition is a function of the graph and Options without Threads: same arguments, same parts, for any number of threads and
// on every run. Every vertex is in exactly one part, no part is empty, and hard bounds are kept, or the error is a *BoundError.
// The graph must be symmetric, without loops, rows ascending and without repeats; it is not copied and not changed.
// Progress is called from the goroutine of Partition; the context is looked at several times a second.
//
// # Method and source
//
// Coarsening by clustering (cluster.go, contract.go), recursive bisection of the coarsest graph (bisect.go), and refinement
// from level to level: many vertices at once (sweep.go), vertex by vertex within bounds (climb.go) and past them at a price (pastbounds.go), and
// out of parts that are too full (balance.go). On small graphs several partitions are begun side by side, of which the best are
// finished and combined (partition.go). The paper calls METIS; each
// file says what it does otherwise and where that is from.
//
// # Usage
//
//	bound := multilevel.Constraint{Bound: []int64{520, 520}, Hard: true}
//	part, err := multilevel.Partition(ctx, u, multilevel.Options{Parts: 2, Constraints: []multilevel.Constraint{bound}, Seed: 1})
package multilevel
