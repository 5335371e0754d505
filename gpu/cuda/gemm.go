//go:build cuda

package cuda

import (
	"math"

	"capgnn/gpu"
)

// Flags of a product; kernels/gemm.cu has the same.
const (
	gemmHalfA = 1 << iota
	gemmHalfB
	gemmHalfC
	gemmHalfA2
)

// Choices of the tiled product, by shape alone.
const (
	smallTile   = 64
	largeTile   = 128
	enoughTiles = 256 // blocks that keep a GPU busy: with fewer large tiles, small ones are taken, or k is cut
	splitDepth  = 256 // rows that a piece of k has at least
)

// product is C = rowScale·op(A)·op(B) + A2·B2ᵀ + beta·C + bias; the second pair only where op(B) = Bᵀ.
type product struct {
	c, a, b, a2, b2 gpu.Matrix
	transA, transB  bool
	m, n, k         int
	rowScale, bias  gpu.Vec
	beta            float32
	half            bool // all operands are rounded to BF16, whatever they are
}

// Gemm: C = op(A)·op(B) + Beta·C.
func (q *queue) Gemm(g gpu.GemmArgs) {
	q.check("Gemm").Gemm(g)
	k := g.B.Rows
	if g.TransB {
		k = g.B.Cols
	}
	q.begin("Gemm", gpu.PhaseMM)
	q.multiply(product{c: g.C, a: g.A, b: g.B, transA: g.TransA, transB: g.TransB, m: g.C.Rows, n: g.C.Cols, k: k, beta: g.Beta,
		half: g.Half && q.dev.info.HalfProducts})
}

// Linear: Z = X·Wᵀ + X2·W2ᵀ + Beta·Z + Bias, then the epilogue.
func (q *queue) Linear(a gpu.LinearArgs) {
	q.check("Linear").Linear(a)
	p := product{c: a.Z, a: a.X, b: a.W, transB: true, m: a.Z.Rows, n: a.Z.Cols, k: a.X.Cols, rowScale: a.RowScale, bias: a.Bias, beta: a.Beta,
		half: a.Half && q.dev.info.HalfProducts}
	if !a.X2.Empty() {
		p.a2, p.b2 = a.X2, a.W2
	}
	var bias gpu.Vec
	if a.Then != nil && q.blasTakes(p) { // whose bias would be a pass of its own; a kernel of ours adds it on its way
		p.bias, bias = bias, p.bias
	}
	q.begin("Linear", gpu.PhaseMM)
	q.multiply(p)
	q.epilogue(a.Then, a.Z, bias)
}

// multiply enqueues the product: by cuBLAS where it is there and can, else by the tiled kernel. A first pair of nothing leaves its place to
// the second.
func (q *queue) multiply(p product) {
	if p.k == 0 && !p.a2.Empty() {
		p.a, p.b, p.k, p.transB, p.rowScale = p.a2, p.b2, p.a2.Cols, true, gpu.Vec{}
		p.a2, p.b2 = gpu.Matrix{}, gpu.Matrix{}
	}
	switch {
	case p.m == 0 || p.n == 0:
	case !q.blasTakes(p):
		q.tiled(p)
	case p.transA:
		q.blasSums(p)
	default:
		q.blasRows(p)
	}
}

// blasTakes reports whether cuBLAS does the product: it takes no sum of nothing, and BF16 on new GPUs only. What it does not do follows
// in a pass of its own.
func (q *queue) blasTakes(p product) bool {
	if _, err := q.dev.driver.blasLibrary(); err != nil || p.k == 0 || anyBF16(p.a, p.b, p.c, p.a2) && !q.dev.info.HalfProducts {
		return false
	}
	return max(p.m, p.n, p.k, p.a.LD, p.b.LD, p.c.LD, p.a2.LD, p.b2.LD) <= math.MaxInt32
}

// scaleBias enqueues m[i][j] = scale[i]·m[i][j] + bias[j]; nothing if both are empty.
func (q *queue) scaleBias(m gpu.Matrix, scale, bias gpu.Vec) {
	if scale.Empty() && bias.Empty() {
		return
	}
	rows, cols := shapeWords(m)
	q.launch("capgnn_scale_bias", rowPieces(m.Rows, m.Cols), blockSize, 0, rows, cols, matPtr(m), ld(m), vecPtr(scale), vecPtr(bias))
}

// tiled enqueues the product by a kernel of ours.
func (q *queue) tiled(p product) {
	name, tile := "nn", int64(smallTile)
	if p.transA {
		name = "tn"
	} else if p.transB {
		name = "nt"
	}
	tiles := func(size int64) int64 { return int64(blocks(p.m, int(size))) * int64(blocks(p.n, int(size))) }
	if p.n > smallTile && (p.transA || tiles(largeTile) >= enoughTiles) && min(p.m, p.n) >= largeTile {
		tile = largeTile
	}
	name = "capgnn_gemm_" + name
	if tile == largeTile {
		name += "128"
	} else {
		name += "64"
	}
	if p.transA {
		q.splitTiled(name, p, tiles(tile))
		return
	}
	q.launch(name, dim{uint32(tiles(tile)), 1}, blockSize, 0, p.words(matPtr(p.c), p.c.LD, p.beta, 0)...)
}

// splitTiled cuts k, the number of vertices, so that there are enough blocks; the pieces are added in order.
func (q *queue) splitTiled(name string, p product, tiles int64) {
	pieces := min(max(1, 2*enoughTiles/int(tiles)), int(blocks(p.k, splitDepth)))
	if pieces <= 1 {
		q.launch(name, dim{uint32(tiles), 1}, blockSize, 0, p.words(matPtr(p.c), p.c.LD, p.beta, 0)...)
		return
	}
	step := int(blocks(p.k, pieces))
	pieces = int(blocks(p.k, step))
	part := q.workspace(pieces*p.m*p.n, 4)
	q.launch(name, dim{uint32(tiles), uint32(pieces)}, blockSize, 0, p.words(part, p.n, 0, step)...)
	q.addParts(matPtr(p.c), p.c.LD, p.m, p.n, part, p.m*p.n, pieces, p.beta)
}

// words are the arguments of a tiled product into c.
func (p product) words(c word, ldc int, beta float32, split int) []word {
	f := 0
	for i, m := range []gpu.Matrix{p.a, p.b, p.c, p.a2} {
		if m.Type == gpu.BF16 {
			f |= []int{gemmHalfA, gemmHalfB, gemmHalfC, gemmHalfA2}[i]
		}
	}
	return []word{c, i32(ldc), i32(p.m), i32(p.n), i32(p.k), matPtr(p.a), i32(p.a.LD), matPtr(p.b), i32(p.b.LD), i32(p.a2.Cols),
		matPtr(p.a2), i32(p.a2.LD), matPtr(p.b2), i32(p.b2.LD), vecPtr(p.rowScale), vecPtr(p.bias), f32(beta), i32(f), i32(split)}
}
