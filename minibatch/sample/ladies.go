package sample

import (
	"math"

	"capgnn/gpu"
	"capgnn/graph"
)

// Layer-wise sampling: LADIES (Zou et al., NeurIPS 2019, Algorithm 1). P is the graph with rows that add up to 1, added loops among them, and Q the rows of a hop. Of the neighbours of these
// rows, those that are rows themselves are there anyway. Of the others, the candidates, some are drawn without replacement, j with a chance in proportion to p_j = ‖(QP)_{*,j}‖². So it is a
// race: j arrives after an exponential time of rate p_j, which is a function of (seed, step, hop, j), and the first ones are drawn.
//
// Why an edge from j counts 1/(1-exp(-τp_j)), τ being the arrival of the first one that is not drawn: given τ, that is the inverse of the chance to be drawn, so sums over what is drawn are
// those over all neighbours in the mean (Cohen and Kaplan, PODC 2007). Where it is small, it is 1/p_j, as in LADIES, but for a factor that is the same for all. LADIES then scales rows to add up
// to what they did: Block.Ratio.

// piece is how many neighbours of a row are looked up at once.
const piece = 4096

// ladies is what a Sampler needs to draw layers.
type ladies struct {
	roots  int       // of what Rules.Fanout says; 0: vertices draw for themselves
	p      []float64 // by candidate
	arrive []float64
	order  []float64
	number []int32 // among what is kept, -1 for those that are not drawn
}

// layer draws block h: so many candidates for a stack of s.ladies.roots roots.
func (s *Sampler) layer(st *Stack, h, fanout int) {
	x, rows := &s.ladies, len(s.ids)
	s.candidates(rows)
	st.Candidates = max(st.Candidates, len(x.p))
	want := (int64(fanout)*int64(st.Roots) + int64(x.roots) - 1) / int64(x.roots)
	if want >= int64(len(x.p)) {
		s.forget(st, rows)
		s.hop(st, h, All)
		return
	}
	last := s.race(st.Step, h, rows, int(want))
	b := &st.Blocks[h]
	b.reset(rows)
	b.weights, st.IDs = resized(b.weights, rows+int(want))[:rows], resized(st.IDs, int(want))[:0]
	for r := range b.weights {
		b.weights[r] = 1
	}
	for j, p := range x.p {
		if x.number[j] = -1; x.arrive[j] < last {
			x.number[j] = int32(len(b.weights))
			b.weights, st.IDs = append(b.weights, float32(-1/math.Expm1(-p*last))), append(st.IDs, s.ids[rows+j])
		}
	}
	b.Weight, b.Cols = b.weights, len(b.weights)
	for r := range rows {
		s.entries(b, r)
	}
	st.Edges += int64(len(b.Indices))
	if s.added {
		st.Edges -= int64(rows)
	}
	s.ids = append(s.ids[:rows], st.IDs...)
	s.forget(st, b.Cols)
}

// forget drops all ids but the first.
func (s *Sampler) forget(st *Stack, kept int) {
	st.IDs, s.cols = resized(st.IDs, kept), resized(s.cols, kept)
	copy(st.IDs, s.ids)
	s.index.begin()
	s.ids = s.index.number(st.IDs, s.cols, s.ids[:0])
}

// read calls do with the neighbours of row r, in pieces: their numbers in s.ids, to which new ones are added, and what the edges weigh; nil: 1. What is left out has the number r.
func (s *Sampler) read(r int, do func(cols []int32, weights []float32)) {
	g, v := s.graph, s.ids[r]
	for at, end := g.Indptr[v], g.Indptr[v+1]; at < end; at += piece {
		next := min(at+piece, end)
		s.cols = resized(s.cols, int(next-at))
		s.ids = s.index.number(g.Indices[at:next], s.cols, s.ids)
		if g.Weights == nil {
			do(s.cols, nil)
		} else {
			do(s.cols, g.Weights[at:next])
		}
	}
}

// total returns what the neighbours of v weigh.
func (s *Sampler) total(v graph.NodeID) float64 {
	lo, hi, loop := s.graph.Indptr[v], s.graph.Indptr[v+1], -1
	if s.loops != nil {
		loop = s.loops.at(v)
	}
	if s.graph.Weights == nil {
		return float64(hi-lo) - float64(min(1, loop+1))
	}
	sum := 0.0
	for i, w := range s.graph.Weights[lo:hi] {
		if i != loop {
			sum += float64(w)
		}
	}
	return sum
}

// candidates appends the neighbours of the rows that are no rows to s.ids, and writes their p.
func (s *Sampler) candidates(rows int) {
	x := &s.ladies
	x.p = x.p[:0]
	for r := range rows {
		total := s.total(s.ids[r])
		if s.added {
			total++
		}
		if total <= 0 { // weights that cancel out
			total = 1
		}
		s.read(r, func(cols []int32, weights []float32) {
			x.p = append(x.p, make([]float64, len(s.ids)-rows-len(x.p))...)
			for i, c := range cols {
				if j := int(c) - rows; j >= 0 {
					w := 1.0
					if weights != nil {
						w = float64(weights[i])
					}
					x.p[j] += w / total * (w / total)
				}
			}
		})
	}
}

// race returns when the first candidate arrives that is not among so many.
func (s *Sampler) race(step uint32, h, rows, want int) float64 {
	x := &s.ladies
	x.arrive, x.order, x.number = resized(x.arrive, len(x.p)), resized(x.order, len(x.p)), resized(x.number, len(x.p))
	for j, p := range x.p {
		w := gpu.Philox([4]uint32{0, uint32(s.ids[rows+j]), layerStream | uint32(h), step}, s.key)
		u := (float64(uint64(w[0])<<20|uint64(w[1])>>12) + 0.5) / (1 << 52)
		x.arrive[j] = -math.Log(u) / p
	}
	copy(x.order, x.arrive)
	return nth(x.order, want)
}

// nth returns the element of x that k others precede in order. It moves elements (Hoare's selection).
func nth(x []float64, k int) float64 {
	for lo, hi := 0, len(x)-1; lo < hi; {
		pivot, i, j := x[lo+(hi-lo)/2], lo, hi
		for i <= j {
			for ; x[i] < pivot; i++ {
			}
			for ; x[j] > pivot; j-- {
			}
			if i <= j {
				x[i], x[j] = x[j], x[i]
				i, j = i+1, j-1
			}
		}
		switch {
		case k <= j:
			hi = j
		case k >= i:
			lo = i
		default:
			return x[k]
		}
	}
	return x[k]
}

// entries appends row r to b, with its ratio: what all neighbours weigh over what those do that are there.
func (s *Sampler) entries(b *Block, r int) {
	if s.added {
		b.Indices = append(b.Indices, int32(r))
	}
	there := 0.0
	s.read(r, func(cols []int32, weights []float32) {
		for i, c := range cols {
			if j := int(c) - b.Rows; j >= 0 {
				c = s.ladies.number[j]
			} else if s.loops != nil && int(c) == r {
				continue
			}
			if c < 0 {
				continue
			}
			w := 1.0
			if weights != nil {
				w = float64(weights[i])
			}
			there += w * float64(b.Weight[c])
			b.Indices = append(b.Indices, c)
		}
	})
	ratio := 1.0
	if total := s.total(s.ids[r]); total > 0 && there > 0 {
		ratio = total / there
	}
	b.scale(r, ratio)
	b.Begin = append(b.Begin, int64(len(b.Indices)))
}
