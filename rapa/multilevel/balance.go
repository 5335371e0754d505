package multilevel

import "math"

// rebalance moves vertices out of parts that exceed their bounds.
//
// Returns: nothing; the excess is not higher than before, and 0 where vertices are light enough. The cut may rise.
//
// Method: the vertices of overloaded parts are put into buckets by the cut they lose per weight they take along. They go, in
// order of buckets, to the part that loses least of those where the excess falls; who loses more by then is put back. First
// boundary vertices, then all.
//
// Source: Gilbert et al., "Jet", 2023 (buckets by loss).
func (f *climber) rebalance(c *crew, s *state) {
	for _, inside := range []bool{false, true} {
		if s.over() == 0 || c.err() != nil {
			return
		}
		f.relieve(c, s, inside)
	}
}

// lossBuckets is enough for losses of 2^30 times the mean weight.
const lossBuckets = 128

// relieve is one pass of rebalance: with inside, over all vertices, else over those at a boundary.
func (f *climber) relieve(c *crew, s *state, inside bool) {
	heavy := make([]bool, s.k)
	scale := 0.0
	for p := range heavy {
		heavy[p] = s.overloaded(int32(p))
	}
	for i, l := range s.load {
		scale += float64(l) * s.lim.inv[i]
	}
	scale /= float64(s.g.n)
	for b := range f.bucket {
		f.bucket[b] = f.bucket[b][:0]
	}
	for v := range int32(s.g.n) {
		if heavy[s.part[v]] && (inside || s.border[v] != 0) {
			if to, b := s.way(v, scale); to >= 0 {
				f.bucket[b] = append(f.bucket[b], v)
			}
		}
	}
	for b := range f.bucket {
		for i := 0; i < len(f.bucket[b]); i++ {
			if i&0xfff == 0xfff && c.err() != nil {
				return
			}
			v := f.bucket[b][i]
			if !s.overloaded(s.part[v]) {
				continue
			}
			to, now := s.way(v, scale)
			switch {
			case to < 0:
			case now > b:
				f.bucket[now] = append(f.bucket[now], v)
			default:
				s.move(v, to)
			}
		}
	}
}

// way returns where v should go to lower the excess, -1 = nowhere, and its bucket. scale is the relief by a vertex of mean
// weight.
func (s *state) way(v int32, scale float64) (to int32, bucket int) {
	own := s.part[v]
	if s.count[own] <= 1 {
		return -1, 0
	}
	near := s.of(v, s.scratch[0])
	leave := s.excess(own, v, 0) - s.excess(own, v, -1)
	to = -1
	best, relief := int32(0), 0.0
	consider := func(p int32) {
		w := near[p]
		if p == own || p == to || to >= 0 && (w < best || w == best && !s.sooner(p, to)) {
			return
		}
		r := leave
		if !s.fits(v, p) {
			r += s.excess(p, v, 0) - s.excess(p, v, 1)
		}
		if r > 0 {
			to, best, relief = p, w, r
		}
	}
	adj, count := s.around(v)
	for i := range count {
		consider(s.at(adj, i))
	}
	if to < 0 && count < s.k {
		for p := range int32(s.k) {
			consider(p)
		}
	}
	if to < 0 || best > near[own] {
		return to, 0
	}
	loss := float64(near[own]-best) * scale / relief
	return to, min(lossBuckets-1, 1+int(4*math.Log2(1+loss)))
}
