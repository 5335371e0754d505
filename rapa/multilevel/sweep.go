package multilevel

import "sync/atomic"

// sweeper improves a partition by moving many vertices at once.
type sweeper struct {
	want []int32 // part that a vertex wants to go to, -1 = none
	gain []int32 // by that much the cut would fall if nothing else moved
	went []bool  // moved in the last round
	best []int32
}

const (
	// sweepBlock is the number of vertices that one goroutine handles in turn.
	sweepBlock = 256
	// sweepRounds bounds the rounds of a level, sweepPatience those in a row without a cut that is better by a thousandth.
	sweepRounds, sweepPatience = 6, 3
	// temper is Jet's on its finest level.
	temper = 0.25
)

// sweep lowers the cut by moving many vertices at once.
//
// Returns: by how much the cut fell; never negative. The excess over bounds is not higher than before.
//
// Method: in a round, every vertex that did not move in the one before wants to go where it gains most, if it loses at most the
// share temper of its edges inside its part; balance plays no role. Of two neighbours that want to move, the one of higher
// gain is taken as gone by the other, which moves only if it still does not lose. What is overloaded then is
// rebalanced. The best partition of all rounds is kept; rounds end when a few have brought none better.
//
// Why: rounds are passes over vertices, so threads share them and decide nothing; and moves at a loss in groups leave local minima.
//
// Source: Gilbert et al., "Jet: Multilevel graph partitioning on graphics processing units", 2023; Krause et al., "Deterministic
// parallel high-quality hypergraph partitioning", 2025.
func (w *sweeper) sweep(c *crew, s *state, f *climber) int64 {
	n := s.g.n
	if len(w.want) < n {
		w.want, w.gain, w.went, w.best = make([]int32, n), make([]int32, n), make([]bool, n), make([]int32, n)
	}
	clear(w.went[:n])
	copy(w.best, s.part)
	start := c.cutOf(s)
	least, bestOver := start, s.over()
	last := 0
	for round := 1; round <= sweepRounds && round-last <= sweepPatience && c.err() == nil; round++ {
		if w.round(c, s) == 0 {
			break
		}
		f.rebalance(c, s)
		cut, over := c.cutOf(s), s.over()
		if over < bestOver || over == bestOver && cut < least {
			if float64(least-cut) > 0.001*float64(least) {
				last = round
			}
			least, bestOver = cut, over
			copy(w.best, s.part)
		}
	}
	c.assume(s, w.best[:n])
	return start - least
}

// round moves vertices once and returns how many.
func (w *sweeper) round(c *crew, s *state) int64 {
	n := s.g.n
	c.each(n, sweepBlock, func(worker, lo, hi int) {
		for v := int32(lo); v < int32(hi); v++ {
			w.want[v] = -1
			if w.went[v] {
				w.went[v] = false
				continue
			}
			if s.border[v] == 0 {
				continue
			}
			near := s.of(v, s.scratch[worker])
			to, gain := s.best(v, near, false)
			if to < 0 {
				s.border[v] = 0
			} else if gain >= 0 || float64(-gain) < temper*float64(near[s.part[v]]) {
				w.want[v], w.gain[v] = to, gain
			}
		}
	})
	c.each(n, sweepBlock, func(_, lo, hi int) {
		for v := int32(lo); v < int32(hi); v++ {
			if w.want[v] >= 0 && w.still(s, v) {
				w.went[v] = true
			}
		}
	})
	if c.err() != nil {
		clear(w.went[:n])
		return 0
	}
	// Targets of those that go, in want; -1 for all others.
	moved := int64(0)
	for v := range int32(n) {
		if !w.went[v] {
			w.want[v] = -1
		} else if s.count[s.part[v]] <= 1 {
			w.went[v], w.want[v] = false, -1
		} else {
			moved++
			from := s.part[v]
			s.charge(v, w.want[v])
			w.want[v] = from
		}
	}
	c.retable(s, w.want[:n])
	return moved
}

// still reports whether v loses nothing by its move, if neighbours of higher gain move first.
func (w *sweeper) still(s *state, v int32) bool {
	adj, edge := s.g.row(v)
	from, to, gain := s.part[v], w.want[v], w.gain[v]
	sum := int64(0)
	for i, u := range adj {
		p := s.part[u]
		if q := w.want[u]; q >= 0 && (w.gain[u] > gain || w.gain[u] == gain && u < v) {
			p = q
		}
		if p != from && p != to {
			continue
		}
		x := int64(1)
		if edge != nil {
			x = int64(edge[i])
		}
		if p == to {
			sum += x
		} else {
			sum -= x
		}
	}
	return sum >= 0
}

// retable brings the table of s up to date after moves: from[v] is the part that v has left, -1 if it has not moved.
func (c *crew) retable(s *state, from []int32) {
	k := s.k
	c.each(s.g.n, sweepBlock, func(_, lo, hi int) {
		for v := int32(lo); v < int32(hi); v++ {
			old := from[v]
			if old < 0 {
				continue
			}
			to := s.part[v]
			s.mark(v) // it may come back from where it had no neighbours outside
			adj, edge := s.g.row(v)
			for i, u := range adj {
				x := int32(1)
				if edge != nil {
					x = edge[i]
				}
				s.mark(u)
				if s.near == nil {
					continue
				}
				if c.threads == 1 {
					s.near[int(u)*k+int(old)] -= x
					s.near[int(u)*k+int(to)] += x
					continue
				}
				atomic.AddInt32(&s.near[int(u)*k+int(old)], -x)
				atomic.AddInt32(&s.near[int(u)*k+int(to)], x)
			}
		}
	})
}

// mark says that v may have neighbours in another part.
func (s *state) mark(v int32) {
	if atomic.LoadInt32(&s.border[v]) == 0 {
		atomic.StoreInt32(&s.border[v], 1)
	}
}

// assume gives s the partition part.
func (c *crew) assume(s *state, part []int32) {
	from := make([]int32, s.g.n)
	for v := range int32(s.g.n) {
		from[v] = -1
		if s.part[v] != part[v] {
			from[v] = s.part[v]
			s.charge(v, part[v])
		}
	}
	c.retable(s, from)
}

// cutOf returns the cut of s, from its table if it has one.
func (c *crew) cutOf(s *state) int64 {
	if s.near == nil {
		return c.cut(s.g, s.part)
	}
	const block = 4096
	sums := make([]int64, (s.g.n+block-1)/block)
	c.each(s.g.n, block, func(_, lo, hi int) {
		sum := int64(0)
		for v := lo; v < hi; v++ {
			if s.border[v] == 0 {
				continue
			}
			sum += int64(s.g.strength(int32(v)) - s.near[v*s.k+int(s.part[v])])
		}
		sums[lo/block] = sum
	})
	total := int64(0)
	for _, x := range sums {
		total += x
	}
	return total / 2
}
