package gputest

import (
	"fmt"
	"math"

	"capgnn/gpu"
	"capgnn/internal/ref"
)

// gatSlope is LeakyReLU's slope in the cases: exact in float32, so that scores on a grid stay exact.
const gatSlope = 0.25

// gatCase is a graph in two blocks, and attention over both at once.
type gatCase struct {
	inner, halo ref.CSR // same rows; halo has a list
	att         ref.GAT // over inner columns, then halo columns
	drop        edgeDrop
}

// gatGraphs orders the graphs of attention.
var gatGraphs = []string{"no_rows", "nothing", "one", "random", "hub", "cut", "ends", "long"}

// gatCases runs f for graphs × numbers of heads and columns of each.
func (b *bench) gatCases(names []string, heads [][2]int, f func(b *bench, c gatCase, l layout)) {
	graphs := b.graphs()
	graphs["long"] = b.long(4, 3, 1)
	for i, name := range names {
		inner := graphs[name]
		halo := b.random((inner.Rows+1)/3, 11, 5)
		halo.Rows, halo.List = inner.Rows, every((inner.Rows+1)/3, 3, 0)
		switch name {
		case "one":
			halo = ref.CSR{Rows: 1}
		case "long":
			halo = b.long(2, 5, 0)
			halo.Rows, halo.List = inner.Rows, []int32{1, 2}
		}
		for k, hc := range heads {
			b.scene(fmt.Sprintf("%s_%dx%d", name, hc[0], hc[1]), func(b *bench) {
				f(b, b.gatCase(inner, halo, hc[0], hc[1]), layouts[(i+k)%2])
			})
		}
	}
}

// long returns rows of few entries and one of more than a backend holds at once.
func (b *bench) long(rows, cols, row int) ref.CSR {
	const entries = 9001
	a := ref.CSR{Rows: rows, Cols: cols}
	for v := range rows {
		a.Begin = append(a.Begin, int64(len(a.Indices)))
		n := v
		if v == row {
			n = entries
		}
		a.Indices = append(a.Indices, b.ints(n, cols)...)
		a.End = append(a.End, int64(len(a.Indices)))
	}
	return a
}

func (b *bench) gatCase(inner, halo ref.CSR, heads, channels int) gatCase {
	sources := inner.Cols + halo.Cols
	scores := b.grid(sources, heads)
	if heads == 3 { // up to ±128: exponentials that overflow unless taken against the maximum
		scores = ref.Axpby(ref.Matrix{}, 64, scores, 0)
	}
	return gatCase{inner: inner, halo: halo, att: ref.GAT{
		A: join(inner, halo), T: b.normal(sources, heads*channels), S: scores, D: b.grid(inner.Rows, heads), Slope: gatSlope,
	}}
}

// join returns the rows of a followed by those of c, whose columns come behind a's.
func join(a, c ref.CSR) ref.CSR {
	r := ref.CSR{Rows: a.Rows, Cols: a.Cols + c.Cols}
	for v := range a.Rows {
		r.Begin = append(r.Begin, int64(len(r.Indices)))
		for _, e := range a.Row(v) {
			r.Indices, r.Val = append(r.Indices, int32(e.Col)), append(r.Val, e.Val)
		}
		for _, e := range c.Row(v) {
			r.Indices, r.Val = append(r.Indices, int32(a.Cols+e.Col)), append(r.Val, e.Val)
		}
		r.End = append(r.End, int64(len(r.Indices)))
	}
	return r
}

// turned returns the transpose of rows lo to hi of a, numbered from 0. Rows without entries are not stored if listed.
func turned(a ref.CSR, lo, hi int, listed bool) ref.CSR {
	out := make([][]int32, a.Cols)
	for v := lo; v < hi; v++ {
		for _, e := range a.Row(v) {
			out[e.Col] = append(out[e.Col], int32(v-lo))
		}
	}
	r := ref.CSR{Rows: a.Cols, Cols: hi - lo}
	for u, edges := range out {
		if listed {
			if len(edges) == 0 {
				continue
			}
			r.List = append(r.List, int32(u))
		}
		r.Begin = append(r.Begin, int64(len(r.Indices)))
		r.Indices = append(r.Indices, edges...)
		r.End = append(r.End, int64(len(r.Indices)))
	}
	return r
}

// rows returns rows lo to hi of m.
func rows(m ref.Matrix, lo, hi int) ref.Matrix {
	return ref.Matrix{Rows: hi - lo, Cols: m.Cols, V: m.V[lo*m.Cols : hi*m.Cols]}
}

func testGATAggregate(b *bench) { b.gatCases(gatGraphs, heads, (*bench).gatAggregate) }

func (b *bench) gatAggregate(c gatCase, l layout) {
	b.Helper()
	g, n, split := c.att, c.inner.Rows, c.inner.Cols
	heads, cols := g.S.Cols, g.T.Cols
	bias := b.normal(1, cols).V
	a := gpu.GATArgs{
		O: b.blank(n, cols, l), LSE: b.blank(n, heads, l), Inner: b.csr(c.inner), Halo: b.csr(c.halo),
		T: b.put(rows(g.T, 0, split), l), S: b.put(rows(g.S, 0, split), l),
		THalo: b.put(rows(g.T, split, g.T.Rows), l), SHalo: b.put(rows(g.S, split, g.T.Rows), l),
		D: b.put(g.D, l), Bias: b.vec(bias), Slope: gatSlope, Drop: b.toTargets(c.drop, split), Lo: n / 3, Hi: n - n/3,
	}
	o, lse := g.Forward()
	for i := range n {
		if i < a.Lo || i >= a.Hi {
			o.Row(i)[0], lse.Row(i)[0] = math.NaN(), math.NaN()
		}
	}
	b.q.GATAggregate(a)
	b.someRows(b.get(a.O), b.get(a.LSE), ref.AddBias(o, bias), lse, c, bias)
	for _, part := range [][2]int{{0, a.Lo}, {a.Hi, n}} {
		rest := a
		rest.Lo, rest.Hi = part[0], part[1]
		b.q.GATAggregate(rest)
	}
	o, lse = g.Forward()
	b.someRows(b.get(a.O), b.get(a.LSE), ref.AddBias(o, bias), lse, c, bias)
}

// someRows compares O and LSE; rows whose first wanted element is NaN must be NaN throughout.
//
// α is a quotient of an exponential and a sum of k of them: relative error √k·u. LSE is a logarithm of that sum.
func (b *bench) someRows(o, lse, wantO, wantLSE ref.Matrix, c gatCase, bias []float64) {
	b.Helper()
	for i := range wantLSE.Rows {
		if math.IsNaN(wantLSE.At(i, 0)) {
			for j := range o.Cols {
				if !math.IsNaN(o.At(i, j)) {
					b.Fatalf("row %d lies outside of Lo to Hi and was written", i)
				}
			}
			clear(o.Row(i))
			clear(wantO.Row(i))
			clear(lse.Row(i))
			clear(wantLSE.Row(i))
		}
	}
	terms := longest(c.att.A) + 4
	top := largest(c.att.T.V)*c.drop.scale() + largest(bias) // Σ α|T| ≤ max|T|
	b.near("O", o, wantO, terms, func(i, j int) float64 { return top })
	b.near("LSE", lse, wantLSE, terms, func(i, j int) float64 { return 1 + math.Abs(wantLSE.At(i, j)) })
}

func testGATBackward(b *bench) { b.gatCases(gatGraphs, heads, (*bench).gatBackward) }

func (b *bench) gatBackward(c gatCase, l layout) {
	b.Helper()
	o, lse := c.att.Forward()
	bias := b.normal(1, o.Cols).V
	// The device reads O and LSE as float32; the reference takes the same numbers.
	given := float32s(ref.AddBias(o, bias))
	o = ref.AddBias(given, ref.Axpby(ref.Matrix{}, -1, ref.Matrix{Rows: 1, Cols: o.Cols, V: bias}, 0).V)
	lse = float32s(lse)
	do := b.normal(o.Rows, o.Cols)
	want, size := c.att.Backward(do, o, lse), c.gradSizes(do, o, lse)
	b.gatBackwardDst(c, do, given, lse, bias, want, size, l)
	b.gatBackwardSrc(c, do, lse, want, size, l)
}

// gradSizes adds the absolute values of the terms of the gradient. An α = exp(e - LSE) has the absolute error of its
// argument as relative error: hence the factor.
func (c gatCase) gradSizes(do, o, lse ref.Matrix) ref.GATGrad {
	g := c.att
	g.T = abs(g.T)
	size := g.Backward(abs(do), abs(o), lse)
	factor := c.drop.scale() * (1 + largest(lse.V) + largest(g.S.V) + largest(g.D.V))
	channels := g.T.Cols / g.S.Cols
	size.DD, size.DS = ref.NewMatrix(size.DD.Rows, size.DD.Cols), ref.NewMatrix(size.DS.Rows, size.DS.Cols)
	for v := range g.A.Rows {
		for _, e := range g.A.Row(v) {
			for h := range g.S.Cols {
				terms := size.G.At(v, h)
				for k := h * channels; k < (h+1)*channels; k++ {
					terms += math.Abs(do.At(v, k)) * g.T.At(e.Col, k)
				}
				terms *= factor * g.Alpha(e.Col, v, h, lse)
				size.DD.Row(v)[h] += terms
				size.DS.Row(e.Col)[h] += terms
			}
		}
	}
	for i := range size.DT.V {
		size.DT.V[i] *= factor
	}
	return size
}

func (b *bench) gatBackwardDst(c gatCase, do, o, lse ref.Matrix, bias []float64, want, size ref.GATGrad, l layout) {
	b.Helper()
	g, n, split := c.att, c.inner.Rows, c.inner.Cols
	heads, cols := g.S.Cols, g.T.Cols
	a := gpu.GATGradDst{
		DD: b.blank(n, heads, l), G: b.blank(n, heads, l), DO: b.put(do, l), O: b.put(o, l), LSE: b.put(lse, l),
		Inner: b.csr(c.inner), Halo: b.csr(c.halo),
		T: b.put(rows(g.T, 0, split), l), S: b.put(rows(g.S, 0, split), l),
		THalo: b.put(rows(g.T, split, g.T.Rows), l), SHalo: b.put(rows(g.S, split, g.T.Rows), l),
		D: b.put(g.D, l), Bias: b.vec(bias), Slope: gatSlope, Drop: b.toTargets(c.drop, split),
	}
	b.q.GATBackwardDst(a)
	terms := longest(g.A) + cols/heads
	// G subtracts the bias from O: its terms are as large as O and bias together.
	grown := ref.Map(n, cols, func(i, j int) float64 { return math.Abs(o.At(i, j)) + math.Abs(bias[j]) })
	gSize := ref.Map(n, heads, func(i, h int) float64 {
		s := 0.0
		for k := h * cols / heads; k < (h+1)*cols/heads; k++ {
			s += math.Abs(do.At(i, k)) * grown.At(i, k)
		}
		return s
	})
	b.near("G", b.get(a.G), want.G, terms, gSize.At)
	b.near("DD", b.get(a.DD), want.DD, terms, func(i, h int) float64 {
		return size.DD.At(i, h) + gSize.At(i, h) // Σ_u α = 1
	})
}

// gatBackwardSrc cuts the destinations in two: inner ones, and a halo of the last fifth.
func (b *bench) gatBackwardSrc(c gatCase, do, lse ref.Matrix, want, size ref.GATGrad, l layout) {
	b.Helper()
	g, n := c.att, c.inner.Rows
	cut := n - n/5
	heads, cols := g.S.Cols, g.T.Cols
	grad := float32s(want.G)
	a := gpu.GATGradSrc{
		DT: b.blank(g.T.Rows, cols, l), DS: b.blank(g.T.Rows, heads, l), T: b.put(g.T, l), S: b.put(g.S, l),
		Inner: b.csr(turned(g.A, 0, cut, false)), Halo: b.csr(turned(g.A, cut, n, true)),
		DO: b.put(rows(do, 0, cut), l), D: b.put(rows(g.D, 0, cut), l),
		LSE: b.put(rows(lse, 0, cut), l), G: b.put(rows(grad, 0, cut), l),
		DOHalo: b.put(rows(do, cut, n), l), DHalo: b.put(rows(g.D, cut, n), l),
		LSEHalo: b.put(rows(lse, cut, n), l), GHalo: b.put(rows(grad, cut, n), l),
		Slope: gatSlope, Drop: b.toSources(c.drop, cut),
	}
	b.q.GATBackwardSrc(a)
	terms := longest(g.A) + g.A.Rows + cols/heads
	b.near("DT", b.get(a.DT), want.DT, terms, size.DT.At)
	b.near("DS", b.get(a.DS), want.DS, terms, size.DS.At)
}
