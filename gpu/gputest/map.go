package gputest

import (
	"fmt"
	"math"

	"capgnn/gpu"
	"capgnn/internal/ref"
)

// mapped is a function of gpu.Map in float64.
type mapped struct {
	f        gpu.Function
	a, b     float64
	positive bool // it is of positive numbers
	y, slope func(x float64) float64
}

func sigmoid(x float64) float64 { return 1 / (1 + math.Exp(-x)) }

func zero(x float64) float64 {
	if x == 0 {
		return 1
	}
	return 0
}

func below(x, y, other float64) float64 {
	if x > 0 {
		return y
	}
	return other
}

var maps = []mapped{
	{gpu.MapIdentity, 0, 0, false, func(x float64) float64 { return x }, func(x float64) float64 { return 1 }},
	{gpu.MapLeaky, 0.25, 0, false, func(x float64) float64 { return below(x, x, x/4) }, func(x float64) float64 { return below(x, 1, 0.25) }},
	{gpu.MapLeaky, 0, 0, false, func(x float64) float64 { return max(x, 0) }, func(x float64) float64 { return below(x, 1, 0) }},
	{gpu.MapELU, 0.5, 0, false, func(x float64) float64 { return below(x, x, math.Expm1(x)/2) }, func(x float64) float64 { return below(x, 1, math.Exp(x)/2) }},
	{gpu.MapTanh, 0, 0, false, math.Tanh, func(x float64) float64 { return 1 - math.Tanh(x)*math.Tanh(x) }},
	{gpu.MapGELU, 0, 0, false, func(x float64) float64 { return x * math.Erfc(-x/math.Sqrt2) / 2 },
		func(x float64) float64 {
			return math.Erfc(-x/math.Sqrt2)/2 + x*math.Exp(-x*x/2)/math.Sqrt(2*math.Pi)
		}},
	{gpu.MapSigmoid, 0, 0, false, sigmoid, func(x float64) float64 { return sigmoid(x) * sigmoid(-x) }},
	{gpu.MapSiLU, 0, 0, false, func(x float64) float64 { return x * sigmoid(x) }, func(x float64) float64 { return sigmoid(x) * (1 + x*sigmoid(-x)) }},
	{gpu.MapSoftplus, 0, 0, false, func(x float64) float64 { return max(x, 0) + math.Log1p(math.Exp(-math.Abs(x))) }, sigmoid},
	{gpu.MapExp, 0, 0, false, math.Exp, math.Exp},
	{gpu.MapLog, 0, 0, true, math.Log, func(x float64) float64 { return 1 / x }},
	{gpu.MapSqrt, 0, 0, true, math.Sqrt, func(x float64) float64 { return 0.5 / math.Sqrt(x) }},
	{gpu.MapSquare, 0, 0, false, func(x float64) float64 { return x * x }, func(x float64) float64 { return 2 * x }},
	{gpu.MapPower, -1.5, 0, true, func(x float64) float64 { return math.Pow(x, -1.5) }, func(x float64) float64 { return -1.5 * math.Pow(x, -2.5) }},
	{gpu.MapClamp, -0.5, 0.75, false, func(x float64) float64 { return min(max(x, -0.5), 0.75) },
		func(x float64) float64 { return below(0.75-x, below(x+0.5, 1, 0), 0) }},
	{gpu.MapZero, 0, 0, false, zero, func(x float64) float64 { return 0 }},
	{gpu.MapReciprocal, 0, 0, true, func(x float64) float64 { return 1 / x }, func(x float64) float64 { return -1 / (x * x) }},
}

// testMap tries every function and its derivative on rows, some of them on many, and all shapes of the factors. The
// error
// is that of four units in the last place of f, and of four roundings of x.
func testMap(b *bench) {
	n := 0
	b.dense(func(b *bench, s shape, l layout) {
		for i, m := range maps {
			for _, slope := range []bool{false, true} {
				if n++; s.rows*s.cols < 200 || i%8 == n%5 {
					b.mapped(m, slope, n, s, l)
				}
			}
		}
	})
	b.scene("far", func(b *bench) {
		inf := math.Inf(1)
		x := ref.Matrix{Rows: 1, Cols: 7, V: []float64{-100, 100, -inf, inf, math.NaN(), 0, -30}}
		for _, c := range []struct {
			f     gpu.Function
			slope bool
			want  []float64
		}{
			{gpu.MapSigmoid, false, []float64{0, 1, 0, 1, math.NaN(), 0.5, 0}},
			{gpu.MapSigmoid, true, []float64{0, 0, 0, 0, math.NaN(), 0.25, 0}},
			{gpu.MapSoftplus, false, []float64{0, 100, 0, inf, math.NaN(), float64(float32(math.Ln2)), 0}},
			{gpu.MapExp, false, []float64{0, inf, 0, inf, math.NaN(), 1, 0}},
			{gpu.MapClamp, false, []float64{-1, 1, -1, 1, math.NaN(), 0, -1}},
			{gpu.MapLeaky, true, []float64{-1, 1, -1, 1, -1, -1, -1}},
			{gpu.MapReciprocal, false, []float64{-0.01, 0.01, 0, 0, math.NaN(), inf, -1.0 / 30}},
			{gpu.MapGELU, false, []float64{0, 100, math.NaN(), inf, math.NaN(), 0, 0}},
		} {
			dst := b.blank(1, x.Cols, layouts[0])
			b.q.Map(gpu.MapArgs{Dst: dst, Src: b.put(x, layouts[0]), F: c.f, A: -1, B: 1, Slope: c.slope})
			for j, got := range b.get(dst).V {
				want := c.want[j]
				if !(math.Abs(got-want) <= 1e-6*(1+math.Abs(want))) && got != want && !(math.IsNaN(got) && math.IsNaN(want)) {
					b.Errorf("function %d, slope %v of %g: got %g, want %g", c.f, c.slope, x.V[j], got, want)
				}
			}
		}
	})
	b.scene("powers", func(b *bench) {
		inf := math.Inf(1)
		x := ref.Matrix{Rows: 1, Cols: 12, V: []float64{-2, 0, 4, -0.5, math.Copysign(0, -1), inf, -inf, math.NaN(), 1, -1, 0x1p-140, 1e30}}
		for _, a := range []float64{3, 2, -1, 0.5, 0, -0.75, 40.5, -3, 9999999} {
			for _, slope := range []bool{false, true} {
				dst := b.blank(1, x.Cols, layouts[0])
				b.q.Map(gpu.MapArgs{Dst: dst, Src: b.put(x, layouts[0]), F: gpu.MapPower, A: float32(a), Slope: slope})
				for j, got := range b.get(dst).V {
					want := math.Pow(x.V[j], a)
					if slope && a == 0 {
						want = 0
					} else if slope {
						want = a * math.Pow(x.V[j], a-1)
					}
					// Powers of more than 2¹²⁸ are no float32, of less than 2⁻¹²⁶ perhaps 0.
					far := math.Abs(want) > math.MaxFloat32 && math.IsInf(got, int(math.Copysign(1, want))) || math.Abs(want) < 0x1p-120 && math.Abs(got) < 0x1p-120
					if !(math.Abs(got-want) <= 1e-6*math.Abs(want)) && got != want && !far && !(math.IsNaN(got) && math.IsNaN(want)) {
						b.Errorf("power %g, slope %v of %g: got %g, want %g", a, slope, x.V[j], got, want)
					}
				}
			}
		}
	})
	b.scene("wide", func(b *bench) { b.mapped(maps[6], false, 4, shape{2, 2100}, layouts[1]) })
}

// mapped runs one function. n says which shapes src and by have.
func (b *bench) mapped(m mapped, slope bool, n int, s shape, l layout) {
	f := m.y
	if slope {
		f = m.slope
	}
	part := func(rows, cols int) ref.Matrix {
		if n&1 != 0 {
			rows = min(1, rows)
		}
		if n&2 != 0 {
			cols = min(1, cols)
		}
		n /= 4
		return b.normal(rows, cols)
	}
	src, beta := part(s.rows, s.cols), []float64{0, 1, -0.75}[n%3]
	if m.positive {
		src = ref.Map(src.Rows, src.Cols, func(i, j int) float64 { return math.Abs(src.At(i, j)) + 1.0/64 })
	}
	var by ref.Matrix
	args := gpu.MapArgs{Src: b.put(src, l), F: m.f, A: float32(m.a), B: float32(m.b), Slope: slope, Beta: float32(beta)}
	if n%5 > 0 {
		by = part(s.rows, s.cols)
		args.By = b.put(by, l)
	}
	y := b.normal(s.rows, s.cols)
	start := y
	if beta == 0 {
		start = ref.Map(s.rows, s.cols, func(i, j int) float64 { return math.NaN() })
	}
	args.Dst = b.put(start, l)
	b.q.Map(args)
	size := ref.Elementwise(func(x float64) float64 {
		const step = 1e-5
		bend := max(math.Abs(f(x+step)-f(x)), math.Abs(f(x)-f(x-step))) / step // kinks are as steep as their sides
		if slope && bend > 1e3 {
			bend = 0 // a step of a derivative
		}
		return math.Abs(f(x)) + math.Abs(x)*bend + 1
	}, abs(y), src, abs(by), math.Abs(beta))
	b.near(fmt.Sprintf("function %d, slope %v, src %d×%d, by %d×%d", m.f, slope, src.Rows, src.Cols, by.Rows, by.Cols), b.get(args.Dst),
		ref.Elementwise(f, y, src, by, beta), 8, size.At)
	if src.Rows == s.rows && src.Cols == s.cols && beta == 0 {
		args.Dst = args.Src
		b.q.Map(args)
		b.near("in place", b.get(args.Dst), ref.Elementwise(f, y, src, by, 0), 8, size.At)
	}
}
