package multilevel

import "math"

// rebalance moves vertices out of parts that exceed their bounds.
//
// Returns: nothing; the excess is not higher than before, and 0 where vertices are light enough. The cut may rise.
//
// Method: the vertices of overloaded parts wait in a queue by the cut they gain per weight they take along. The best goes to
// the part that gains most of those where the excess falls.
func (f *climber) rebalance(c *crew, s *state) {
	if s.over() == 0 {
		return
	}
	n := s.g.n
	f.heap.fit(n)
	scratch := make([]int32, s.k)
	for v := range int32(n) {
		if s.excess(s.part[v], v, 0) > 0 {
			if to, key := f.way(s, v, scratch); to >= 0 {
				f.heap.set(v, key)
			}
		}
	}
	for pops := 1; f.heap.len() > 0; pops++ {
		if pops&0xfff == 0 && (c.err() != nil) {
			break
		}
		v, hoped := f.heap.pop()
		if s.excess(s.part[v], v, 0) == 0 {
			continue
		}
		to, key := f.way(s, v, scratch)
		if to < 0 {
			continue
		}
		if key < hoped && f.heap.len() > 0 && key < f.heap.top() {
			f.heap.set(v, key)
			continue
		}
		s.move(v, to)
	}
	f.heap.clear()
}

// way returns where v should go to lower the excess, -1 = nowhere, and its key in the queue.
func (f *climber) way(s *state, v int32, scratch []int32) (int32, int64) {
	own := s.part[v]
	if s.count[own] <= 1 {
		return -1, 0
	}
	near := s.of(v, scratch)
	to, best, bestFill := int32(-1), int32(0), 0.0
	for p, w := range near {
		if int32(p) == own || to >= 0 && w < best {
			continue
		}
		if s.relief(v, int32(p)) <= 0 {
			continue
		}
		if fill := s.fill(int32(p)); to < 0 || w > best || fill < bestFill {
			to, best, bestFill = int32(p), w, fill
		}
	}
	if to < 0 {
		return -1, 0
	}
	gain := float64(best - near[own])
	weight := s.relief(v, to)
	if gain > 0 {
		return to, int64(gain * 1024)
	}
	return to, int64(max(gain/weight*1e3, math.MinInt64/2))
}
