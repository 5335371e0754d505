package sample

import (
	"math"

	"capgnn/gpu"
)

// Layers: LADIES (Zou et al., NeurIPS 2019, Algorithm 1). P is the graph with rows that add up to 1, added loops among
// them, and Q the rows of a hop. Neighbours that are rows are there anyway. Of the others, the candidates, some are drawn
// without replacement, j with a chance in proportion to p_j = ‖(QP)_{*,j}‖². So it is a race: j arrives after an
// exponential time of rate p_j, which is a function of (seed, step, hop, j), and the first ones are drawn.
//
// Why an edge from j counts 1/(1-exp(-τp_j)), τ being the first arrival that is not drawn: given τ, that is the inverse
// of the chance to be drawn, so sums over what is drawn are those over all neighbours in the mean (Cohen and Kaplan,
// PODC 2007). Where that chance is small it is LADIES's 1/p_j, but for a factor that is the same for all. LADIES then
// scales rows to add up to what they did: Block.Ratio.

// ladies is what a Sampler needs to draw layers.
type ladies struct {
	roots            int       // of what Rules.Fanout says; 0: vertices draw for themselves
	p, arrive, order []float64 // by candidate; the last one is sorted in part
	number           []int32   // by candidate: its column, -1 where it is not drawn
}

// layer draws block h: fanout candidates for a stack of s.ladies.roots roots.
func (s *Sampler) layer(st *Stack, h, fanout int) {
	x, b, rows := &s.ladies, &st.Blocks[h], len(s.ids)
	s.candidates(rows)
	st.Candidates = max(st.Candidates, len(x.p))
	want := (int64(fanout)*int64(st.Roots) + int64(x.roots) - 1) / int64(x.roots)
	if want >= int64(len(x.p)) {
		s.forget(st, rows)
		s.hop(st, h, All)
		return
	}
	last := s.race(st.Step, h, rows, int(want))
	b.reset(rows)
	b.Weight, st.IDs = resized(b.weights, rows+int(want))[:rows], resized(st.IDs, int(want))[:0]
	for r := range b.Weight {
		b.Weight[r] = 1
	}
	for j, p := range x.p {
		if x.number[j] = -1; x.arrive[j] < last {
			x.number[j] = int32(len(b.Weight))
			b.Weight = append(b.Weight, float32(-1/math.Expm1(-p*last)))
			st.IDs = append(st.IDs, s.ids[rows+j])
		}
	}
	b.weights, b.Cols = b.Weight, len(b.Weight)
	for r := range rows {
		st.Edges += s.entries(b, r)
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

// weights are those of a row's edges; nil: 1 each.
type weights []float32

func (w weights) at(i int) float64 {
	if w == nil {
		return 1
	}
	return float64(w[i])
}

// read returns the numbers of the neighbours of row r among s.ids, -1 for a loop that is left out, what each edge weighs,
// what all of them do, and what they do without signs. Neighbours that are new are appended to s.ids.
func (s *Sampler) read(r int) (cols []int32, w weights, total, size float64) {
	g, v, loop := s.graph, s.ids[r], -1
	cols = resized(s.cols, len(g.Row(int(v))))
	s.ids, s.cols = s.index.number(g.Row(int(v)), cols, s.ids), cols
	if total, size = float64(len(cols)), float64(len(cols)); g.Weights != nil {
		w, total, size = g.Weights[g.Indptr[v]:g.Indptr[v+1]], 0, 0
		for _, x := range w {
			total, size = total+float64(x), size+math.Abs(float64(x))
		}
	}
	if s.loops != nil {
		loop = s.loops.at(v)
	}
	if loop >= 0 {
		cols[loop] = -1
		total, size = total-w.at(loop), size-math.Abs(w.at(loop))
	}
	return cols, w, total, size
}

// candidates appends the neighbours of the rows that are no rows to s.ids, and writes their p.
func (s *Sampler) candidates(rows int) {
	x := &s.ladies
	x.p = x.p[:0]
	for r := range rows {
		cols, w, _, size := s.read(r)
		x.p = append(x.p, make([]float64, len(s.ids)-rows-len(x.p))...)
		if s.added {
			size++
		}
		if size <= 0 { // no edge weighs anything
			size = 1
		}
		for i, c := range cols {
			if j := int(c) - rows; j >= 0 {
				share := w.at(i) / size
				x.p[j] += share * share
			}
		}
	}
}

// race returns when the first candidate arrives that is not among so many.
func (s *Sampler) race(step uint32, h, rows, want int) float64 {
	x := &s.ladies
	x.arrive, x.order = resized(x.arrive, len(x.p)), resized(x.order, len(x.p))
	x.number = resized(x.number, len(x.p))
	for j, p := range x.p {
		w := gpu.Philox([4]uint32{0, uint32(s.ids[rows+j]), layerStream | uint32(h), step}, s.key)
		x.arrive[j] = -math.Log((float64(uint64(w[0])<<20|uint64(w[1])>>12)+0.5)/(1<<52)) / p
	}
	copy(x.order, x.arrive)
	return nth(x.order, want)
}

// nth returns the element of x that k others precede in order. It moves elements (Hoare's selection).
func nth(x []float64, k int) float64 {
	for {
		pivot, i, j := x[len(x)/2], 0, len(x)-1
		for i <= j {
			switch {
			case x[i] < pivot:
				i++
			case x[j] > pivot:
				j--
			default:
				x[i], x[j] = x[j], x[i]
				i, j = i+1, j-1
			}
		}
		switch {
		case k <= j:
			x = x[:j+1]
		case k >= i:
			x, k = x[i:], k-i
		default:
			return pivot
		}
	}
}

// entries appends row r to b, with its ratio: what all neighbours weigh over what those do that are there; 1 where weights of
// both signs may cancel out. It returns how many there are.
func (s *Sampler) entries(b *Block, r int) (n int64) {
	if s.added {
		b.Indices = append(b.Indices, int32(r))
	}
	cols, w, total, size := s.read(r)
	there := 0.0
	for i, c := range cols {
		if j := int(c) - b.Rows; j >= 0 {
			c = s.ladies.number[j]
		}
		if c >= 0 {
			there += w.at(i) * float64(b.Weight[c])
			b.Indices = append(b.Indices, c)
			n++
		}
	}
	ratio := 1.0
	if total > 0 && there > 0 && total == size {
		ratio = total / there
	}
	b.scale(r, ratio)
	b.Begin = append(b.Begin, int64(len(b.Indices)))
	return n
}
