package kernel

import "capgnn/gpu/host/workers"

// DotForward is a resolved gpu.DotArgs. T of its sources is K, and S is V.
type DotForward struct {
	O, LSE, Q   Dense
	Inner, Halo GATSource
	Drop        EdgeDrop
}

// DotGradDst is a resolved gpu.DotGradDst, with sources as DotForward's.
type DotGradDst struct {
	DQ, G, DO, O, LSE, Q Dense
	Inner, Halo          GATSource
	Drop                 EdgeDrop
}

// DotGradSrc is a resolved gpu.DotGradSrc. D of its targets is Q.
type DotGradSrc struct {
	DK, DV, K, V Dense
	Inner, Halo  GATTarget
	Heads        int
	Drop         EdgeDrop
}

// eachHeads calls f for at most gatHeads heads at a time, with what returns their columns, of a matrix of so many of
// each head.
func eachHeads(heads int, drop *EdgeDrop, f func(n int, part func(m *Dense, c int))) {
	for h := 0; h < heads; h += gatHeads {
		n := min(gatHeads, heads-h)
		drop.head = h
		f(n, func(m *Dense, c int) { *m = m.columns(h*c, n*c) })
	}
}

// DotAggregate computes O and LSE: for each batch of segments first the scores, then the weights, unnormalised, then
// the sums.
func DotAggregate(p *workers.Pool, sc *Scratch, all *DotForward) {
	c := all.O.Cols / all.LSE.Cols
	eachHeads(all.LSE.Cols, &all.Drop, func(heads int, part func(m *Dense, c int)) {
		g := *all
		for _, m := range []*Dense{&g.O, &g.Q, &g.Inner.T, &g.Inner.S, &g.Halo.T, &g.Halo.S} {
			part(m, c)
		}
		part(&g.LSE, 1)
		work := sc.attentions(p.Threads, heads, c, false)
		groups(p, work, g.Inner.A, g.Halo.A, 0, g.O.Rows, false, func(w *attention, lo, hi int) {
			o, lse, q := g.O.RowRange(lo, hi), g.LSE.RowRange(lo, hi), g.Q.RowRange(lo, hi)
			for _, r := range w.bare {
				clear(lse.Row(r))
				clear(o.Row(r))
			}
			w.blocks(&g.Inner, &g.Halo, func(some []gatSegment, src *GATSource) {
				idx := src.A.Idx
				w.dotScores(0, some, src.A, src.T, q)
				w.softmaxOfScores(some, lse)
				w.draw(some, idx, src.IDs, &g.Drop, lo)
				w.drop(0, some, &g.Drop)
				w.sum(some, idx, src.S, o, w.factors, nil)
			})
			for r := range hi - lo {
				if lse.Row(r)[0] < noScore/2 { // all entries are left out
					clear(lse.Row(r))
					clear(o.Row(r))
				}
			}
		})
	})
}

// DotBackwardDst computes DQ and G.
func DotBackwardDst(p *workers.Pool, sc *Scratch, all *DotGradDst) {
	c := all.DO.Cols / all.LSE.Cols
	eachHeads(all.LSE.Cols, &all.Drop, func(heads int, part func(m *Dense, c int)) {
		g := *all
		for _, m := range []*Dense{&g.DQ, &g.DO, &g.O, &g.Q, &g.Inner.T, &g.Inner.S, &g.Halo.T, &g.Halo.S} {
			part(m, c)
		}
		part(&g.LSE, 1)
		part(&g.G, 1)
		work := sc.attentions(p.Threads, heads, c, false)
		groups(p, work, g.Inner.A, g.Halo.A, 0, g.DO.Rows, true, func(w *attention, lo, hi int) {
			do, grad, q, dq := g.DO.RowRange(lo, hi), g.G.RowRange(lo, hi), g.Q.RowRange(lo, hi), g.DQ.RowRange(lo, hi)
			w.dots(do, g.O.RowRange(lo, hi), nil, nil, grad)
			w.blocks(&g.Inner, &g.Halo, func(some []gatSegment, src *GATSource) {
				idx := src.A.Idx
				w.dotScores(0, some, src.A, src.T, q)
				w.dotScores(1, some, Sparse{Idx: idx}, src.S, do)
				w.draw(some, idx, src.IDs, &g.Drop, lo)
				w.drop(1, some, &g.Drop)
				w.gradOfScoresDst(some, g.LSE.RowRange(lo, hi), grad)
				w.sumSecond(some, idx, src.T, dq)
			})
		})
	})
}

// DotBackwardSrc computes DK and DV.
func DotBackwardSrc(p *workers.Pool, sc *Scratch, all *DotGradSrc) {
	c := all.DK.Cols / all.Heads
	eachHeads(all.Heads, &all.Drop, func(heads int, part func(m *Dense, c int)) {
		g := *all
		for _, m := range []*Dense{&g.DK, &g.DV, &g.K, &g.V, &g.Inner.DO, &g.Inner.D, &g.Halo.DO, &g.Halo.D} {
			part(m, c)
		}
		for _, m := range []*Dense{&g.Inner.LSE, &g.Inner.G, &g.Halo.LSE, &g.Halo.G} {
			part(m, 1)
		}
		work := sc.attentions(p.Threads, heads, c, false)
		groups(p, work, g.Inner.A, g.Halo.A, 0, g.DK.Rows, true, func(w *attention, lo, hi int) {
			k, v, dk, dv := g.K.RowRange(lo, hi), g.V.RowRange(lo, hi), g.DK.RowRange(lo, hi), g.DV.RowRange(lo, hi)
			for _, b := range []struct {
				list []gatSegment
				to   *GATTarget
			}{{w.inner, &g.Inner}, {w.halo, &g.Halo}} {
				for list := b.list; len(list) > 0; {
					some, idx := batch(list), b.to.A.Idx
					w.dotScores(0, some, b.to.A, b.to.D, k)
					w.dotScores(1, some, Sparse{Idx: idx}, b.to.DO, v)
					w.draw(some, idx, b.to.IDs, &g.Drop, lo)
					w.drop(1, some, &g.Drop)
					w.gradOfScoresSrc(some, idx, b.to.LSE, b.to.G)
					w.drop(0, some, &g.Drop)
					w.sum(some, idx, b.to.DO, dv, nil, nil)
					w.sumSecond(some, idx, b.to.D, dk)
					list = list[len(some):]
				}
			}
		})
	})
}

// blocks calls f for the batches of segments of both blocks of sources.
func (w *attention) blocks(inner, halo *GATSource, f func(some []gatSegment, src *GATSource)) {
	for _, b := range []struct {
		list []gatSegment
		src  *GATSource
	}{{w.inner, inner}, {w.halo, halo}} {
		for list := b.list; len(list) > 0; {
			some := batch(list)
			f(some, b.src)
			list = list[len(some):]
		}
	}
}

// noScore is that of an entry that is left out: e^(noScore - x) is 0 for all scores x.
const noScore = -1e30

// dotScores computes, for each segment and head, with noScore where a has a value of 0:
//
//	weight[set][e] = Σ_c of[idx[e]][hC+c]·row[row][hC+c]
func (w *attention) dotScores(set int, list []gatSegment, a Sparse, of, row Dense) {
	cols := w.heads * w.channels
	for i := range list {
		seg := &list[i]
		weight, r := w.weights(set, seg), Dense{V: row.Row(int(seg.row)), Rows: 1, Cols: cols, LD: cols}
		for e, u := range a.Idx[seg.from:][:seg.n] {
			to := weight[e*w.stride:][:w.heads]
			if a.Val != nil && a.Val[seg.from+int64(e)] == 0 {
				for h := range to {
					to[h] = noScore
				}
				continue
			}
			GATDots(w.channels, Dense{V: of.Row(int(u)), Rows: 1, Cols: cols, LD: cols}, r, nil, nil, Dense{V: to,
				Rows: 1, Cols: w.heads, LD: w.heads})
		}
	}
}

// sumSecond is sum, with weights of set 1 and without factors.
func (w *attention) sumSecond(list []gatSegment, idx []int32, x, y Dense) {
	w.weight[0], w.weight[1] = w.weight[1], w.weight[0]
	w.sum(list, idx, x, y, nil, nil)
	w.weight[0], w.weight[1] = w.weight[1], w.weight[0]
}
