package gputest

import (
	"math"

	"capgnn/gpu"
	"capgnn/internal/ref"
)

func testFill(b *bench) {
	b.dense(func(b *bench, s shape, l layout) {
		m := b.blank(s.rows, s.cols, l)
		b.q.Fill(m, 1.5)
		b.equal("m", b.get(m), ref.Map(s.rows, s.cols, func(i, j int) float64 { return 1.5 }))
	})
}

func testCopy(b *bench) {
	b.dense(func(b *bench, s shape, l layout) {
		x := b.normal(s.rows, s.cols)
		half := ref.RoundBF16(x)
		from, from16 := b.put(x, l), b.put16(half, l)
		same, narrow := b.blank(s.rows, s.cols, l), b.put16(half, layout{1, 2})
		wide, same16 := b.blank(s.rows, s.cols, l), b.put16(ref.NewMatrix(s.rows, s.cols), l)
		b.q.Copy(same, from)
		b.q.Copy(narrow, from)
		b.q.Copy(wide, from16)
		b.q.Copy(same16, from16)
		b.equal("fp32 to fp32", b.get(same), x)
		b.equal("fp32 to bf16", b.get(narrow), half)
		b.equal("bf16 to fp32", b.get(wide), half)
		b.equal("bf16 to bf16", b.get(same16), half)
	})
	b.scene("bf16_corners", func(b *bench) {
		tie := 1 + math.Ldexp(1, -8) // half way between 1 and its successor in bf16
		x := ref.Matrix{Rows: 1, Cols: 9, V: []float64{
			0, math.Inf(1), math.Inf(-1), math.NaN(), tie, tie + math.Ldexp(1, -7), -tie,
			math.MaxFloat32, math.Ldexp(3, -134),
		}}
		dst := b.put16(ref.NewMatrix(1, 9), layouts[0])
		b.q.Copy(dst, b.put(x, layouts[0]))
		b.equal("bf16", b.get(dst), ref.RoundBF16(x))
	})
}

func testTranspose(b *bench) {
	b.dense(func(b *bench, s shape, l layout) {
		x := b.normal(s.rows, s.cols)
		dst := b.blank(s.cols, s.rows, l)
		b.q.Transpose(dst, b.put(x, l))
		b.equal("dst", b.get(dst), ref.Transpose(x))
	})
}

func testAxpby(b *bench) {
	b.dense(func(b *bench, s shape, l layout) {
		x, y := b.normal(s.rows, s.cols), b.normal(s.rows, s.cols)
		src := b.put(x, l)
		for _, beta := range []float64{0, 1, -0.75} {
			start := y
			if beta == 0 {
				start = ref.Map(s.rows, s.cols, func(i, j int) float64 { return math.NaN() })
			}
			dst := b.put(start, l)
			b.q.Axpby(dst, 1.25, src, float32(beta))
			b.near("dst", b.get(dst), ref.Axpby(y, 1.25, x, beta), 2, func(i, j int) float64 {
				return 1.25*math.Abs(x.At(i, j)) + math.Abs(beta*y.At(i, j))
			})
		}
	})
}

func testScaleRows(b *bench) {
	b.dense(func(b *bench, s shape, l layout) {
		x, w := b.normal(s.rows, s.cols), b.normal(1, s.rows).V
		want := ref.ScaleRows(x, w)
		size := func(i, j int) float64 { return math.Abs(want.At(i, j)) }
		scale := b.vec(w)
		dst, own := b.blank(s.rows, s.cols, l), b.put(x, l)
		b.q.ScaleRows(dst, b.put(x, l), scale)
		b.q.ScaleRows(own, own, scale)
		b.near("dst", b.get(dst), want, 1, size)
		b.near("in place", b.get(own), want, 1, size)
	})
}

func testAddScaled(b *bench) {
	b.dense(func(b *bench, s shape, l layout) {
		x, y := b.normal(s.rows, s.cols), b.normal(s.rows, s.cols)
		dst := b.put(y, l)
		b.q.AddScaled(dst, b.put(x, l), b.vec([]float64{0.25}))
		b.near("dst", b.get(dst), ref.AddScaled(y, x, 0.25), 2, func(i, j int) float64 {
			return 1.25*math.Abs(x.At(i, j)) + math.Abs(y.At(i, j))
		})
	})
}

func testColSum(b *bench) {
	b.dense(func(b *bench, s shape, l layout) {
		x, start := b.normal(s.rows, s.cols), b.normal(1, s.cols).V
		m := b.put(x, l)
		for _, beta := range []float64{0, 0.5} {
			from := start
			if beta == 0 {
				from = ref.Map(1, s.cols, func(i, j int) float64 { return math.NaN() }).V
			}
			dst := b.vec(from)
			b.q.ColSum(dst, m, float32(beta))
			size := ref.ColSum(absVec(start), abs(x), beta)
			b.nearVec("dst", b.getVec(dst), ref.ColSum(start, x, beta), s.rows, func(j int) float64 { return size[j] })
		}
	})
}

func testDot(b *bench) {
	b.dense(func(b *bench, s shape, l layout) {
		x, y := b.normal(s.rows, s.cols), b.normal(s.rows, s.cols)
		u, v := b.put(x, l), b.put(y, l)
		fresh, more := b.vec([]float64{math.NaN()}), b.vec([]float64{3})
		b.q.Dot(fresh, u, v, 0)
		b.q.Dot(more, u, v, 0.5)
		want := ref.Dot(x, y)
		// Sums in float64: one rounding, to float32.
		size := math.Abs(want) + 1.5
		b.nearNumber("dst", b.getVec(fresh)[0], want, 1, size)
		b.nearNumber("dst with b", b.getVec(more)[0], want+1.5, 1, size)
	})
	b.scene("cancelling", func(b *bench) {
		// Pairs of products cancel but for a thousandth: float32 anywhere before the end would show.
		x, y := b.normal(1000, 2), b.normal(1000, 2)
		for i := range x.Rows {
			x.Row(i)[1] = x.At(i, 0)
			y.Row(i)[1] = float64(float32(-y.At(i, 0) + x.At(i, 0)/1000))
		}
		dst := b.vec([]float64{math.NaN()})
		b.q.Dot(dst, b.put(x, layouts[0]), b.put(y, layouts[0]), 0)
		b.nearNumber("dst", b.getVec(dst)[0], ref.Dot(x, y), 1, ref.Dot(x, y))
	})
}

func testGather(b *bench) {
	b.dense(func(b *bench, s shape, l layout) {
		const from = 9
		x, rows := b.normal(from, s.cols), b.ints(s.rows, from)
		half := ref.RoundBF16(x)
		list := array(b, rows)
		same, narrow, wide := b.blank(s.rows, s.cols, l), b.put16(ref.NewMatrix(s.rows, s.cols), l), b.blank(s.rows, s.cols, l)
		src := b.put(x, l)
		b.q.Gather(same, src, list)
		b.q.Gather(narrow, src, list)
		b.q.Gather(wide, b.put16(half, l), list)
		b.equal("fp32", b.get(same), ref.Gather(x, rows))
		b.equal("to bf16", b.get(narrow), ref.Gather(half, rows))
		b.equal("from bf16", b.get(wide), ref.Gather(half, rows))
	})
}

func testScatterAdd(b *bench) {
	b.dense(func(b *bench, s shape, l layout) {
		repeats := b.ints(s.rows, 9)
		ascending := make([]int32, s.rows)
		for k := range ascending {
			ascending[k] = int32(2 * k)
		}
		runs := make([]int32, s.rows)
		for k := range runs {
			runs[k] = int32(k / 2)
		}
		for _, rows := range [][]int32{repeats, ascending, runs} {
			x, y := b.normal(s.rows, s.cols), b.normal(max(9, 2*s.rows), s.cols)
			dst := b.put(y, l)
			b.q.ScatterAdd(dst, b.put(x, l), array(b, rows))
			size := ref.ScatterAdd(abs(y), abs(x), rows)
			b.near("dst", b.get(dst), ref.ScatterAdd(y, x, rows), s.rows, size.At)
		}
	})
}

func testSGD(b *bench) {
	b.dense(func(b *bench, s shape, _ layout) {
		n := s.rows * s.cols
		p, g := b.normal(1, n).V, b.normal(1, n).V
		param := b.vec(p)
		b.q.SGD(param, b.vec(g), 0.125, 0.25)
		want := append([]float64(nil), p...)
		ref.SGD(want, g, 0.125, 0.25)
		b.nearVec("param", b.getVec(param), want, 3, func(j int) float64 { return math.Abs(p[j]) + math.Abs(g[j]) })
	})
}

func testAdam(b *bench) {
	for _, c := range []struct {
		name      string
		decay     float64
		decoupled bool
		amsgrad   bool
	}{{"plain", 0, false, false}, {"l2", 0.25, false, false}, {"adamw", 0.25, true, false}, {"amsgrad", 0, false, true}} {
		for _, n := range []int{0, 1, 33, 1000} {
			b.scene(c.name, func(b *bench) { b.adam(n, c.decay, c.decoupled, c.amsgrad) })
		}
	}
}

// adam runs three steps. An update is at most LR/(1-b1)·… in size; its relative error is that of about ten roundings, which
// m and v carry from step to step: k = 30.
func (b *bench) adam(n int, decay float64, decoupled, amsgrad bool) {
	opt := ref.Adam{LR: 0.125, Beta1: 0.875, Beta2: 0.96875, Eps: 1e-8, WeightDecay: decay, Decoupled: decoupled}
	p := b.normal(1, n).V
	m, v, top := make([]float64, n), make([]float64, n), make([]float64, n)
	a := gpu.AdamArgs{
		Param: b.vec(p), M: b.vec(m), V: b.vec(v),
		LR: opt.LR, Beta1: opt.Beta1, Beta2: opt.Beta2, Eps: opt.Eps, WeightDecay: decay, Decoupled: decoupled,
	}
	if amsgrad {
		a.VMax = b.vec(top)
	} else {
		top = nil
	}
	for step := 1; step <= 3; step++ {
		g := b.normal(1, n).V
		a.Grad, a.Step = b.vec(g), step
		b.q.Adam(a)
		opt.Step(p, g, m, v, top, step)
	}
	size := func(x []float64, least float64) func(j int) float64 {
		return func(j int) float64 { return math.Abs(x[j]) + least }
	}
	if n == 0 {
		b.sync()
		return
	}
	b.nearVec("param", b.getVec(a.Param), p, 30, size(p, 1))
	b.nearVec("m", b.getVec(a.M), m, 30, size(m, 1))
	b.nearVec("v", b.getVec(a.V), v, 30, size(v, 1))
	if amsgrad {
		b.nearVec("vmax", b.getVec(a.VMax), top, 30, size(top, 1))
	}
}
