package gputest

import (
	"fmt"
	"math"

	"capgnn/gpu"
	"capgnn/internal/ref"
)

// products are the sizes M, N, K of dense products: nothing, one, odd, around tile sizes, and long sums.
var products = [][3]int{
	{0, 3, 4}, {3, 0, 4}, {4, 5, 0}, {1, 1, 1}, {1, 33, 2}, {7, 31, 13}, {13, 32, 33}, {97, 33, 31}, {25, 256, 47},
	{40, 41, 256}, {3, 5, 1000}, {48, 17, 300},
}

func testGemm(b *bench) {
	for i, p := range products {
		for k, trans := range [][2]bool{{false, false}, {false, true}, {true, false}} {
			for n, l := range layouts {
				beta := []float64{0, 1, 0.5}[(i+k+n)%3]
				name := fmt.Sprintf("%dx%dx%d_%v_%v_beta%g_%v", p[0], p[1], p[2], trans[0], trans[1], beta, l)
				b.scene(name, func(b *bench) { b.gemm(p, trans[0], trans[1], beta, l) })
			}
		}
	}
}

func (b *bench) gemm(p [3]int, transA, transB bool, beta float64, l layout) {
	rows, cols, k := p[0], p[1], p[2]
	x, y, z := b.normal(rows, k), b.normal(k, cols), b.normal(rows, cols)
	if transA {
		x = ref.Transpose(x)
	}
	if transB {
		y = ref.Transpose(y)
	}
	start := z
	if beta == 0 {
		start = ref.Map(rows, cols, func(i, j int) float64 { return math.NaN() })
	}
	c := b.put(start, l)
	b.q.Gemm(gpu.GemmArgs{C: c, A: b.put(x, l), B: b.put(y, l), TransA: transA, TransB: transB, Beta: float32(beta)})
	size := ref.Gemm(abs(x), abs(y), transA, transB, beta, abs(z))
	b.near("C", b.get(c), ref.Gemm(x, y, transA, transB, beta, z), k+1, size.At)
}

func testLinear(b *bench) {
	for i, p := range products {
		for mode := range 12 {
			second, scaled, beta := mode&1 != 0, mode&2 != 0, []float64{0, 1, 0.5}[mode/4]
			name := fmt.Sprintf("%dx%dx%d_second%v_scaled%v_beta%g", p[0], p[1], p[2], second, scaled, beta)
			b.scene(name, func(b *bench) { b.linear(p, second, scaled, beta, layouts[(i+mode)%2]) })
		}
	}
	b.scene("then", func(b *bench) {
		const rows, cols, k = 70, 41, 20
		x, w, bias := b.normal(rows, k), b.normal(cols, k), b.normal(1, cols).V
		z := ref.Linear{X: x, W: w, Bias: bias}.Run()
		b.then(z, 30, layouts[1], func(dst gpu.Matrix, then *gpu.Epilogue) {
			b.q.Linear(gpu.LinearArgs{Z: dst, X: b.put(x, layouts[1]), W: b.put(w, layouts[1]), Bias: b.vec(bias), Then: then})
		})
	})
}

func (b *bench) linear(p [3]int, second, scaled bool, beta float64, l layout) {
	rows, cols, k := p[0], p[1], p[2]
	r := ref.Linear{X: b.normal(rows, k), W: b.normal(cols, k), Bias: b.normal(1, cols).V, Beta: beta, Z: b.normal(rows, cols)}
	start := r.Z
	if beta == 0 {
		start = ref.Map(rows, cols, func(i, j int) float64 { return math.NaN() })
	}
	a := gpu.LinearArgs{Z: b.put(start, l), X: b.put(r.X, l), W: b.put(r.W, l), Bias: b.vec(r.Bias), Beta: float32(beta)}
	size := ref.Linear{X: abs(r.X), W: abs(r.W), Bias: absVec(r.Bias), Beta: beta, Z: abs(r.Z)}
	terms := k + 2
	if second {
		const k2 = 9
		r.X2, r.W2 = b.normal(rows, k2), b.normal(cols, k2)
		size.X2, size.W2 = abs(r.X2), abs(r.W2)
		a.X2, a.W2 = b.put(r.X2, l), b.put(r.W2, l)
		terms += k2
	}
	if scaled {
		r.RowScale = b.normal(1, rows).V
		size.RowScale = absVec(r.RowScale)
		a.RowScale = b.vec(r.RowScale)
	}
	b.q.Linear(a)
	sizes := size.Run()
	b.near("Z", b.get(a.Z), r.Run(), terms, sizes.At)
}
