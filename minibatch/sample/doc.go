// Package sample draws the in-neighbours that a training step reads, hop by hop, as blocks that package gnn's layers compute on.
//
// Its nouns: a Topology is a graph, and whether its loops count as neighbours; Rules say how many neighbours a vertex keeps at each hop; a
// Sampler draws; a Stack is what one step reads, or a part's share of the step; a Block is one hop of a stack.
//
// # Contract
//
// Unless layers are drawn (Rules.Ladies), which neighbours vertex v keeps at hop h of step t is a function of (seed, t, h, v) alone. It does not depend on the other roots, on the
// part, or on earlier draws. So roots may be grouped in any way, and steps may be drawn in any order by any number of samplers: each
// vertex keeps its sample.
//
//   - Of its n in-neighbours (loops left out, unless the topology keeps them as neighbours) a vertex keeps k = min(fan-out, n),
//     uniformly and without replacement: Floyd's choice of positions 0 to n-1, from the words of gpu.Philox({word/4, v,
//     0x5A000000|h, t}) in order, each reduced to the bound by Lemire's method. Where k is more than half of n, the n-k positions
//     to leave out are chosen in that way.
//   - The ids of a stack are the roots, then vertices in order of first sight. The rows of block h are all ids before the hop, the
//     columns all ids after it: rows are a prefix of the columns, and the rows of block h+1 are the columns of block h.
//   - A row lists its loop first, where every vertex has one, and then its neighbours in the order of the graph.
//
// Where layers are drawn, a hop chooses vertices for all of its rows together (ladies.go). Then a stack is a function of (seed, t) and of its roots: whoever draws it gets the same, and roots that
// are grouped otherwise read other vertices.
//
// A Sampler belongs to one goroutine. A Stack belongs to its caller; Draw reuses its slices and allocates only where they are too
// small. The graph must be valid, the roots distinct and every fan-out at least 1; Draw panics where they are not.
//
// # Source
//
// Neighbour sampling: Hamilton et al., 2017. Layers: Zou et al., NeurIPS 2019 (LADIES). Floyd's choice: Bentley and Floyd, CACM 30(9), 1987. Bounded words: Lemire, ACM TOMACS 29(1),
// 2019. Samples that are a function of the vertex are ours: bits are equal wherever a root is computed. Figures: docs/bench/sampled.md.
//
// # Usage
//
//	s := sample.New(sample.Topology{Graph: g, Loops: graph.LoopsRemoved}, sample.Rules{Seed: 1, Fanout: []int{15, 10, 5}})
//	order := sample.Order(train, 1, epoch, nil)
//	var stack sample.Stack
//	for b := 0; b*1024 < len(order); b++ {
//		s.Draw(&stack, epoch*steps+uint32(b), order[b*1024:min((b+1)*1024, len(order))])
//		stack.Blocks[0].Transpose(&spread) // where a layer spreads gradients
//	}
package sample
