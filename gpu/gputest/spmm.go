package gputest

import (
	"math"

	"capgnn/gpu"
	"capgnn/internal/ref"
)

// graphs returns sparse matrices that exercise gpu.CSR: no entry, empty rows, a hub row, values, listed rows, rows cut
// short at either end (what lies between them is no column at all).
func (b *bench) graphs() map[string]ref.CSR {
	cut := b.random(40, 30, 9)
	for k := range cut.Begin {
		if n := cut.End[k] - cut.Begin[k]; n > 2 {
			cut.Indices[cut.Begin[k]], cut.Indices[cut.End[k]-1] = 1<<20, 1<<20
			cut.Begin[k]++
			cut.End[k]--
		}
	}
	hub := b.random(70, 50, 3)
	for range 1000 {
		hub.Indices = append(hub.Indices, int32(b.rng.IntN(50)))
	}
	last := len(hub.End) - 1
	hub.End[last] += 1000
	valued := b.random(33, 17, 6)
	valued.Val = b.normal(1, len(valued.Indices)).V
	listed := b.random(20, 31, 5)
	listed.Rows, listed.List = 64, every(20, 3, 1)
	first := b.random(5, 8, 4)
	first.Rows, first.List = 9, []int32{0, 1, 4, 7, 8}
	return map[string]ref.CSR{
		"no_rows":  {Rows: 0, Cols: 5, Begin: []int64{}, End: []int64{}, Indices: []int32{}},
		"nothing":  {Rows: 6, Cols: 5, Begin: make([]int64, 6), End: make([]int64, 6), Indices: []int32{}},
		"unstored": {Rows: 6, Cols: 5, List: []int32{}},
		"one":      {Rows: 1, Cols: 1, Begin: []int64{0}, End: []int64{1}, Indices: []int32{0}},
		"random":   b.random(131, 67, 8), "hub": hub, "cut": cut, "valued": valued, "listed": listed, "ends": first,
	}
}

// graphNames orders graphs.
var graphNames = []string{"no_rows", "nothing", "unstored", "one", "random", "hub", "cut", "valued", "listed", "ends"}

// random returns a matrix of rows with up to most entries; about one row in four is empty.
func (b *bench) random(rows, cols, most int) ref.CSR {
	a := ref.CSR{Rows: rows, Cols: cols}
	for range rows {
		a.Begin = append(a.Begin, int64(len(a.Indices)))
		if b.rng.IntN(4) > 0 {
			a.Indices = append(a.Indices, b.ints(b.rng.IntN(most)+1, cols)...)
		}
		a.End = append(a.End, int64(len(a.Indices)))
	}
	return a
}

// every returns n numbers, step apart.
func every(n, step, from int) []int32 {
	s := make([]int32, n)
	for i := range s {
		s[i] = int32(from + i*step)
	}
	return s
}

// widths are the columns of sparse products.
var widths = []int{0, 1, 31, 32, 33, 256}

// spmm runs f for every graph, with widths and layouts in turn; every graph meets the width 33.
func (b *bench) spmm(f func(b *bench, a ref.CSR, width int, l layout)) {
	b.Helper()
	graphs := b.graphs()
	for i, name := range graphNames {
		for _, width := range []int{33, widths[i%len(widths)], widths[(i+3)%len(widths)]} {
			b.scene(name, func(b *bench) { f(b, graphs[name], width, layouts[(i+width)%2]) })
		}
	}
}

// longest returns the most entries of a row.
func longest(a ref.CSR) int {
	n := int64(0)
	for k := range a.Begin {
		n = max(n, a.End[k]-a.Begin[k])
	}
	return int(n)
}

// absCSR returns the absolute values of a.
func absCSR(a ref.CSR) ref.CSR {
	a.Val = absVec(a.Val)
	return a
}

func testSpMM(b *bench) {
	b.spmm(func(b *bench, a ref.CSR, width int, l layout) {
		x, y := b.normal(a.Cols+2, width), b.normal(a.Rows, width)
		dev, src := b.csr(a), b.put(x, l)
		for _, beta := range []float64{0, 1, 0.5} {
			start := ref.Axpby(y, beta, y, 0)
			r := ref.Aggregate{A: a, X: x, Accumulate: true, Y: start}
			size := ref.Aggregate{A: absCSR(a), X: abs(x), Accumulate: true, Y: abs(start)}.Run()
			from := y
			if beta == 0 {
				from = ref.Map(a.Rows, width, func(i, j int) float64 { return math.NaN() })
			}
			dst := b.put(from, l)
			b.q.SpMM(dst, dev, src, float32(beta))
			b.near("Y", b.get(dst), r.Run(), longest(a)+1, size.At)
		}
	})
}

func testAggregate(b *bench) {
	b.spmm(func(b *bench, a ref.CSR, width int, l layout) {
		x := b.normal(a.Cols, width)
		src, dev := b.put(x, l), b.csr(a)
		for mode := range 8 {
			b.aggregate(a, dev, x, src, mode, l)
		}
	})
}

func testAggregateBF16(b *bench) {
	b.spmm(func(b *bench, a ref.CSR, width int, l layout) {
		x := ref.RoundBF16(b.normal(a.Cols, width))
		src, dev := b.put16(x, l), b.csr(a)
		for _, mode := range []int{0, 7} {
			b.aggregate(a, dev, x, src, mode, l)
		}
	})
}

// aggregate runs one combination of scales, accumulation and bias; mode has a bit for each.
func (b *bench) aggregate(a ref.CSR, dev gpu.CSR, x ref.Matrix, src gpu.Matrix, mode int, l layout) {
	b.Helper()
	r := ref.Aggregate{A: a, X: x, Y: b.normal(a.Rows, x.Cols)}
	size := ref.Aggregate{A: absCSR(a), X: abs(x), Y: abs(r.Y)}
	arg := gpu.AggregateArgs{A: dev, X: src}
	if mode&1 != 0 && a.Rows > 0 {
		r.RowScale, r.ColScale = b.normal(1, a.Rows).V, b.normal(1, a.Cols).V
		size.RowScale, size.ColScale = absVec(r.RowScale), absVec(r.ColScale)
		arg.RowScale, arg.ColScale = b.vec(r.RowScale), b.vec(r.ColScale)
	}
	if mode&4 != 0 {
		r.Bias = b.normal(1, x.Cols).V
		size.Bias, arg.Bias = absVec(r.Bias), b.vec(r.Bias)
	}
	start := ref.Map(a.Rows, x.Cols, func(i, j int) float64 { return math.NaN() })
	if mode&2 != 0 {
		r.Accumulate, size.Accumulate, arg.Accumulate = true, true, true
		start = r.Y
	}
	arg.Y = b.put(start, l)
	b.q.Aggregate(arg)
	sizes := size.Run()
	b.near("Y", b.get(arg.Y), r.Run(), longest(a)+2, sizes.At)
}

func testAggregateThen(b *bench) {
	b.scene("then", func(b *bench) { b.aggregateThen(b.random(70, 40, 8), 41, gpu.FP32, layouts[1]) })
}

// aggregateThen runs a fused product with every epilogue. Its terms are positive, so their sum is as large as they are.
func (b *bench) aggregateThen(a ref.CSR, width int, t gpu.DType, l layout) {
	b.Helper()
	x, bias := abs(b.normal(a.Cols, width)), absVec(b.normal(1, width).V)
	dev, src := b.csr(a), b.stored(x, l, t)
	z := ref.Aggregate{A: a, X: x, Bias: bias}.Run()
	b.then(z, longest(a)+2, l, func(dst gpu.Matrix, then *gpu.Epilogue) {
		b.q.Aggregate(gpu.AggregateArgs{Y: dst, A: dev, X: src, Bias: b.vec(bias), Then: then})
	})
}
