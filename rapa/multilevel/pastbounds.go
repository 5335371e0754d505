package multilevel

import "math"

const (
	// pastBoundsRounds are the rounds of searchPastBounds, all of them: those at low prices may bring nothing where later ones do. Ending after two without
	// gain, 16 parts of tolokers cost 11 % more. Five rounds cut 0.3 % less than three, in a quarter more time.
	pastBoundsRounds = 3
	// cheapest is the factor of the prices in the first round; it rises to 1 in the last.
	cheapest = 0.2
	// pastBoundsSeeds are the boundary vertices from which a search starts, pastBoundsLoss the moves without gain after which it ends.
	pastBoundsSeeds, pastBoundsLoss = 25, 100
)

// searchPastBounds lowers the cut by moves that may exceed bounds.
//
// Returns: by how much the cut fell; never negative. The excess over bounds is not higher than before. s must have a table.
//
// Method: a round climbs as climb does, but every part takes every vertex, at a price: what it will lose when it has to give away
// as much weight again, estimated from the vertices that it held when the round began. Prices begin low and rise from round
// to round. At the end of a round parts that are too full are rebalanced; the best partition of all rounds is kept.
//
// Why: where bounds are tight, hardly any single move is permitted, and what must change is whom a full part holds. On tolokers, of
// which the edges are among few vertices, cuts of 8 parts are 12 % lower than by climbing within bounds.
//
// Source: Maas, Gottesbüren and Seemaier, "Parallel unconstrained local search for partitioning irregular graphs", 2024.
// There only prices of going to a part count, not what leaving one saves. When a search ends is from Osipov and Sanders (descent).
func (f *climber) searchPastBounds(c *crew, s *state, salt uint64) int64 {
	n := s.g.n
	f.fit(n)
	r := random{salt}
	start := c.cutOf(s)
	least, leastOver := start, s.over()
	copy(f.kept, s.part)
	for round := 0; round < pastBoundsRounds && c.err() == nil; round++ {
		f.prices.appraise(s, cheapest+(1-cheapest)*float64(round)/(pastBoundsRounds-1))
		f.roundPastBounds(c, s, &r)
		f.rebalance(c, s)
		if cut, over := c.cutOf(s), s.over(); over < leastOver || over == leastOver && cut < least {
			least, leastOver = cut, over
			copy(f.kept, s.part)
		}
	}
	c.assume(s, f.kept[:n])
	return start - least
}

// roundPastBounds starts searches until every boundary vertex has been a seed or moved.
func (f *climber) roundPastBounds(c *crew, s *state, r *random) {
	clear(f.locked[:s.g.n])
	f.order = f.order[:0]
	for v := range int32(s.g.n) {
		if s.border[v] != 0 {
			f.order = append(f.order, v)
		}
	}
	r.shuffle(f.order)
	for at, searches := 0, 0; at < len(f.order); searches++ {
		if searches%64 == 0 && c.err() != nil {
			return
		}
		for taken := 0; at < len(f.order) && taken < pastBoundsSeeds; at++ {
			if v := f.order[at]; !f.locked[v] {
				f.offerPriced(s, v)
				taken++
			}
		}
		f.searchPriced(c, s)
	}
}

func (f *climber) offerPriced(s *state, v int32) {
	if to, gain := f.prices.best(s, v); to >= 0 {
		f.heap.set(v, gain)
	} else if f.heap.has(v) {
		f.heap.drop(v)
	}
}

// searchPriced is search at prices in place of bounds.
func (f *climber) searchPriced(c *crew, s *state) {
	var fell, best int64
	kept := 0
	f.log = f.log[:0]
	since := descent{least: math.Sqrt(float64(s.g.n))}
	for pops := 1; f.heap.len() > 0 && len(f.log)-kept < pastBoundsLoss; pops++ {
		if pops&0xfff == 0 && c.err() != nil {
			break
		}
		v, hoped := f.heap.pop()
		to, gain := f.prices.best(s, v)
		if to < 0 {
			continue
		}
		if gain < hoped && f.heap.len() > 0 && gain < f.heap.top() {
			f.heap.set(v, gain) // loads have changed
			continue
		}
		f.log = append(f.log, step{v, s.part[v]})
		fell += gain
		f.movePriced(s, v, to)
		f.locked[v] = true
		adj, _ := s.g.row(v)
		for _, u := range adj {
			if !f.locked[u] {
				f.offerPriced(s, u)
			}
		}
		if fell > best {
			best, kept = fell, len(f.log)
			since.restart()
		} else if since.add(gain); since.hopeless() {
			break
		}
	}
	for i := len(f.log) - 1; i >= kept; i-- {
		f.movePriced(s, f.log[i].v, f.log[i].from)
	}
	f.heap.clear()
}

func (f *climber) movePriced(s *state, v, to int32) {
	from := s.part[v]
	s.move(v, to)
	f.prices.moved(s, from, to)
}

// descent is the moves of a search since its best partition.
type descent struct {
	least               float64 // moves that are permitted in any case
	moves, sum, squares float64 // of their gains
}

func (d *descent) restart() { d.moves, d.sum, d.squares = 0, 0, 0 }

func (d *descent) add(gain int64) {
	d.moves++
	d.sum += float64(gain)
	d.squares += float64(float64(gain) * float64(gain))
}

// hopeless reports whether gains like these hardly lead back to the best partition: over p moves, of mean gain m and variance v, if
// p·m² ≥ v/4, or if they sum to nothing.
//
// Why: gains taken as a random walk drift away by p·m and stray by √(p·v).
//
// Source: Osipov and Sanders, "n-level graph partitioning", 2010; the constants are Mt-KaHyPar's.
func (d *descent) hopeless() bool {
	return d.moves > d.least && (d.sum == 0 || (4*d.moves+1)*d.sum*d.sum >= d.moves*d.squares)
}
