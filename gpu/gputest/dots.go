package gputest

import (
	"math"
	"slices"

	"capgnn/gpu"
	"capgnn/internal/ref"
)

// dotCase is a graph in two blocks, and attention over both at once.
type dotCase struct {
	inner, halo ref.CSR
	att         ref.Dots
	drop        edgeDrop
}

// dotCases runs f for graphs × numbers of heads and columns of each. Three heads have scores whose exponentials
// overflow unless taken against the maximum; where heads are even, entries are left out, of some rows all.
func (b *bench) dotCases(names []string, heads [][2]int, f func(b *bench, c dotCase, l layout)) {
	b.gatCases(names, heads, func(b *bench, c gatCase, l layout) {
		h, cols, scale := c.att.S.Cols, c.att.T.Cols, 1./4
		if h == 3 {
			scale = 16
		}
		if h%2 == 0 {
			c.inner.Val, c.halo.Val = leftOut(c.inner), leftOut(c.halo)
		}
		f(b, dotCase{inner: c.inner, halo: c.halo, att: ref.Dots{A: join(c.inner, c.halo), Q: ref.Axpby(ref.Matrix{},
			scale, b.grid(c.inner.Rows, cols), 0),
			K: b.grid(c.att.T.Rows, cols), V: c.att.T, Heads: h}}, l)
	})
}

// leftOut returns values of entries: of every fourth stored row none is left, of others two of three.
func leftOut(a ref.CSR) []float64 {
	val := make([]float64, len(a.Indices))
	for k := range a.Begin {
		for e := a.Begin[k]; e < a.End[k] && k%4 > 0; e++ {
			val[e] = min(float64(e%3), 1)
		}
	}
	return val
}

// turnedValues is turned with the values of the entries.
func turnedValues(a ref.CSR, lo, hi int, listed bool) ref.CSR {
	vals := make([][]float64, a.Cols)
	for v := lo; v < hi; v++ {
		for _, e := range a.Row(v) {
			vals[e.Col] = append(vals[e.Col], e.Val)
		}
	}
	t := turned(a, lo, hi, listed)
	t.Val = []float64{}
	for _, v := range vals {
		t.Val = append(t.Val, v...)
	}
	return t
}

// largestScore bounds the absolute values of the terms of a score, added up.
func (c dotCase) largestScore() float64 {
	g, most := c.att, 0.0
	g.Q, g.K = abs(g.Q), abs(g.K)
	for v := range g.A.Rows {
		for _, e := range g.A.Row(v) {
			for h := range g.Heads {
				most = max(most, g.Score(e.Col, v, h))
			}
		}
	}
	return most
}

// dotHeads are numbers of heads and columns of each: with three lanes' columns of a group of eight, too.
var dotHeads = slices.Concat(heads, [][2]int{{2, 20}})

func testDotAggregate(b *bench) { b.dotCases(gatGraphs, dotHeads, (*bench).dotAggregate) }

func (b *bench) dotAggregate(c dotCase, l layout) {
	b.Helper()
	g, n, split := c.att, c.inner.Rows, c.inner.Cols
	a := gpu.DotArgs{O: b.blank(n, g.Q.Cols, l), LSE: b.blank(n, g.Heads, l), Q: b.put(g.Q, l), Inner: b.csr(c.inner),
		Halo: b.csr(c.halo),
		K:    b.put(rows(g.K, 0, split), l), V: b.put(rows(g.V, 0, split), l), KHalo: b.put(rows(g.K, split, g.K.Rows), l),
		VHalo: b.put(rows(g.V, split, g.V.Rows), l), Drop: b.toTargets(c.drop, split)}
	b.q.DotAggregate(a)
	o, lse := g.Forward()
	// α has the absolute error of its score as relative error, besides those of a quotient of an exponential and a sum.
	score := c.largestScore()
	terms := longest(g.A) + g.Q.Cols/g.Heads + 4
	top := largest(g.V.V) * (1 + score) * c.drop.scale() // Σ α|V| ≤ max|V|
	b.near("O", b.get(a.O), o, terms, func(i, j int) float64 { return top })
	b.near("LSE", b.get(a.LSE), lse, terms, func(i, h int) float64 { return 1 + math.Abs(lse.At(i, h)) + score })
}

func testDotBackward(b *bench) { b.dotCases(gatGraphs, dotHeads, (*bench).dotBackward) }

func (b *bench) dotBackward(c dotCase, l layout) {
	b.Helper()
	o, lse := c.att.Forward()
	o, lse = float32s(o), float32s(lse) // as the device reads them
	do := b.normal(o.Rows, o.Cols)
	want, size := c.att.Backward(do, o, lse), c.gradSizes(do, o, lse)
	b.dotBackwardDst(c, do, o, lse, want, size, l)
	b.dotBackwardSrc(c, do, lse, want, size, l)
}

// gradSizes adds the absolute values of the terms of the gradient, times one more than the absolute terms of α's
// argument.
func (c dotCase) gradSizes(do, o, lse ref.Matrix) ref.DotsGrad {
	g, channels := c.att, c.att.Q.Cols/c.att.Heads
	factor := c.drop.scale() * (1 + largest(lse.V) + c.largestScore())
	r := ref.DotsGrad{G: ref.NewMatrix(g.A.Rows, g.Heads), DQ: ref.NewMatrix(g.A.Rows, g.Q.Cols),
		DK: ref.NewMatrix(g.K.Rows, g.K.Cols),
		DV: ref.NewMatrix(g.V.Rows, g.V.Cols)}
	for v := range g.A.Rows {
		for h := range g.Heads {
			lo, hi, gv := h*channels, (h+1)*channels, 0.0
			for k := lo; k < hi; k++ {
				gv += math.Abs(do.At(v, k) * o.At(v, k))
			}
			r.G.Row(v)[h] = gv
			for _, e := range g.A.Row(v) {
				if e.Val == 0 {
					continue
				}
				alpha, de := factor*math.Exp(g.Score(e.Col, v, h)-lse.At(v, h)), gv
				for k := lo; k < hi; k++ {
					de += math.Abs(do.At(v, k) * g.V.At(e.Col, k))
				}
				for k := lo; k < hi; k++ {
					r.DQ.Row(v)[k] += alpha * de * math.Abs(g.K.At(e.Col, k))
					r.DK.Row(e.Col)[k] += alpha * de * math.Abs(g.Q.At(v, k))
					r.DV.Row(e.Col)[k] += alpha * math.Abs(do.At(v, k))
				}
			}
		}
	}
	return r
}

func (b *bench) dotBackwardDst(c dotCase, do, o, lse ref.Matrix, want, size ref.DotsGrad, l layout) {
	b.Helper()
	g, n, split := c.att, c.inner.Rows, c.inner.Cols
	a := gpu.DotGradDst{DQ: b.blank(n, g.Q.Cols, l), G: b.blank(n, g.Heads, l), DO: b.put(do, l), O: b.put(o, l),
		LSE: b.put(lse, l), Q: b.put(g.Q, l),
		Inner: b.csr(c.inner), Halo: b.csr(c.halo), K: b.put(rows(g.K, 0, split), l), V: b.put(rows(g.V, 0, split), l),
		KHalo: b.put(rows(g.K, split, g.K.Rows), l), VHalo: b.put(rows(g.V, split, g.V.Rows), l), Drop: b.toTargets(c.drop, split)}
	b.q.DotBackwardDst(a)
	terms := longest(g.A) + 2*g.Q.Cols/g.Heads
	b.near("G", b.get(a.G), want.G, terms, size.G.At)
	b.near("DQ", b.get(a.DQ), want.DQ, terms, size.DQ.At)
}

// dotBackwardSrc cuts the destinations in two: inner ones, and a halo of the last fifth.
func (b *bench) dotBackwardSrc(c dotCase, do, lse ref.Matrix, want, size ref.DotsGrad, l layout) {
	b.Helper()
	g, n := c.att, c.inner.Rows
	cut, grad, turn := n-n/5, float32s(want.G), turned
	if c.inner.Val != nil {
		turn = turnedValues
	}
	a := gpu.DotGradSrc{DK: b.blank(g.K.Rows, g.K.Cols, l), DV: b.blank(g.V.Rows, g.V.Cols, l), K: b.put(g.K, l),
		V: b.put(g.V, l), Heads: g.Heads,
		Inner: b.csr(turn(g.A, 0, cut, false)), Halo: b.csr(turn(g.A, cut, n, true)), DO: b.put(rows(do, 0, cut), l), Q: b.put(rows(g.Q, 0, cut), l),
		LSE: b.put(rows(lse, 0, cut), l), G: b.put(rows(grad, 0, cut), l), DOHalo: b.put(rows(do, cut, n), l), QHalo: b.put(rows(g.Q, cut, n), l),
		LSEHalo: b.put(rows(lse, cut, n), l), GHalo: b.put(rows(grad, cut, n), l), Drop: b.toSources(c.drop, cut)}
	b.q.DotBackwardSrc(a)
	terms := longest(g.A) + n + 2*g.Q.Cols/g.Heads
	b.near("DK", b.get(a.DK), want.DK, terms, size.DK.At)
	b.near("DV", b.get(a.DV), want.DV, terms, size.DV.At)
}

func testDotDropout(b *bench) {
	for _, run := range []func(*bench, dotCase, layout){(*bench).dotAggregate, (*bench).dotBackward} {
		b.dotCases(gatGraphs, dropHeads, func(b *bench, c dotCase, l layout) {
			c.drop = b.dropped(c.att.K.Rows, c.inner.Rows)
			c.att.Keep = c.drop.keep()
			run(b, c, l)
		})
	}
}
