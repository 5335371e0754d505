package multilevel

// limits are the bounds of the parts.
type limits struct {
	parts, kinds int       // kinds: number of constraints
	bound        []int64   // bound[p·kinds+c]
	hard         []bool    // per constraint
	inv          []float64 // 1/bound, hardly anything where that is 0
}

func newLimits(parts int, constraints []Constraint) *limits {
	l := &limits{parts: parts, kinds: len(constraints)}
	l.bound = make([]int64, parts*l.kinds)
	for c, x := range constraints {
		l.hard = append(l.hard, x.Hard)
		for p, b := range x.Bound {
			l.bound[p*l.kinds+c] = b
		}
	}
	l.invert()
	return l
}

// invert fills inv. An excess over a hard bound counts a thousand times one over a soft bound.
func (l *limits) invert() {
	l.inv = make([]float64, len(l.bound))
	for i, b := range l.bound {
		l.inv[i] = 1 / float64(max(b, 1))
		if l.hard[i%l.kinds] {
			l.inv[i] *= hardWeight
		}
	}
}

const hardWeight = 1000

// state is a partition of a level with what moves need to know.
type state struct {
	g     *level
	lim   *limits
	k     int
	part  []int32
	load  []int64 // load[p·kinds+c]
	count []int32 // vertices of every part
	// near[v·k+p], the table, is the weight of the edges from v into part p; nil where it would be too large.
	near []int32
	// border is 0 for vertices that have no neighbour in another part; others may have one.
	border []int32
	// scratch holds, per worker, a row of the table where there is none.
	scratch [][]int32
}

// newState takes over part, which may be changed from then on. It has no table and no border: see tabulate.
func (c *crew) newState(g *level, lim *limits, part []int32) *state {
	s := &state{g: g, lim: lim, k: lim.parts, part: part, load: make([]int64, len(lim.bound)), count: make([]int32, lim.parts)}
	for v, p := range part {
		s.count[p]++
		for i := range lim.kinds {
			s.load[int(p)*lim.kinds+i] += g.of(i, int32(v))
		}
	}
	return s
}

// tableFloor is the number of entries up to which a table is always made; beyond, it takes no more memory than the neighbours do.
const tableFloor = 1 << 22

// tabulate makes border and table in memory that is lent. known, if not empty, is the border of the next level, from which the
// partition was taken: what was not at a border there is not here.
func (c *crew) tabulate(s *state, known []int32, lent *[]int32) {
	n, k := s.g.n, s.k
	need := n
	table := n*k <= tableFloor || int64(n)*int64(k) <= s.g.edges()
	if table {
		need += n * k
	}
	if len(*lent) < need {
		*lent = make([]int32, need)
	}
	s.border = (*lent)[:n]
	if table {
		s.near = (*lent)[n:need]
	}
	s.scratch = make([][]int32, c.threads)
	for i := range s.scratch {
		s.scratch[i] = make([]int32, k)
	}
	c.each(n, 512, func(worker, lo, hi int) {
		if table {
			clear(s.near[lo*k : hi*k])
		}
		for v := int32(lo); v < int32(hi); v++ {
			own := s.part[v]
			s.border[v] = 0
			if len(known) > 0 && known[s.g.coarse[v]] == 0 {
				if table {
					s.near[int(v)*k+int(own)] = s.g.strength(v)
				}
				continue
			}
			near := s.scratch[worker]
			if table {
				near = s.near[int(v)*k : (int(v)+1)*k]
				s.scan(v, near)
			} else {
				near = s.of(v, near)
			}
			if near[own] != s.g.strength(v) {
				s.border[v] = 1
			}
		}
	})
}

// scan adds to near the weight of the edges of v by part.
func (s *state) scan(v int32, near []int32) {
	adj, edge := s.g.row(v)
	part := s.part
	if edge == nil {
		for _, u := range adj {
			near[part[u]]++
		}
		return
	}
	for i, u := range adj {
		near[part[u]] += edge[i]
	}
}

// of returns the row of the table of v, or makes it in scratch, which has one element per part.
func (s *state) of(v int32, scratch []int32) []int32 {
	if s.near != nil {
		return s.near[int(v)*s.k : (int(v)+1)*s.k]
	}
	clear(scratch)
	s.scan(v, scratch)
	return scratch
}

// charge moves the weights of v from its part to another.
func (s *state) charge(v, to int32) {
	from := s.part[v]
	m := s.lim.kinds
	for c := range m {
		w := s.g.of(c, v)
		s.load[int(from)*m+c] -= w
		s.load[int(to)*m+c] += w
	}
	s.count[from]--
	s.count[to]++
	s.part[v] = to
}

// move puts v into a part and keeps the table.
func (s *state) move(v, to int32) {
	from := s.part[v]
	s.charge(v, to)
	k := s.k
	adj, edge := s.g.row(v)
	s.border[v] = 1
	if s.near == nil {
		for _, u := range adj {
			s.border[u] = 1
		}
		return
	}
	if edge == nil {
		for _, u := range adj {
			s.border[u] = 1
			s.near[int(u)*k+int(from)]--
			s.near[int(u)*k+int(to)]++
		}
		return
	}
	for i, u := range adj {
		s.border[u] = 1
		s.near[int(u)*k+int(from)] -= edge[i]
		s.near[int(u)*k+int(to)] += edge[i]
	}
}

// excess returns by how much part p exceeds its bounds, in units of them, with v added (sign 1), taken away (-1), or neither
// (0).
func (s *state) excess(p int32, v int32, sign int64) float64 {
	e := 0.0
	m := s.lim.kinds
	for c := range m {
		i := int(p)*m + c
		if over := s.load[i] + sign*s.g.of(c, v) - s.lim.bound[i]; over > 0 {
			e += float64(over) * s.lim.inv[i]
		}
	}
	return e
}

// overloaded reports whether part p exceeds a bound.
func (s *state) overloaded(p int32) bool {
	m := s.lim.kinds
	for i := int(p) * m; i < int(p+1)*m; i++ {
		if s.load[i] > s.lim.bound[i] {
			return true
		}
	}
	return false
}

// relief returns by how much the excess of both parts falls if v goes to part `to`.
func (s *state) relief(v, to int32) float64 {
	from := s.part[v]
	return s.excess(from, v, 0) + s.excess(to, v, 0) - s.excess(from, v, -1) - s.excess(to, v, 1)
}

// fits reports whether part `to` has room for v under every bound.
func (s *state) fits(v, to int32) bool {
	m := s.lim.kinds
	for c := range m {
		i := int(to)*m + c
		if s.load[i]+s.g.of(c, v) > s.lim.bound[i] {
			return false
		}
	}
	return true
}

// allowed reports whether v may go to another part: its own keeps a vertex, and bounds are exceeded no more than before.
func (s *state) allowed(v, to int32) bool {
	if s.count[s.part[v]] <= 1 {
		return false
	}
	if s.fits(v, to) {
		return true
	}
	r := s.relief(v, to)
	return r > 0 || s.lim.kinds > 1 && r >= 0 && s.fitsHard(v, to)
}

func (s *state) fitsHard(v, to int32) bool {
	m := s.lim.kinds
	for c := range m {
		if i := int(to)*m + c; s.lim.hard[c] && s.load[i]+s.g.of(c, v) > s.lim.bound[i] {
			return false
		}
	}
	return true
}

// over returns the excess of all parts; 0 = every bound is kept.
func (s *state) over() float64 {
	e := 0.0
	for i, b := range s.lim.bound {
		if s.load[i] > b {
			e += float64(s.load[i]-b) * s.lim.inv[i]
		}
	}
	return e
}

// violation returns the first hard bound that is not kept, nil if all are.
func (s *state) violation() error {
	m := s.lim.kinds
	for i, b := range s.lim.bound {
		if s.lim.hard[i%m] && s.load[i] > b {
			return &BoundError{Constraint: i % m, Part: i / m, Load: s.load[i], Bound: b}
		}
	}
	return nil
}

// populate gives every empty part one vertex: of those that leave a part with others and lower the excess most, the one of
// fewest neighbours, lowest id first.
func (s *state) populate() {
	for p := range int32(s.k) {
		if s.count[p] > 0 {
			continue
		}
		pick, pickRelief := int32(-1), 0.0
		for v := range int32(s.g.n) {
			if s.count[s.part[v]] <= 1 {
				continue
			}
			r := s.relief(v, p)
			if pick < 0 || r > pickRelief || r == pickRelief && s.g.degree(v) < s.g.degree(pick) {
				pick, pickRelief = v, r
			}
		}
		s.move(pick, p)
	}
}

// emptier reports whether part p is less full than part q, in the first constraint.
func (s *state) emptier(p, q int32) bool {
	i, j := int(p)*s.lim.kinds, int(q)*s.lim.kinds
	return s.load[i]*s.lim.bound[j] < s.load[j]*s.lim.bound[i]
}

// sooner reports whether part p is preferred to part q where both are worth the same: it is emptier, or as full and of lower number.
func (s *state) sooner(p, q int32) bool {
	return s.emptier(p, q) || p < q && !s.emptier(q, p)
}

// around says how to go through the parts with edges of v: they are s.at(adj, i) for i from 0 to count-1, among others or repeated. With
// many parts these are the parts of its neighbours, so that a look at v takes no longer the more parts there are.
func (s *state) around(v int32) (adj []int32, count int) {
	if s.g.degree(v) >= s.k {
		return nil, s.k
	}
	adj, _ = s.g.row(v)
	return adj, len(adj)
}

// at returns part i of those that around goes through.
func (s *state) at(adj []int32, i int) int32 {
	if adj == nil {
		return int32(i)
	}
	return s.part[adj[i]]
}

// best returns the part to which v gains most and the gain, given its row of the table; only parts with edges of v and, with
// permitted, that may take it. -1 = none. Ties go to the sooner part.
func (s *state) best(v int32, near []int32, permitted bool) (to, gain int32) {
	own := s.part[v]
	if s.k == 2 {
		if w := near[1-own]; w != 0 && (!permitted || s.allowed(v, 1-own)) {
			return 1 - own, w - near[own]
		}
		return -1, -near[own]
	}
	to = -1
	adj, count := s.around(v)
	for i := range count {
		p := s.at(adj, i)
		w := near[p]
		if w == 0 || w < gain || p == own || p == to || w == gain && !s.sooner(p, to) {
			continue
		}
		if !permitted || s.allowed(v, p) {
			to, gain = p, w
		}
	}
	return to, gain - near[own]
}

// cut returns the weight of the edges between parts.
func (c *crew) cut(g *level, part []int32) int64 {
	const block = 2048
	sums := make([]int64, (g.n+block-1)/block)
	c.each(g.n, block, func(_, lo, hi int) {
		sum := int64(0)
		for v := int32(lo); v < int32(hi); v++ {
			adj, edge := g.row(v)
			own := part[v]
			for i, u := range adj {
				if part[u] != own {
					if edge == nil {
						sum++
					} else {
						sum += int64(edge[i])
					}
				}
			}
		}
		sums[lo/block] = sum
	})
	total := int64(0)
	for _, x := range sums {
		total += x
	}
	return total / 2
}
