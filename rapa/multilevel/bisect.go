package multilevel

import (
	"cmp"
	"math"
)

const (
	// bisections is how often a graph is bisected before the best is taken. 4 cut 0.4 % less than 2 on Cora in 64 parts and
	// 0.7 % less in six cases of 4 and 16 parts, in twice the time.
	bisections = 2
	// bisectTo is the number of vertices down to which a graph is coarsened for that, doubled with every try. With 20 half of the
	// bisections of ppi cut through one of its components, where with 60 all take the loose ends of three.
	bisectTo = 60
	// skewFrom is the number of parts from which a skewed bisection is one: 4 parts as 1 and 3 are worse than as 2 and 2.
	skewFrom = 6
	// growths is how often the coarsest graph is bisected.
	growths = 8
)

// goal is what a first partition of a graph shall reach.
type goal struct {
	targets []float64
	lim     *limits
}

// initial returns a first partition of the coarsest level; coarsest graphs of bisections are bisected `growths` times.
//
// Method: recursive bisection. A side takes half of the parts; with skewed, of six or more, one side takes one part fewer. A graph is
// bisected by a multilevel scheme of its own, several times, of which the best is taken: on its coarsest graph sides are begun in
// several ways (grow.go), and search past bounds and within them improve them there and on the way back.
// A side's bound is its share of the graph times the slack that is left to it, spread evenly over the bisections to come.
//
// Why skewed: halves of halves are of one shape, from which single moves do not lead away. 8 parts of a grid (minesweeper) are always 2
// by 4 rectangles, 4 % worse than METIS; with half of the attempts skewed they cost 3 % less than METIS, and 8 parts of amazon_photo
// 4 % less than before.
//
// Source: Karypis and Kumar, "Multilevel k-way partitioning scheme for irregular graphs", 1998 (greedy growing); Schlag et al.,
// "k-way hypergraph partitioning via n-level recursive bisection", 2016 (adaptive imbalance).
func (c *crew) initial(g *level, a goal, skewed bool, salt uint64) []int32 {
	part := make([]int32, g.n)
	all := make([]int32, g.n)
	for v := range all {
		all[v] = int32(v)
	}
	b := &bisector{crew: c, skewed: skewed, scratch: make([]bisectScratch, c.threads)}
	b.split(g, all, a, 0, len(a.targets), salt, part)
	return part
}

// bisector cuts graphs in two.
type bisector struct {
	*crew
	skewed  bool            // the sides of skewFrom parts or more take unequal numbers of them
	scratch []bisectScratch // per worker
}

type bisectScratch struct {
	climber climber
	tallies []*tally
}

// split gives parts lo to hi-1 to the vertices of g, which are ids in part.
func (b *bisector) split(g *level, ids []int32, a goal, lo, hi int, salt uint64, part []int32) {
	if hi-lo == 1 || b.err() != nil || g.n == 0 {
		for _, v := range ids {
			part[v] = int32(lo)
		}
		return
	}
	mid := (lo + hi + 1) / 2
	if b.skewed && hi-lo >= skewFrom {
		mid = lo + (hi-lo)/2 - 1
	}
	side := b.bisect(g, a.halves(g, lo, mid, hi), mix(salt+uint64(lo)*maxParts+uint64(hi)))
	if b.err() != nil {
		return
	}
	for s, r := range [2][2]int{{lo, mid}, {mid, hi}} {
		sub, kept := g.extract(side, int32(s))
		for i, v := range kept {
			kept[i] = ids[v]
		}
		b.split(sub, kept, a, r[0], r[1], salt, part)
	}
}

// halves returns the goal of cutting g in two: parts lo to mid-1, and mid to hi-1.
func (a goal) halves(g *level, lo, mid, hi int) goal {
	m := a.lim.kinds
	out := goal{targets: make([]float64, 2), lim: &limits{parts: 2, kinds: m, bound: make([]int64, 2*m), hard: a.lim.hard}}
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

// bisect returns the side, 0 or 1, of every vertex: the best of several tries, the first of equals.
func (b *bisector) bisect(g *level, a goal, salt uint64) []int32 {
	tries := make([]attempt, bisections)
	b.each(len(tries), 1, func(worker, i, _ int) {
		w := &b.scratch[worker]
		if w.tallies == nil || len(w.tallies[0].sum) < g.n {
			w.tallies = newTallies(1, g.n)
		}
		g := *g // its coarse field is written
		tries[i] = b.alone().bisectOnce(&g, a, bisectTo<<i, w, mix(salt+uint64(i)))
	})
	return bestOf(tries).part
}

// attempt is a partition and what it is worth.
type attempt struct {
	part []int32
	over float64
	cut  int64 // or volume
	// alone says that no level above the coarsest was refined by the cut, but each by the volume.
	alone bool
}

// bestOf returns the attempt of least excess, then of least cut, the first of equals.
func bestOf(tries []attempt) attempt {
	best := tries[0]
	for _, t := range tries[1:] {
		if t.part != nil && t.compare(best) < 0 {
			best = t
		}
	}
	return best
}

// compare orders attempts by excess, then by cut.
func (t attempt) compare(other attempt) int {
	return cmp.Or(cmp.Compare(t.over, other.over), cmp.Compare(t.cut, other.cut))
}

// bisectOnce is one try of bisect, by way of a graph of about `to` vertices.
func (c *crew) bisectOnce(g *level, a goal, to int, w *bisectScratch, salt uint64) attempt {
	r := random{salt}
	levels := c.coarsen(g, nil, to, 2, r.next(), w.tallies)
	last := levels[len(levels)-1]
	components := last.components()
	tries := make([]attempt, growths)
	for i := range tries {
		s := c.newState(last, a.lim, ones(last.n))
		c.tabulate(s, nil, &w.climber.table)
		w.climber.begin(s, components, a.targets[0], i, &r)
		w.climber.rebalance(c, s)
		w.climber.climb(c, s, forBisection(last.n, last.n), r.next())
		w.climber.searchPastBounds(c, s, r.next())
		tries[i] = attempt{part: s.part, over: s.over(), cut: c.cutOf(s)}
	}
	best := bestOf(tries)
	for i := len(levels) - 2; i >= 0; i-- {
		s := c.newState(levels[i], a.lim, project(levels[i].coarse, best.part))
		c.tabulate(s, nil, &w.climber.table)
		w.climber.rebalance(c, s)
		w.climber.searchPastBounds(c, s, r.next())
		w.climber.climb(c, s, forBisection(levels[i].n, 20), r.next())
		best = attempt{part: s.part, over: s.over(), cut: c.cutOf(s)}
	}
	return best
}

func ones(n int) []int32 {
	x := make([]int32, n)
	for i := range x {
		x[i] = 1
	}
	return x
}

// project returns the partition of a level of which coarse gives the vertices of the next, which has this partition.
func project(coarse, part []int32) []int32 {
	fine := make([]int32, len(coarse))
	for v, a := range coarse {
		fine[v] = part[a]
	}
	return fine
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
	out := &level{n: len(kept), ptr: make([]int64, len(kept)+1), shift: whole, weight: make([][]int32, len(g.weight))}
	rows, weights := make([]int32, 0, entries), make([]int32, 0, entries)
	for i, v := range kept {
		adj, edge := g.row(v)
		for j, u := range adj {
			if side[u] == want {
				x := int32(1)
				if edge != nil {
					x = edge[j]
				}
				rows, weights = append(rows, id[u]), append(weights, x)
			}
		}
		out.ptr[i+1] = int64(len(rows))
	}
	out.adj, out.edge = [][]int32{rows}, [][]int32{weights}
	for c, w := range g.weight {
		if w != nil {
			out.weight[c] = make([]int32, len(kept))
			for i, v := range kept {
				out.weight[c][i] = w[v]
			}
		}
	}
	return out, kept
}
