// Package rapa cuts graphs into parts for devices of different speed and memory (resource-aware partitioning).
//
// Its nouns: Options say what is wanted; Targets are shares of the work per part, from measured Rates or from costs; a
// PartCost is what a part costs on one device, linear in its Counts (Lambda is the paper's); Rebalance moves vertices and
// Adjust prunes replicas until the parts cost the same within their Memory; a Plan is the partition with all decisions.
//
// # Contract
//
// Partition is a function of graph, training vertices and Options: the same arguments give the same Plan, for any
// number of threads and on every run. It runs in the caller's goroutine and checks its context several times a
// second. Every vertex is in exactly one part, no part is empty, and no part has more than ⌈Balance·target·n⌉
// vertices; in-edges and training vertices stay within SoftBalance of their targets if the graph allows it. Directed
// graphs are cut as if undirected; self-loops do not count. ReadPlan takes any file and returns a valid plan or an
// error.
//
// Lambda, Rebalance, Adjust and Assign need only numbers: a graph, the part of every vertex, a table of costs and
// bytes. They are pure functions, too, and do not change their arguments. Costs may be in any unit. Rebalance drops
// no edge; Adjust drops edges, counts them and stays within MaxPrune. Dropped lists the halo vertices of each part
// whose edges into the part's inner vertices are dropped; their owners keep everything.
//
// # Source
//
// The paper partitions with METIS at equal sizes, gives parts to devices at random (§4.1, §4.3) and then prunes (Eq. 13–16,
// Algorithms 2 and 3). The cost model is cost.go, the influence score influence.go, the algorithms adjust.go. We differ:
// targets come from the profile, edges and training vertices are balanced too, inner vertices move before anything is
// pruned (§6 asks for it, rebalance.go), parts go to the devices where the largest cost is least (assign.go), and pruning
// is bounded. Package balance takes these steps in rounds and estimates the parts anew between them. The partitioner is
// our own: package multilevel. A streaming one that is refined and restreamed (LDG, Fennel,
// Fiduccia-Mattheyses; stream.go, refine.go) and a random one are there to compare.
//
// # Usage
//
//	rates := []rapa.Rate{{Class: "rtx 3090", MM: 0.138, SpMM: 0.106}, {Class: "gtx 1660 ti", MM: 0.994, SpMM: 0.341}}
//	targets, err := rapa.Targets(rates, 0.5, 0)
//	opt := rapa.Options{Parts: len(rates), Targets: targets, Seed: 1}
//	plan, err := rapa.ReadPlan(path)
//	if err != nil || plan.Key != rapa.Key(g, train, opt) {
//		plan, err = rapa.Partition(ctx, g, train, opt, nil)
//		err = rapa.WritePlan(path, plan)
//	}
//	part := plan.Part // part of every vertex
//
// Equal costs, first without loss, then by pruning up to a tenth of the cut edges:
//
//	costs, err := rapa.Lambda(rates, rapa.DefaultAlpha) // or seconds per row and edge, measured or simulated
//	d := rapa.NewDirections(g)
//	moved, err := rapa.Rebalance(ctx, d, plan.Part, costs, rapa.RebalanceOptions{Memory: memory})
//	pruned, err := rapa.Adjust(ctx, d, moved.Part, costs, rapa.AdjustOptions{MaxPrune: 0.1, Memory: memory})
//	last := pruned.Trace[len(pruned.Trace)-1] // costs, deviation, what fits; pruned.Stop says why it ended
package rapa
