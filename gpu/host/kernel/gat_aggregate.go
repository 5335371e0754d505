package kernel

import (
	"math"

	"capgnn/gpu/host/workers"
)

// GATForward is a resolved gpu.GATArgs.
type GATForward struct {
	O, LSE, D   Dense
	Inner, Halo GATSource
	Bias        []float32
	Slope       float32
	Drop        EdgeDrop
	Lo, Hi      int
}

// GATSource is a block of source rows and the edges from it: entry columns index t and s.
type GATSource struct {
	A    Sparse
	T, S Dense
	IDs  []int32 // of the source rows, for EdgeDrop
}

// columns returns the source rows for n heads from head on, of c columns each.
func (s GATSource) columns(head, n, c int) GATSource {
	return GATSource{s.A, s.T.columns(head*c, n*c), s.S.columns(head, n), s.IDs}
}

// heads returns g for n heads from head on, of c columns each.
func (g *GATForward) heads(head, n, c int) *GATForward {
	p := *g
	p.O, p.LSE, p.D = g.O.columns(head*c, n*c), g.LSE.columns(head, n), g.D.columns(head, n)
	p.Inner, p.Halo, p.Drop.head = g.Inner.columns(head, n, c), g.Halo.columns(head, n, c), head
	if g.Bias != nil {
		p.Bias = g.Bias[head*c:][:n*c]
	}
	return &p
}

// GATAggregate computes rows lo to hi of O and LSE, some heads at a time.
func GATAggregate(p *workers.Pool, sc *Scratch, g *GATForward) {
	heads := g.LSE.Cols
	c := g.O.Cols / heads
	n, packed := headsAtOnce(sc, g.Inner.A, g.Inner.A.Between(g.Lo, g.Hi), g.Inner.T, g.Halo.T, heads, c)
	for h := 0; h < heads; h += n {
		part := g.heads(h, min(n, heads-h), c)
		if packed {
			copyPanels(p, sc, &part.Inner.T, &part.Halo.T, &part.Inner.S, &part.Halo.S)
		}
		gatAggregateHeads(p, sc, part)
	}
}

// gatAggregateHeads computes at most gatHeads heads: for each batch of segments first the weights, unnormalised, then the sums.
func gatAggregateHeads(p *workers.Pool, sc *Scratch, g *GATForward) {
	heads := g.LSE.Cols
	work := sc.attentions(p.Threads, heads, g.O.Cols/heads, false)
	groups(p, work, g.Inner.A, g.Halo.A, g.Lo, g.Hi, false, func(w *attention, lo, hi int) {
		o, lse, dst := g.O.RowRange(lo, hi), g.LSE.RowRange(lo, hi), g.D.RowRange(lo, hi)
		for _, r := range w.bare {
			clear(lse.Row(r))
			clear(o.Row(r))
			if g.Bias != nil {
				copy(o.Row(r), g.Bias)
			}
		}
		g.blocks(w, w.inner, &g.Inner, o, lse, dst, lo)
		g.blocks(w, w.halo, &g.Halo, o, lse, dst, lo)
	})
}

// blocks computes the segments of the group from row lo on of one block of sources.
func (g *GATForward) blocks(w *attention, list []gatSegment, src *GATSource, o, lse, dst Dense, lo int) {
	for len(list) > 0 {
		b := batch(list)
		w.softmax(b, src.A.Idx, src.S, dst, g.Slope, lse)
		w.draw(b, src.A.Idx, src.IDs, &g.Drop, lo)
		w.drop(0, b, &g.Drop)
		w.sum(b, src.A.Idx, src.T, o, w.factors, g.Bias)
		list = list[len(b):]
	}
}

// softmaxGo computes, for each segment and head, with y = leaky(s[idx[e]] + d[row]) and top and sum those of the row's
// segments so far:
//
//	top' = max(top, y);  weight[e] = exp(y - top');  sum' = sum·exp(top - top') + Σ weight
//	factors[row] = exp(top - top'), 1;  with the row's last segment divided by sum', and lse[row] = top' + log(sum')
func (w *attention) softmaxGo(list []gatSegment, idx []int32, s, d Dense, slope float32, lse Dense) {
	for i := range list {
		seg := &list[i]
		weight, dst := w.weights(0, seg), d.Row(int(seg.row))
		for e, u := range idx[seg.from:][:seg.n] {
			for h, x := range s.Row(int(u)) {
				weight[e*w.stride+h], _ = leaky(x+dst[h], slope)
			}
		}
		w.softmaxSegment(seg, lse)
	}
}

// softmaxSegment is softmaxGo of one segment, whose scores y are in the place of the weights.
func (w *attention) softmaxSegment(seg *gatSegment, lse Dense) {
	weight, state := w.weights(0, seg), perRow(w.state, seg.row, 2)
	top, sum := state[:w.heads], state[gatLanes:][:w.heads]
	if seg.flags&gatFirst != 0 {
		for h := range top {
			top[h], sum[h] = float32(math.Inf(-1)), 0
		}
	}
	factors := perRow(w.factors, seg.row, 2)
	for h := range top {
		old := top[h]
		for e := range int(seg.n) {
			top[h] = max(top[h], weight[e*w.stride+h])
		}
		f := exp32(old - top[h])
		sum[h] = sum[h]*f + float32(exponentials(weight[h:], w.stride, top[h]))
		factors[h], factors[gatLanes+h] = f, 1
		if seg.flags&gatLast != 0 {
			factors[h], factors[gatLanes+h] = f/sum[h], 1/sum[h]
			lse.Row(int(seg.row))[h] = top[h] + float32(math.Log(float64(sum[h])))
		}
	}
}

// exponentials: w[e] = exp(w[e] - top) for every stride-th number; it returns their sum.
func exponentials(w []float32, stride int, top float32) float64 {
	sum := 0.0
	for e := 0; e < len(w); e += stride {
		y := exp32(w[e] - top)
		w[e] = y
		sum += float64(y)
	}
	return sum
}

// sumGo computes, for each segment and column j of head h:
//
//	t[j] = Σ_e weight[set][e][h]·x[idx[e]][j];  y[row][j] = t[j] (+ y[row][j] unless the row's first segment)
//
// and with factors, y[row][j] = t[j]·factors[row][1][h] (+ y[row][j]·factors[row][0][h]), + bias[j] with the last segment.
func (w *attention) sumGo(set int, list []gatSegment, idx []int32, x, y Dense, factors, bias []float32) {
	var sums [64]float32
	for i := range list {
		seg := &list[i]
		weight, row := w.weights(set, seg), y.Row(int(seg.row))
		for j := 0; j < len(row); {
			h := j / w.channels
			t := sums[:min(len(sums), (h+1)*w.channels-j)]
			clear(t)
			for e, u := range idx[seg.from:][:seg.n] {
				Axpby(t, weight[e*w.stride+h], x.V[int(u)*x.LD+j:], 1)
			}
			out := row[j : j+len(t)]
			old, scale := float32(1), float32(1)
			if factors != nil {
				f := perRow(factors, seg.row, 2)
				old, scale = f[h], f[gatLanes+h]
			}
			if seg.flags&gatFirst != 0 {
				clear(out)
			}
			Axpby(out, scale, t, old)
			if bias != nil && seg.flags&gatLast != 0 {
				Axpby(out, 1, bias[j:], 1)
			}
			j += len(t)
		}
	}
}
