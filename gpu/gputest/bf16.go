package gputest

import (
	"fmt"
	"math"
	"slices"

	"capgnn/gpu"
	"capgnn/internal/ref"
)

// halfUnit bounds the relative error of rounding to bf16, which has 8 significant bits.
const halfUnit = 1.0 / (1 << 8)

// stored places m as type t on the device; its values are rounded to t in place.
func (b *bench) stored(m ref.Matrix, l layout, t gpu.DType) gpu.Matrix {
	b.Helper()
	if t != gpu.BF16 {
		return b.put(m, l)
	}
	copy(m.V, ref.RoundBF16(m).V)
	return b.put16(m, l)
}

// blankOf returns a matrix of NaN of type t.
func (b *bench) blankOf(rows, cols int, l layout, t gpu.DType) gpu.Matrix {
	b.Helper()
	return b.stored(ref.Map(rows, cols, func(i, j int) float64 { return math.NaN() }), l, t)
}

// nearStored is near for what lies in m. A BF16 result is a float32 one within the tolerance, rounded once more.
func (b *bench) nearStored(what string, m gpu.Matrix, want ref.Matrix, k int, size func(i, j int) float64) {
	b.Helper()
	if m.Type != gpu.BF16 {
		b.near(what, b.get(m), want, k, size)
		return
	}
	got := b.get(m)
	for e, w := range want.V {
		i, j := e/want.Cols, e%want.Cols
		limit := tolerance(k, size(i, j))
		limit += halfUnit*(math.Abs(w)+limit) + flushed
		if g := got.V[e]; !(math.Abs(g-w) <= limit) && g != w {
			b.Errorf("%s[%d][%d]: got %.9g, want %.9g ± %.3g", what, i, j, g, w, limit)
			return
		}
	}
}

// halves reports whether the device rounds the operands of a product that has matrices of these types, or is to be as if one were BF16: the reference then multiplies
// what they are rounded to, and the tolerance is that of the sum.
func (b *bench) halves(half bool, t ...gpu.DType) bool {
	return b.dev.Info().HalfProducts && (half || slices.Contains(t, gpu.BF16))
}

// types are both element types, for operands that may have either.
var types = []gpu.DType{gpu.FP32, gpu.BF16}

// testGemmBF16 tries every combination of operands that may be BF16.
func testGemmBF16(b *bench) {
	for n, p := range products {
		for _, trans := range [][2]bool{{false, false}, {false, true}, {true, false}} {
			for mode := 1; mode < 8; mode++ {
				a, other, half := types[mode&1], types[mode>>1&1], mode&4 != 0
				name := fmt.Sprintf("%dx%dx%d_%v_%v_%v_%v_half%v", p[0], p[1], p[2], trans[0], trans[1], a, other, half)
				b.scene(name, func(b *bench) { b.gemm16(p, trans[0], trans[1], half, a, other, layouts[(n+mode)%2]) })
			}
		}
	}
}

// gemm16 runs one product: other is the type of B if A is transposed, else that of C.
func (b *bench) gemm16(p [3]int, transA, transB, half bool, typeA, other gpu.DType, l layout) {
	rows, cols, k := p[0], p[1], p[2]
	x, y := b.normal(rows, k), b.normal(k, cols)
	if transA {
		x = ref.Transpose(x)
	}
	if transB {
		y = ref.Transpose(y)
	}
	typeB, typeC := gpu.FP32, other
	if transA {
		typeB, typeC = other, gpu.FP32
	}
	g := gpu.GemmArgs{
		C: b.blankOf(rows, cols, l, typeC), A: b.stored(x, l, typeA), B: b.stored(y, l, typeB), TransA: transA, TransB: transB, Half: half,
	}
	b.q.Gemm(g)
	if b.halves(half, typeA, typeB, typeC) {
		x, y = ref.RoundBF16(x), ref.RoundBF16(y)
	}
	size := ref.Gemm(abs(x), abs(y), transA, transB, 0, ref.Matrix{})
	want := ref.Gemm(x, y, transA, transB, 0, ref.Matrix{})
	b.nearStored("C", g.C, want, k+1, size.At)
	if typeC == gpu.FP32 {
		z := b.normal(rows, cols)
		g.C, g.Beta = b.put(z, l), 0.5
		b.q.Gemm(g)
		size = ref.Gemm(abs(x), abs(y), transA, transB, 0.5, abs(z))
		b.near("C added to", b.get(g.C), ref.Gemm(x, y, transA, transB, 0.5, z), k+2, size.At)
	}
}

// testLinearBF16 tries every combination of X, X2 and Z, with and without the second product and a scale.
func testLinearBF16(b *bench) {
	for n, p := range products {
		for mode := range 64 {
			x, x2, z := types[mode&1], types[mode>>1&1], types[mode>>2&1]
			second, scaled, half := mode&8 != 0, mode&16 != 0, mode&32 != 0
			if mode&7 == 0 && !half || x2 != gpu.FP32 && !second {
				continue
			}
			name := fmt.Sprintf("%dx%dx%d_%v_%v_%v_second%v_scaled%v_half%v", p[0], p[1], p[2], x, x2, z, second, scaled, half)
			b.scene(name, func(b *bench) { b.linear16(p, [3]gpu.DType{x, x2, z}, second, scaled, half, layouts[(n+mode)%2]) })
		}
	}
}

func (b *bench) linear16(p [3]int, t [3]gpu.DType, second, scaled, half bool, l layout) {
	rows, cols, k := p[0], p[1], p[2]
	r := ref.Linear{X: b.normal(rows, k), W: b.normal(cols, k), Bias: b.normal(1, cols).V}
	a := gpu.LinearArgs{Z: b.blankOf(rows, cols, l, t[2]), X: b.stored(r.X, l, t[0]), W: b.put(r.W, l), Bias: b.vec(r.Bias), Half: half}
	terms := k + 2
	if b.halves(half, t[0], t[2]) {
		r.X, r.W = ref.RoundBF16(r.X), ref.RoundBF16(r.W)
	}
	size := ref.Linear{X: abs(r.X), W: abs(r.W), Bias: absVec(r.Bias)}
	if second {
		const k2 = 9
		r.X2, r.W2 = b.normal(rows, k2), b.normal(cols, k2)
		a.X2, a.W2 = b.stored(r.X2, l, t[1]), b.put(r.W2, l)
		if b.halves(half, t[1], t[2]) {
			r.X2, r.W2 = ref.RoundBF16(r.X2), ref.RoundBF16(r.W2)
		}
		size.X2, size.W2 = abs(r.X2), abs(r.W2)
		terms += k2
	}
	if scaled {
		r.RowScale = b.normal(1, rows).V
		size.RowScale, a.RowScale = absVec(r.RowScale), b.vec(r.RowScale)
	}
	b.q.Linear(a)
	sizes := size.Run()
	b.nearStored("Z", a.Z, r.Run(), terms, sizes.At)
}

func testSpMMBF16(b *bench) {
	b.spmm(func(b *bench, a ref.CSR, width int, l layout) {
		dev := b.csr(a)
		for mode := 1; mode < 4; mode++ {
			x := b.normal(a.Cols+2, width)
			src, dst := b.stored(x, l, types[mode&1]), b.blankOf(a.Rows, width, l, types[mode>>1])
			b.q.SpMM(dst, dev, src, 0)
			size := ref.Aggregate{A: absCSR(a), X: abs(x)}.Run()
			b.nearStored("Y", dst, ref.Aggregate{A: a, X: x}.Run(), longest(a)+1, size.At)
		}
	})
}

func testElementwiseBF16(b *bench) {
	b.dense(func(b *bench, s shape, l layout) {
		x, y := b.normal(s.rows, s.cols), b.normal(s.rows, s.cols)
		half := b.stored(x, l, gpu.BF16)
		dst := b.put(y, l)
		b.q.AddScaled(dst, half, b.vec([]float64{0.25}))
		b.near("AddScaled", b.get(dst), ref.AddScaled(y, x, 0.25), 2, func(i, j int) float64 {
			return 1.25*math.Abs(x.At(i, j)) + math.Abs(y.At(i, j))
		})
		sum := b.vec(ref.Map(1, s.cols, func(i, j int) float64 { return math.NaN() }).V)
		b.q.ColSum(sum, half, 0)
		size := ref.ColSum(make([]float64, s.cols), abs(x), 0)
		b.nearVec("ColSum", b.getVec(sum), ref.ColSum(nil, x, 0), s.rows, func(j int) float64 { return size[j] })

		full := b.put(y, l)
		for _, pair := range [][2]gpu.Matrix{{half, full}, {full, half}, {half, half}} {
			want := ref.Dot(x, y)
			if pair[0] == pair[1] {
				want = ref.Dot(x, x)
			}
			dot := b.vec([]float64{math.NaN()})
			b.q.Dot(dot, pair[0], pair[1], 0)
			b.nearNumber("Dot", b.getVec(dot)[0], want, 1, math.Abs(want))
		}
	})
}
