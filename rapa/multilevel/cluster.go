package multilevel

import "math"

const (
	// clusterBatches is the number of batches of a sweep: vertices of one batch do not see each other move, except those before
	// them in their chunk.
	clusterBatches = 16
	// clusterChunk is the most vertices, consecutive ones, that one goroutine decides in turn.
	clusterChunk = 64
	// clusterSweeps bounds the sweeps of a level.
	clusterSweeps = 3
)

// clustering groups the vertices of a level.
type clustering struct {
	*crew
	g      *level
	within []int32   // clusters may not cross these labels; nil: free
	limit  []int64   // per constraint: the most that a cluster may weigh, unless it is one vertex
	label  []int32   // cluster of every vertex, named after a vertex
	want   []int32   // the cluster that a vertex of the current batch has chosen
	weight [][]int64 // per constraint and cluster
	count  []int32   // vertices of every cluster
	tally  []*tally  // per worker
	left   int       // clusters that are not empty
	salt   uint64
}

// tally sums edge weights by cluster.
type tally struct {
	sum  []int32 // by cluster; all 0 between vertices
	seen []int32
}

// cluster groups vertices that belong together.
//
// Returns: the label of every vertex, named after a vertex, and the number of clusters. No cluster weighs more than limit in
// any constraint unless it is one vertex, none crosses `within`, and sweeps end when only `least` are left.
//
// Method: every vertex begins alone and moves to the neighbouring cluster that it is joined to most strongly in relation to
// the cluster's weight. Vertices decide in a fixed number of batches per sweep: a batch decides in parallel from the state
// before it and then moves in order of ids, as far as limits allow. Then vertices that are still alone join others that are
// alone and prefer the same cluster (two-hop), and those without neighbours fill clusters up.
//
// Why: matchings stall on hubs and leaves, which web and social graphs are made of; clusters shrink them by any factor. Batches
// make the result the same for any number of threads.
//
// Source: Meyerhenke, Sanders and Schulz, "Partitioning complex networks via size-constrained clustering", 2014; Gottesbüren et al.,
// "Deep multilevel graph partitioning", 2021 (two-hop).
func (c *crew) cluster(g *level, within []int32, limit []int64, least int, salt uint64, tallies []*tally) ([]int32, int) {
	k := &clustering{crew: c, g: g, within: within, limit: limit, label: make([]int32, g.n), want: make([]int32, g.n), tally: tallies,
		left: g.n, salt: salt}
	k.weight, k.count = make([][]int64, len(g.weight)), make([]int32, g.n)
	for i := range k.weight {
		k.weight[i] = make([]int64, g.n)
		for v := range g.n {
			k.weight[i][v] = g.of(i, int32(v))
		}
	}
	for v := range k.label {
		k.label[v], k.count[v] = int32(v), 1
	}
	for range clusterSweeps {
		moved := k.sweep(least)
		if k.left <= least || moved*20 < g.n || c.err() != nil {
			break
		}
	}
	if k.left > least && k.left*2 > g.n {
		k.twoHop(least)
	}
	return k.label, k.left
}

// sweep asks every vertex once and returns how many moved.
func (k *clustering) sweep(least int) int {
	chunk := min(max(k.g.n/512, 1), clusterChunk)
	chunks := (k.g.n + chunk - 1) / chunk
	batches := min(clusterBatches, chunks)
	moved := 0
	for b := range batches {
		in := (chunks - b + batches - 1) / batches
		k.each(in, max(1, 256/chunk), func(worker, lo, hi int) {
			for i := lo; i < hi; i++ {
				from := (i*batches + b) * chunk
				k.decide(k.tally[worker], from, min(from+chunk, k.g.n))
			}
		})
		if k.err() != nil {
			return 0
		}
		for i := b; i < chunks; i += batches {
			moved += k.apply(i*chunk, min((i+1)*chunk, k.g.n))
			if k.left <= least {
				return moved
			}
		}
	}
	return moved
}

// decide sets want for vertices lo to hi-1. Each sees what those of the range before it want, and all others where they are.
func (k *clustering) decide(t *tally, lo, hi int) {
	for v := lo; v < hi; v++ {
		k.want[v] = k.best(t, int32(v), int32(lo), true)
	}
}

// best returns the cluster of the highest score for v, its own if none is higher; with fits, of those that have room. Vertices from
// lo on and before v count where they want to be.
func (k *clustering) best(t *tally, v, lo int32, fits bool) int32 {
	adj, edge := k.g.row(v)
	own := k.label[v]
	t.seen = t.seen[:0]
	for i, u := range adj {
		if k.within != nil && k.within[u] != k.within[v] {
			continue
		}
		c := k.label[u]
		if u >= lo && u < v {
			c = k.want[u]
		}
		if t.sum[c] == 0 {
			t.seen = append(t.seen, c)
		}
		if edge == nil {
			t.sum[c]++
		} else {
			t.sum[c] += edge[i]
		}
	}
	best, bestScore := own, 0.0
	if t.sum[own] > 0 {
		bestScore = k.score(t.sum[own], own)
	}
	tie := uint64(0)
	for _, c := range t.seen {
		if c != own {
			s := k.score(t.sum[c], c)
			if s >= bestScore && (!fits || k.fits(v, c)) {
				h := mix(uint64(c) ^ k.salt)
				if s > bestScore || h > tie && best != own {
					best, bestScore, tie = c, s, h
				}
			}
		}
		t.sum[c] = 0
	}
	return best
}

// score values an edge weight to cluster c. Dividing by the root of its weight lets small clusters grow before large ones: without
// it cuts were 7 % higher, divided by the weight itself 4 %.
func (k *clustering) score(w, c int32) float64 {
	return float64(w) / math.Sqrt(float64(max(1, k.weight[0][c])))
}

// fits reports whether v may join cluster c.
func (k *clustering) fits(v, c int32) bool {
	for i, w := range k.weight {
		if w[c]+k.g.of(i, v) > k.limit[i] {
			return false
		}
	}
	return true
}

// apply moves vertices lo to hi-1 where they want, in order, as far as there is room, and returns how many moved.
func (k *clustering) apply(lo, hi int) int {
	moved := 0
	for v := int32(lo); v < int32(hi); v++ {
		from, to := k.label[v], k.want[v]
		if from == to || k.count[to] == 0 || !k.fits(v, to) {
			continue
		}
		k.join(v, to)
		moved++
	}
	return moved
}

// join moves v to cluster `to`, which is not empty.
func (k *clustering) join(v, to int32) {
	from := k.label[v]
	for i, w := range k.weight {
		x := k.g.of(i, v)
		w[from] -= x
		w[to] += x
	}
	k.count[to]++
	if k.count[from]--; k.count[from] == 0 {
		k.left--
	}
	k.label[v] = to
}

// twoHop joins vertices that are alone with others that are alone and prefer the same cluster, whether it has room or not; those
// without neighbours prefer each other.
func (k *clustering) twoHop(least int) {
	alone := func(v int32) bool { return k.count[k.label[v]] == 1 }
	k.each(k.g.n, 1024, func(worker, lo, hi int) {
		for v := int32(lo); v < int32(hi); v++ {
			k.want[v] = -1
			if alone(v) {
				k.want[v] = k.best(k.tally[worker], v, v, false)
			}
		}
	})
	if k.err() != nil {
		return
	}
	waiting := make([]int32, k.g.n) // by preferred cluster: a cluster of vertices that were alone, -1 = none
	for i := range waiting {
		waiting[i] = -1
	}
	lonely := int32(-1)
	for v := int32(0); v < int32(k.g.n) && k.left > least; v++ {
		c := k.want[v]
		if c < 0 || !alone(v) {
			continue
		}
		at := &waiting[c]
		if c == k.label[v] {
			if k.g.degree(v) > 0 {
				continue
			}
			at = &lonely
		}
		if *at >= 0 && k.fits(v, *at) && (k.within == nil || k.within[*at] == k.within[v]) {
			k.join(v, *at)
			continue
		}
		*at = k.label[v]
	}
}

// compact renumbers labels to 0..k-1 by first vertex and returns k.
func compact(label []int32) int {
	name := make([]int32, len(label))
	k := int32(0)
	for v, c := range label {
		if name[c] == 0 {
			k++
			name[c] = k
		}
		label[v] = name[c] - 1
	}
	return int(k)
}

func newTallies(threads, n int) []*tally {
	ts := make([]*tally, threads)
	for i := range ts {
		ts[i] = &tally{sum: make([]int32, n)}
	}
	return ts
}
