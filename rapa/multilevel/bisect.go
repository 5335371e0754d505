package multilevel

import (
	"math"
	"slices"
)

// aim is what a first partition of a graph shall reach.
type aim struct {
	targets []float64
	lim     *limits
}

// initial returns a first partition of the coarsest level.
//
// Method: recursive bisection. A side takes half of the parts; it is grown from a random vertex, always by the vertex that is
// joined most strongly, until it has its share, and then improved by climbing. The best of many trials is taken.
// A side's bound is its share of the graph times the slack that is left to it, spread evenly over the bisections to come.
//
// Source: Karypis and Kumar, "Multilevel k-way partitioning scheme for irregular graphs", 1998 (greedy growing); Schlag et al.,
// "k-way hypergraph partitioning via n-level recursive bisection", 2016 (adaptive imbalance).
func (c *crew) initial(g *level, a aim, trials int, f *climber, salt uint64, ts []*tally) []int32 {
	part := make([]int32, g.n)
	all := make([]int32, g.n)
	for v := range all {
		all[v] = int32(v)
	}
	c.split(g, all, a, 0, len(a.targets), trials, f, salt, ts, part)
	return part
}

// split gives parts lo to hi-1 to the vertices of g, which are ids in part.
func (c *crew) split(g *level, ids []int32, a aim, lo, hi, trials int, f *climber, salt uint64, ts []*tally, part []int32) {
	if hi-lo == 1 || c.err() != nil {
		for _, v := range ids {
			part[v] = int32(lo)
		}
		return
	}
	mid := (lo + hi + 1) / 2
	side := c.bisect(g, a.halves(g, lo, mid, hi), trials, f, mix(salt+uint64(lo)*maxParts+uint64(hi)), ts)
	for s, r := range [2][2]int{{lo, mid}, {mid, hi}} {
		sub, kept := g.extract(side, int32(s))
		for i, v := range kept {
			kept[i] = ids[v]
		}
		c.split(sub, kept, a, r[0], r[1], trials, f, salt, ts, part)
	}
}

// halves returns the aim of cutting g in two: parts lo to mid-1, and mid to hi-1.
func (a aim) halves(g *level, lo, mid, hi int) aim {
	m := a.lim.kinds
	out := aim{targets: make([]float64, 2), lim: &limits{parts: 2, kinds: m, bound: make([]int64, 2*m), hard: a.lim.hard}}
	for p := lo; p < hi; p++ {
		s := 0
		if p >= mid {
			s = 1
		}
		out.targets[s] += a.targets[p]
		for c := range m {
			out.lim.bound[s*m+c] += a.lim.bound[p*m+c]
		}
	}
	sum := out.targets[0] + out.targets[1]
	out.targets[0] /= sum
	out.targets[1] /= sum
	depth := math.Ceil(math.Log2(float64(hi - lo)))
	for c, total := range g.total() {
		room := out.lim.bound[c] + out.lim.bound[m+c]
		slack := math.Pow(float64(room)/float64(max(total, 1)), 1/depth)
		for s := range 2 {
			b := &out.lim.bound[s*m+c]
			share := float64(total) * float64(*b) / float64(max(room, 1))
			*b = min(*b, int64(math.Ceil(share*max(slack, 1))))
		}
	}
	out.lim.invert()
	return out
}

// bisect returns the side, 0 or 1, of every vertex: the best of several multilevel bisections.
func (c *crew) bisect(g *level, a aim, trials int, f *climber, salt uint64, ts []*tally) []int32 {
	var best []int32
	bestOver, bestCut := 0.0, int64(0)
	r := random{salt}
	for range P.Bisections {
		levels := c.coarsen(g, nil, P.BisectTo, 2, r.next(), ts)
		part := c.smallest(levels[len(levels)-1], a, trials, f, r.next())
		var s *state
		for i := len(levels) - 1; i >= 0; i-- {
			if i < len(levels)-1 {
				fine := make([]int32, levels[i].n)
				for v, x := range levels[i].coarse {
					fine[v] = part[x]
				}
				part = fine
			}
			s = c.newState(levels[i], a.lim, part, true)
			f.rebalance(c, s)
			f.climb(c, s, 3, P.BisectSeeds, max(50, levels[i].n/20), r.next())
		}
		cut, over := c.cutOf(s), s.over()
		if best == nil || over < bestOver || over == bestOver && cut < bestCut {
			best, bestOver, bestCut = part, over, cut
		}
		if c.err() != nil {
			break
		}
	}
	return best
}

// smallest bisects the coarsest graph: the best of several trials.
func (c *crew) smallest(g *level, a aim, trials int, f *climber, salt uint64) []int32 {
	var best []int32
	bestOver, bestCut := 0.0, int64(0)
	r := random{salt}
	for range trials {
		part := make([]int32, g.n)
		for v := range part {
			part[v] = 1
		}
		s := c.newState(g, a.lim, part, true)
		f.grow(s, a.targets[0], &r)
		f.rebalance(c, s)
		f.climb(c, s, 3, g.n, max(50, g.n/20), r.next())
		cut, over := c.cutOf(s), s.over()
		if best == nil || over < bestOver || over == bestOver && cut < bestCut {
			best, bestOver, bestCut = part, over, cut
		}
	}
	return best
}

// grow moves vertices from side 1 to side 0 until that has its share.
func (f *climber) grow(s *state, share float64, r *random) {
	n := s.g.n
	f.heap.fit(n)
	total := s.g.total()
	order := make([]int32, n)
	for v := range order {
		order[v] = int32(v)
	}
	r.shuffle(order)
	full := func() bool {
		fill, kinds := 0.0, 0
		for c, t := range total {
			if t > 0 {
				fill += float64(s.load[c]) / float64(t)
				kinds++
			}
		}
		return kinds == 0 || fill >= share*float64(kinds)
	}
	next := 0
	for !full() {
		if f.heap.len() == 0 {
			for next < n && s.part[order[next]] == 0 {
				next++
			}
			if next == n {
				break
			}
			f.heap.set(order[next], 0)
			next++
		}
		v, _ := f.heap.pop()
		if s.count[1] <= 1 {
			break
		}
		if !s.fits(v, 0) {
			continue
		}
		s.move(v, 0)
		adj, _ := s.g.row(v)
		for _, u := range adj {
			if s.part[u] == 1 {
				f.heap.set(u, int64(s.near[2*u])-int64(s.near[2*u+1]))
			}
		}
	}
	f.heap.clear()
}

// extract returns the graph of the vertices on this side and their ids in g.
func (g *level) extract(side []int32, want int32) (*level, []int32) {
	id := make([]int32, g.n)
	var kept []int32
	entries := int64(0)
	for v := range int32(g.n) {
		if side[v] == want {
			id[v] = int32(len(kept))
			kept = append(kept, v)
			entries += int64(g.degree(v))
		}
	}
	out := &level{n: len(kept), ptr: make([]int64, len(kept)+1), adj: make([]int32, 0, entries), edge: make([]int32, 0, entries),
		weight: make([][]int32, len(g.weight))}
	for i, v := range kept {
		adj, edge := g.row(v)
		for j, u := range adj {
			if side[u] == want {
				x := int32(1)
				if edge != nil {
					x = edge[j]
				}
				out.adj, out.edge = append(out.adj, id[u]), append(out.edge, x)
			}
		}
		out.ptr[i+1] = int64(len(out.adj))
	}
	for c, w := range g.weight {
		if w != nil {
			out.weight[c] = make([]int32, len(kept))
			for i, v := range kept {
				out.weight[c][i] = w[v]
			}
		}
	}
	_ = slices.Max[[]int]
	return out, kept
}
