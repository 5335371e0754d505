package multilevel

const (
	// volumeRounds bounds the rounds of climbVolume, volumePatience the moves in a row that bring nothing.
	volumeRounds, volumePatience = 6, 300
	// volumeDegree is the number of neighbours up to which a vertex is looked at again whenever one of them moves.
	volumeDegree = 256
)

// volume returns the communication volume of s: Σ_v (other parts that hold a neighbour of v).
func (c *crew) volume(s *state) int64 {
	const block = 4096
	sums := make([]int64, (s.g.n+block-1)/block)
	c.each(s.g.n, block, func(worker, lo, hi int) {
		sum := int64(0)
		for v := lo; v < hi; v++ {
			if s.border[v] == 0 {
				continue
			}
			own, parts := int(s.part[v]), int64(0)
			for p, x := range s.of(int32(v), s.scratch[worker]) {
				if p != own && x != 0 {
					parts++
				}
			}
			sum += parts
		}
		sums[lo/block] = sum
	})
	total := int64(0)
	for _, x := range sums {
		total += x
	}
	return total
}

// volumeGain finds the part to which v should go to lower the volume most; of equals, the one that lowers the cut more.
//
// Returns: the part, -1 = none with edges of v (and, with permitted, room), and both gains. price is scratch, one element per part.
// Method: v is sent to the part it leaves, not to the one it joins; a neighbour is no longer sent to the part that v leaves if v
// was its last neighbour there, and from now on to the one that v joins if v is its first. A vertex of a coarse level counts as all the
// input vertices that it stands for.
func (s *state) volumeGain(v int32, price []int64, permitted bool) (to int32, volume, cut int64) {
	own, k := s.part[v], s.k
	near := s.near[int(v)*k : (int(v)+1)*k]
	if near[own] == s.g.strength(v) {
		return -1, 0, 0
	}
	saved := s.volumeOfLeaving(v, price)
	to = -1
	for p, w := range near {
		if int32(p) == own || w == 0 || permitted && !s.allowed(v, int32(p)) {
			continue
		}
		gain, drop := saved-price[p], int64(w-near[own])
		if to < 0 || gain > volume || gain == volume && (drop > cut || drop == cut && s.emptier(int32(p), to)) {
			to, volume, cut = int32(p), gain, drop
		}
	}
	return to, volume, cut
}

// volumeOfLeaving returns what is saved when v leaves its part, and in price what each part costs that it joins.
func (s *state) volumeOfLeaving(v int32, price []int64) (saved int64) {
	own, k := s.part[v], s.k
	clear(price)
	adj, edge := s.g.row(v)
	for i, u := range adj {
		w := int32(1)
		if edge != nil {
			w = edge[i]
		}
		row := s.near[int(u)*k : (int(u)+1)*k]
		pu := s.part[u]
		if pu != own && row[own] == w {
			saved += s.g.holds(u)
		}
		for p, x := range row {
			if x == 0 && int32(p) != pu {
				price[p] += s.g.holds(u)
			}
		}
	}
	if s.near[int(v)*k+int(own)] == 0 {
		saved += s.g.holds(v) // v is not sent to the part it leaves
	}
	return saved
}

// volumeKey orders moves by volume, then by cut.
func volumeKey(volume, cut int64) int64 { return volume<<24 + max(-1<<23, min(1<<23, cut)) }

// climbVolume lowers the volume by moving single vertices.
//
// Returns: by how much the volume fell; never negative. It goes as climb does, except that gains are made anew only for neighbours
// of few neighbours; others are looked at again when their turn comes.
func (f *climber) climbVolume(c *crew, s *state) int64 {
	n := s.g.n
	f.fit(n)
	price := make([]int64, s.k)
	total := int64(0)
	for range volumeRounds {
		clear(f.locked[:n])
		for v := range int32(n) {
			if v&0xfff == 0 && c.err() != nil {
				break
			}
			if s.border[v] != 0 {
				f.offerVolume(s, v, price)
			}
		}
		fell := f.searchVolume(c, s, price)
		total += fell
		if fell*1000 <= total {
			break
		}
	}
	return total
}

func (f *climber) offerVolume(s *state, v int32, price []int64) {
	if to, volume, cut := s.volumeGain(v, price, false); to >= 0 {
		f.heap.set(v, volumeKey(volume, cut))
	} else if f.heap.has(v) {
		f.heap.drop(v)
	}
}

// searchVolume is search by volume.
func (f *climber) searchVolume(c *crew, s *state, price []int64) int64 {
	var fell, best, bestKey, key int64
	kept := 0
	f.log = f.log[:0]
	for pops := 1; f.heap.len() > 0 && len(f.log)-kept < volumePatience; pops++ {
		if pops&0xff == 0 && c.err() != nil {
			break
		}
		v, hoped := f.heap.pop()
		to, volume, cut := s.volumeGain(v, price, true)
		if to < 0 {
			continue
		}
		now := volumeKey(volume, cut)
		if now < hoped && f.heap.len() > 0 && now < f.heap.top() {
			f.heap.set(v, now)
			continue
		}
		f.log = append(f.log, step{v, s.part[v]})
		fell += volume
		key += now
		s.move(v, to)
		f.locked[v] = true
		adj, _ := s.g.row(v)
		for _, u := range adj {
			if !f.locked[u] && (s.g.degree(u) <= volumeDegree || !f.heap.has(u)) {
				f.offerVolume(s, u, price)
			}
		}
		if key > bestKey {
			best, bestKey, kept = fell, key, len(f.log)
		}
	}
	for i := len(f.log) - 1; i >= kept; i-- {
		s.move(f.log[i].v, f.log[i].from)
	}
	f.heap.clear()
	return best
}

// weighVolume returns g, the input, with every edge {u, v} of the weight 1/deg(u) + 1/deg(v), in units that keep sums within 31 bits.
//
// Why: v is sent to a part once, however many neighbours it has there, so one of its edges stands for 1/deg(v) of that at most; with
// these weights the cut of an edge-oblivious partition is its volume, and hubs, which are sent everywhere anyway, are cheap to cut off.
func (c *crew) weighVolume(g *level) *level {
	unit := float64(min(1<<12, (1<<30)/max(1, g.n)))
	out := *g
	weights := make([]int32, g.edges())
	out.edge = [][]int32{weights}
	c.each(g.n, 512, func(_, lo, hi int) {
		for v := int32(lo); v < int32(hi); v++ {
			own := unit / float64(max(1, g.degree(v)))
			adj, _ := g.row(v)
			for i, u := range adj {
				weights[g.ptr[v]+int64(i)] = max(1, int32(own+unit/float64(g.degree(u))))
			}
		}
	})
	return &out
}
