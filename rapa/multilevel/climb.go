package multilevel

// climber improves a partition move by move. It is the scratch of one goroutine.
type climber struct {
	heap   heap
	locked []bool
	log    []step
	order  []int32
	kept   []int32 // best partition of searchPastBounds
	prices prices
	table  []int32 // lent to one state at a time
	bucket [lossBuckets][]int32
}

// effort says how long to climb.
type effort struct {
	rounds   int
	seeds    int // boundary vertices from which a search starts
	patience int // moves without a better cut after which it ends
}

// thorough is for small graphs, where the best of several partitions is wanted. It follows searches past bounds, after which four rounds
// from 10 seeds each brought nothing more, in an eighth more time for all.
var thorough = effort{rounds: 1, seeds: 25, patience: 100}

// quick is one search from everywhere. On web-NotreDame its cut is within 1 % of thorough's, in a quarter of the time.
func quick(n int) effort { return effort{rounds: 1, seeds: n, patience: 2000} }

// forBisection is for graphs in which sides are only being found; seeds bounds the boundary vertices of one search.
func forBisection(n, seeds int) effort {
	return effort{rounds: 3, seeds: seeds, patience: max(50, n/20)}
}

type step struct{ v, from int32 }

// fit makes room for vertices 0 to n-1.
func (f *climber) fit(n int) {
	f.heap.fit(n)
	if len(f.locked) < n {
		f.locked, f.kept = make([]bool, n), make([]int32, n)
	}
}

// climb lowers the cut by moving single vertices between parts (k-way Fiduccia-Mattheyses).
//
// Returns: by how much the cut fell; never negative. Bounds are exceeded no more than before. s must have a table.
//
// Method: a search starts at a number of boundary vertices, in random order. The best vertex moves to the permitted part that
// gains most, even at a loss, and is locked for the round; its neighbours join the search. When `patience` moves in a row have
// brought no better cut, everything after the best is undone. A round ends when every boundary vertex has been a seed or
// moved; rounds end when one gains little.
//
// Why: walking over small losses leaves local minima. Searches that start in few places find more of them than one from all
// places at once, at more cost.
//
// Source: Fiduccia and Mattheyses, 1982; Sanders and Schulz, "Engineering multilevel graph partitioning algorithms", 2011
// (localised searches).
func (f *climber) climb(c *crew, s *state, e effort, salt uint64) int64 {
	n := s.g.n
	f.fit(n)
	r := random{salt}
	total := int64(0)
	for range e.rounds {
		clear(f.locked[:n])
		f.order = f.order[:0]
		for v := range int32(n) {
			if s.border[v] == 0 {
				continue
			}
			if to, _ := s.best(v, s.near[int(v)*s.k:(int(v)+1)*s.k], false); to >= 0 {
				f.order = append(f.order, v)
			} else {
				s.border[v] = 0
			}
		}
		if e.seeds < len(f.order) {
			r.shuffle(f.order)
		}
		fell := int64(0)
		for at, searches := 0, 0; at < len(f.order); searches++ {
			if searches%64 == 0 && c.err() != nil {
				return total
			}
			for taken := 0; at < len(f.order) && taken < e.seeds; at++ {
				if v := f.order[at]; !f.locked[v] {
					f.offer(s, v)
					taken++
				}
			}
			fell += f.search(c, s, e.patience)
		}
		total += fell
		if fell*1000 <= int64(len(f.order)) {
			break
		}
	}
	return total
}

// offer puts v into the queue by its gain, if it lies at a boundary.
func (f *climber) offer(s *state, v int32) {
	if to, gain := s.best(v, s.near[int(v)*s.k:(int(v)+1)*s.k], false); to >= 0 {
		f.heap.set(v, int64(gain))
	} else if f.heap.has(v) {
		f.heap.drop(v)
	}
}

// search moves what is in the queue and returns by how much the cut fell.
func (f *climber) search(c *crew, s *state, patience int) int64 {
	var fell, best int64
	kept := 0
	f.log = f.log[:0]
	for pops := 1; f.heap.len() > 0 && len(f.log)-kept < patience; pops++ {
		if pops&0xfff == 0 && c.err() != nil {
			break
		}
		v, hoped := f.heap.pop()
		to, gain := s.best(v, s.near[int(v)*s.k:(int(v)+1)*s.k], true)
		if to < 0 {
			continue
		}
		if int64(gain) < hoped && f.heap.len() > 0 && int64(gain) < f.heap.top() {
			f.heap.set(v, int64(gain)) // the best part is not permitted
			continue
		}
		f.log = append(f.log, step{v, s.part[v]})
		fell += int64(gain)
		s.move(v, to)
		f.locked[v] = true
		adj, _ := s.g.row(v)
		for _, u := range adj {
			if !f.locked[u] {
				f.offer(s, u)
			}
		}
		if fell > best {
			best, kept = fell, len(f.log)
		}
	}
	for i := len(f.log) - 1; i >= kept; i-- {
		s.move(f.log[i].v, f.log[i].from)
	}
	f.heap.clear()
	return best
}
