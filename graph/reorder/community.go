package reorder

import (
	"cmp"
	"context"
	"slices"
	"sync"

	"capgnn/graph"
	"capgnn/graph/internal/parallel"
)

const (
	// orderRows sets the first resolution: a cluster of orderRows vertices with a quarter of its edges inside is just dense
	// enough. 256 rows of 1 KiB are a quarter of an L2 cache. 1,024 merges planted communities of 150 vertices (a seventh fewer
	// hits), 64 takes them apart; on the stand-ins 256 to 1,024 differ by a few per cent, in both directions.
	orderRows = 256
	// orderCoarser is the factor between the resolutions of two levels, orderLast the resolution of the last: at 1 clusters
	// have as many edges between them as chance has, so below it levels only put loosely bound clusters side by side.
	orderCoarser, orderLast = 4, 1.0 / 16
)

// Community ranks vertices so that those with common neighbours lie close together, at every scale.
//
// Returns: the rank of every vertex; an error only if ctx ended. threads 0 = GOMAXPROCS.
//
// Method: vertices are clustered, clusters are clustered again, and so on; an order in which the members of every cluster of
// every level are consecutive. A level moves vertices to the cluster C that maximises
//
//	w(v, C) - γ·s(v)·s(C)/S
//
// with w the edges between them, s the degrees and S their sum (modularity at resolution γ). γ begins where clusters fit an L2
// cache and falls by a constant factor per level, so that clusters of the size of an L3 cache and larger ones follow.
// On the first level a vertex looks at a sample of orderSample neighbours, evenly spaced in its row; weights of further
// levels are scaled by what was left out. Vertices move in a fixed number of batches per sweep: a batch decides in parallel
// from the state before it, chunk by chunk, and then moves; so threads decide nothing. Top clusters lie by falling volume,
// siblings by lowest id.
// Cost: a pass over the edges, and one over the sample per sweep; memory about 4·orderSample + 60 bytes per vertex, and a
// transposed copy and the union where g is not symmetric.
//
// Why: the rows of a community read each other. A sparse product that computes them in turn finds them in the cache, whatever
// its size, since the order is hierarchical. Rows fill cache lines of their own, so the order inside the smallest clusters
// does not matter.
//
// Source: Arai et al., "Rabbit order: just-in-time parallel reordering for fast graph analysis", IPDPS 2016 (hierarchy by
// modularity, depth-first); Blondel et al., "Fast unfolding of communities in large networks", 2008 (moves and levels);
// Reichardt and Bornholdt, "Statistical mechanics of community detection", 2006 (γ). Sample, batches and falling γ are ours:
// Rabbit order's parallel form gives another order on every run.
func Community(ctx context.Context, g *graph.CSR, threads int) ([]int32, error) {
	a := newAgglomeration(ctx, threads)
	u, err := undirected(a.Pool, g)
	if err != nil {
		return nil, err
	}
	w, err := a.sample(u)
	if err != nil {
		return nil, err
	}
	var parents [][]int32
	for gamma := max(1, float64(w.size())/(4*orderRows)); w.total > 0 && gamma >= orderLast; gamma /= orderCoarser {
		label, err := a.cluster(w, gamma)
		if err != nil {
			return nil, err
		}
		k := compact(label)
		if k == w.size() {
			continue
		}
		parents = append(parents, label)
		if w, err = a.contract(w, label, k); err != nil {
			return nil, err
		}
	}
	return unfold(w, parents), nil
}

// agglomeration is shared by the levels of Community: threads, and a pool of tables.
type agglomeration struct {
	*parallel.Pool
	tallies sync.Pool // of *tally
}

func newAgglomeration(ctx context.Context, threads int) *agglomeration {
	return &agglomeration{parallel.New(ctx, threads, nil), sync.Pool{New: func() any { return new(tally) }}}
}

// compact renumbers labels from 0 by first appearance and returns how many there are.
func compact(label []int32) int {
	name := make([]int32, len(label))
	k := int32(0)
	for v, l := range label {
		if name[l] == 0 {
			k++
			name[l] = k
		}
		label[v] = name[l] - 1
	}
	return int(k)
}

// unfold ranks the vertices below a hierarchy, whose levels parents lists from the lowest: the cluster of each vertex, the
// cluster of each cluster, …, the vertices of top.
func unfold(top *weighted, parents [][]int32) []int32 {
	order := make([]graph.NodeID, top.size())
	for i := range order {
		order[i] = graph.NodeID(i)
	}
	slices.SortFunc(order, func(a, b graph.NodeID) int {
		return cmp.Or(cmp.Compare(top.strength[b], top.strength[a]), cmp.Compare(a, b))
	})
	rank := ranks(order)
	for _, parent := range slices.Backward(parents) {
		next := make([]int32, len(rank)+1)
		for _, p := range parent {
			next[rank[p]+1]++
		}
		for i := range rank {
			next[i+1] += next[i]
		}
		child := make([]int32, len(parent))
		for v, p := range parent {
			child[v] = next[rank[p]]
			next[rank[p]]++
		}
		rank = child
	}
	return rank
}
