package gputest

import (
	"fmt"
	"math"

	"capgnn/gpu"
	"capgnn/internal/ref"
)

// gatv2Case is a graph in two blocks, and attention over both at once.
type gatv2Case struct {
	inner, halo ref.CSR
	att         ref.GATv2
	drop        edgeDrop
}

// gatv2Cases runs f for graphs × numbers of heads and columns of each. Sums of rows are on a grid, so that their signs are those of float64;
// three heads have scores whose exponentials overflow unless taken against the maximum.
func (b *bench) gatv2Cases(names []string, heads [][2]int, f func(b *bench, c gatv2Case, l layout)) {
	b.gatCases(names, heads, func(b *bench, c gatCase, l layout) {
		h, cols := c.att.S.Cols, c.att.T.Cols
		scale := 1. / 8
		if h == 3 {
			scale = 4
		}
		f(b, gatv2Case{inner: c.inner, halo: c.halo, att: ref.GATv2{A: c.att.A, T: b.grid(c.att.T.Rows, cols), R: b.grid(c.inner.Rows, cols),
			Att: ref.Axpby(ref.Matrix{}, scale, b.grid(1, cols), 0).V, Heads: h, Slope: gatSlope}}, l)
	})
}

func testGATv2Aggregate(b *bench) { b.gatv2Cases(gatGraphs, heads, (*bench).gatv2Aggregate) }

func (b *bench) gatv2Aggregate(c gatv2Case, l layout) {
	b.Helper()
	g, n, split := c.att, c.inner.Rows, c.inner.Cols
	cols := g.T.Cols
	a := gpu.GATv2Args{
		O: b.blank(n, cols, l), LSE: b.blank(n, g.Heads, l), Inner: b.csr(c.inner), Halo: b.csr(c.halo),
		T: b.put(rows(g.T, 0, split), l), THalo: b.put(rows(g.T, split, g.T.Rows), l), R: b.put(g.R, l), Att: b.vec(g.Att), Slope: gatSlope,
		Drop: b.toTargets(c.drop, split), Lo: n / 3, Hi: n - n/3,
	}
	o, lse := g.Forward()
	for _, part := range [][2]int{{a.Lo, a.Hi}, {0, a.Lo}, {a.Hi, n}} {
		a.Lo, a.Hi = part[0], part[1]
		b.q.GATv2Aggregate(a)
		if a.Lo > 0 && a.Hi < n { // the rows before and behind are not written
			for _, i := range []int{a.Lo - 1, a.Hi} {
				if got := b.get(a.O).At(i, 0); !math.IsNaN(got) {
					b.Fatalf("row %d lies outside of Lo to Hi and was written", i)
				}
			}
		}
	}
	// α has the absolute error of its score as relative error, besides those of a quotient of an exponential and a sum.
	score := c.largestScore()
	terms := longest(g.A) + cols/g.Heads + 4
	top := largest(g.T.V) * (1 + score) * c.drop.scale() // Σ α|T| ≤ max|T|
	b.near("O", b.get(a.O), o, terms, func(i, j int) float64 { return top })
	b.near("LSE", b.get(a.LSE), lse, terms, func(i, h int) float64 { return 1 + math.Abs(lse.At(i, h)) + score })
}

// largestScore bounds the absolute values of the terms of a score, added up.
func (c gatv2Case) largestScore() float64 {
	channels, most := c.att.T.Cols/c.att.Heads, 0.0
	for h := range c.att.Heads {
		sum := 0.0
		for _, x := range c.att.Att[h*channels : (h+1)*channels] {
			sum += math.Abs(x)
		}
		most = max(most, sum)
	}
	return most * (largest(c.att.T.V) + largest(c.att.R.V))
}

func testGATv2Backward(b *bench) { b.gatv2Cases(gatGraphs, heads, (*bench).gatv2Backward) }

func (b *bench) gatv2Backward(c gatv2Case, l layout) {
	b.Helper()
	o, lse := c.att.Forward()
	o, lse = float32s(o), float32s(lse) // as the device reads them
	do := b.normal(o.Rows, o.Cols)
	want, size := c.att.Backward(do, o, lse), c.gradSizes(do, o, lse)
	b.gatv2BackwardDst(c, do, o, lse, want, size, l)
	b.gatv2BackwardSrc(c, do, lse, want, size, l)
}

// gradSizes adds the absolute values of the terms of the gradient; those with α times one more than the absolute terms of its argument.
func (c gatv2Case) gradSizes(do, o, lse ref.Matrix) ref.GATv2Grad {
	g := c.att
	channels := g.T.Cols / g.Heads
	factor := c.drop.scale() * (1 + largest(lse.V) + c.largestScore())
	r := ref.GATv2Grad{G: ref.NewMatrix(g.A.Rows, g.Heads), DR: ref.NewMatrix(g.A.Rows, g.T.Cols), DA: ref.NewMatrix(g.A.Rows, g.T.Cols),
		DT: ref.NewMatrix(g.T.Rows, g.T.Cols)}
	for v := range g.A.Rows {
		out, in, sums, dr, da := do.Row(v), o.Row(v), g.R.Row(v), r.DR.Row(v), r.DA.Row(v)
		for h := range g.Heads {
			lo, hi := h*channels, (h+1)*channels
			gv := 0.0
			for k := lo; k < hi; k++ {
				gv += math.Abs(out[k] * in[k])
			}
			r.G.Row(v)[h] = gv
			for _, e := range g.A.Row(v) {
				t, dt := g.T.Row(e.Col), r.DT.Row(e.Col)
				alpha, de := factor*math.Exp(g.Score(e.Col, v, h)-lse.At(v, h)), gv
				for k := lo; k < hi; k++ {
					de += math.Abs(out[k] * t[k])
				}
				de *= alpha
				for k := lo; k < hi; k++ {
					dr[k] += math.Abs(g.Att[k]) * de
					da[k] += de * math.Abs(t[k]+sums[k])
					dt[k] += alpha*math.Abs(out[k]) + math.Abs(g.Att[k])*de
				}
			}
		}
	}
	return r
}

// gatv2BackwardDst writes DA in the place of O, or elsewhere.
func (b *bench) gatv2BackwardDst(c gatv2Case, do, o, lse ref.Matrix, want, size ref.GATv2Grad, l layout) {
	b.Helper()
	g, n, split := c.att, c.inner.Rows, c.inner.Cols
	cols := g.T.Cols
	for _, apart := range []bool{true, false} {
		a := gpu.GATv2GradDst{
			DR: b.blank(n, cols, l), G: b.blank(n, g.Heads, l), DO: b.put(do, l), O: b.put(o, l), LSE: b.put(lse, l),
			Inner: b.csr(c.inner), Halo: b.csr(c.halo), T: b.put(rows(g.T, 0, split), l), THalo: b.put(rows(g.T, split, g.T.Rows), l),
			R: b.put(g.R, l), Att: b.vec(g.Att), Slope: gatSlope, Drop: b.toTargets(c.drop, split),
		}
		if a.DA = a.O; apart {
			a.DA = b.blank(n, cols, l)
		}
		b.q.GATv2BackwardDst(a)
		terms, what := longest(g.A)+2*cols/g.Heads, fmt.Sprintf(" (DA apart: %v)", apart)
		b.near("G"+what, b.get(a.G), want.G, terms, size.G.At)
		b.near("DR"+what, b.get(a.DR), want.DR, terms, size.DR.At)
		b.oneSign(g, b.get(a.DR))
		b.near("DA"+what, b.get(a.DA), want.DA, terms, size.DA.At)
	}
}

// oneSign demands 0 where the sums of rows have one sign in all entries.
func (b *bench) oneSign(g ref.GATv2, dr ref.Matrix) {
	b.Helper()
	for v := range dr.Rows {
		positive, entries, sums := make([]int, dr.Cols), g.A.Row(v), g.R.Row(v)
		for _, e := range entries {
			for k, t := range g.T.Row(e.Col) {
				if t+sums[k] > 0 {
					positive[k]++
				}
			}
		}
		for k, x := range dr.Row(v) {
			if (positive[k] == 0 || positive[k] == len(entries)) && x != 0 {
				b.Fatalf("DR[%d][%d] is %g; its %d entries have one sign", v, k, x, len(entries))
			}
		}
	}
}

// gatv2BackwardSrc takes the transpose of all edges, or of those to some destinations as listed rows.
func (b *bench) gatv2BackwardSrc(c gatv2Case, do, lse ref.Matrix, want, size ref.GATv2Grad, l layout) {
	b.Helper()
	g, n := c.att, c.inner.Rows
	grad := float32s(want.G)
	a := gpu.GATv2GradSrc{
		DT: b.blank(g.T.Rows, g.T.Cols, l), T: b.put(g.T, l), A: b.csr(turned(g.A, 0, n, false)),
		DO: b.put(do, l), R: b.put(g.R, l), LSE: b.put(lse, l), G: b.put(grad, l), Att: b.vec(g.Att), Slope: gatSlope,
		Drop: b.toSources(c.drop, n),
	}
	b.q.GATv2BackwardSrc(a)
	terms := longest(g.A) + n + 2*g.T.Cols/g.Heads
	b.near("DT", b.get(a.DT), want.DT, terms, size.DT.At)
	a.DT, a.A = b.blank(g.T.Rows, g.T.Cols, l), b.csr(turned(g.A, 0, n, true))
	b.q.GATv2BackwardSrc(a)
	b.near("DT of listed rows", b.get(a.DT), want.DT, terms, size.DT.At)
	a.DT, a.A = b.blank(g.T.Rows, g.T.Cols, l), b.csr(ref.CSR{Rows: g.T.Rows, Cols: n, List: []int32{}})
	b.q.GATv2BackwardSrc(a)
	b.equal("DT without entries", b.get(a.DT), ref.NewMatrix(g.T.Rows, g.T.Cols))
}
