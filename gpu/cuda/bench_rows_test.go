//go:build cuda

package cuda

import (
	"fmt"
	"testing"

	"capgnn/gpu"
)

// benchShapes are columns of a row, and elements from one row to the next.
var benchShapes = [][2]int{{256, 256}, {128, 128}, {64, 64}, {32, 32}, {41, 41}, {41, 44}, {41, 48}}

// sparse times sums over neighbours, whole and by tiles of columns, and attention.
func (g *benchGraph) sparse(b *testing.B) {
	for _, t := range []gpu.DType{gpu.FP32, gpu.BF16} {
		for _, s := range benchShapes {
			g.sums(b, t, s[0], s[1])
		}
	}
	g.attention(b, 4, 64)
	g.attentionOfSums(b, 4, 64)
}

// gathered is what a sum over neighbours moves: a row for each entry, its index, and the result.
func (g *benchGraph) gathered(cols, size int) float64 {
	return float64(g.a.Entries)*float64(cols*size+4) + float64(g.a.Rows)*float64(cols*size)
}

// sums times Y = A·X as it is chosen, and cut into tiles of fewer columns.
func (g *benchGraph) sums(b *testing.B, t gpu.DType, cols, ld int) {
	defer g.free()
	x, y := g.random(b, t, g.a.Cols, cols, ld), g.random(b, t, g.a.Rows, cols, ld)
	l2 := g.dev.l2
	defer func() { g.dev.l2 = l2 }()
	product := measured{shaped("SpMM", t, cols, ld), "GB/s", g.gathered(cols, t.Size()), func() { g.q.SpMM(y, g.a, x, 0) }}
	g.time(b, product)
	for _, tile := range widths(true, t) {
		if tile*t.Size() < 128 || tile >= cols || ld%8 != 0 || g.a.Entries < reuse*int64(g.a.Cols) {
			continue // less than a line, the whole row, rows that are not aligned, or hardly read again
		}
		// So much cache that the tile fits into its share, and none that is wider.
		g.dev.l2 = gpu.Bytes(g.a.Cols*tile*t.Size())*5/3 + 2
		product.name = fmt.Sprintf("%s_tile%d", shaped("SpMM", t, cols, ld), tile)
		g.time(b, product)
	}
}

// attention times GAT's three passes through the graph.
func (g *benchGraph) attention(b *testing.B, heads, channels int) {
	defer g.free()
	n, cols := g.a.Rows, heads*channels
	wide := func() gpu.Matrix { return g.random(b, gpu.FP32, n, cols, cols) }
	thin := func() gpu.Matrix { return g.random(b, gpu.FP32, n, heads, heads) }
	t, o, s, d, lse := wide(), wide(), thin(), thin(), thin()
	shape := fmt.Sprintf("/fp32/%dx%d", heads, channels)
	// A score and, against the direction of edges, three of them are read beside a row.
	work := func(scores int) float64 { return g.gathered(cols, 4) + 4*float64(g.a.Entries)*float64(scores*heads) }
	g.time(b, measured{"GATAggregate" + shape, "GB/s", work(1), func() {
		g.q.GATAggregate(gpu.GATArgs{O: o, LSE: lse, Inner: g.a, T: t, S: s, D: d, Slope: 0.2, Hi: n})
	}})
	do, dd, sums := wide(), thin(), thin()
	g.time(b, measured{"GATBackwardDst" + shape, "GB/s", work(1), func() {
		g.q.GATBackwardDst(gpu.GATGradDst{DD: dd, G: sums, DO: do, O: o, LSE: lse, Inner: g.a, T: t, S: s, D: d, Slope: 0.2})
	}})
	dt, ds := wide(), thin()
	g.time(b, measured{"GATBackwardSrc" + shape, "GB/s", work(3), func() {
		g.q.GATBackwardSrc(gpu.GATGradSrc{DT: dt, DS: ds, T: t, S: s, Inner: g.a, DO: do, D: d, LSE: lse, G: sums, Slope: 0.2})
	}})
}

// attentionOfSums times GATv2's three passes through the graph.
func (g *benchGraph) attentionOfSums(b *testing.B, heads, channels int) {
	defer g.free()
	n, cols := g.a.Rows, heads*channels
	wide := func() gpu.Matrix { return g.random(b, gpu.FP32, n, cols, cols) }
	thin := func() gpu.Matrix { return g.random(b, gpu.FP32, n, heads, heads) }
	t, r, o, lse, att := wide(), wide(), wide(), thin(), g.vec(b, cols)
	shape := fmt.Sprintf("/fp32/%dx%d", heads, channels)
	gathered := g.gathered(cols, 4)
	g.time(b, measured{"GATv2Aggregate" + shape, "GB/s", gathered, func() {
		g.q.GATv2Aggregate(gpu.GATv2Args{O: o, LSE: lse, Inner: g.a, T: t, R: r, Att: att, Slope: 0.2, Hi: n})
	}})
	do, dr, da, sums := wide(), wide(), wide(), thin()
	g.time(b, measured{"GATv2BackwardDst" + shape, "GB/s", gathered, func() {
		g.q.GATv2BackwardDst(gpu.GATv2GradDst{DR: dr, DA: da, G: sums, DO: do, O: o, LSE: lse, Inner: g.a, T: t, R: r, Att: att, Slope: 0.2})
	}})
	// Against the direction of edges two rows are read for each, and two numbers of each head.
	work := gathered + 4*float64(g.a.Entries)*float64(cols+2*heads)
	g.time(b, measured{"GATv2BackwardSrc" + shape, "GB/s", work, func() {
		g.q.GATv2BackwardSrc(gpu.GATv2GradSrc{DT: dr, T: t, A: g.a, DO: do, R: r, LSE: lse, G: sums, Att: att, Slope: 0.2})
	}})
}

// rowwise times what goes through rows once: copies and gathers, what a batch of sampled training gathers, packing, epilogues.
func (g *benchGraph) rowwise(b *testing.B) {
	for _, t := range []gpu.DType{gpu.FP32, gpu.BF16} {
		for _, s := range benchShapes {
			g.copies(b, t, s[0], s[1])
		}
		g.batch(b, t)
		g.packing(b, t)
	}
	g.epilogues(b, 256)
}

func (g *benchGraph) copies(b *testing.B, t gpu.DType, cols, ld int) {
	defer g.free()
	x, y := g.random(b, t, g.a.Rows, cols, ld), g.random(b, t, g.a.Rows, cols, ld)
	work := 2 * float64(g.a.Rows*cols*t.Size())
	g.time(b, measured{shaped("Copy", t, cols, ld), "GB/s", work, func() { g.q.Copy(y, x) }})
	g.time(b, measured{shaped("Gather", t, cols, ld), "GB/s", work, func() { g.q.Gather(y, x, g.rows) }})
}

// batchRows are the rows of features that a batch reads: 1,024 vertices with 15 and 10 neighbours, less those found twice.
const batchRows = 100_000

// batch times the gather of a batch's features, from the GPU's memory and from the host's.
func (g *benchGraph) batch(b *testing.B, t gpu.DType) {
	defer g.free()
	n, k := g.a.Rows, min(batchRows, g.a.Rows)
	x, y := g.random(b, t, n, g.features, g.features), g.random(b, t, k, g.features, g.features)
	moved := float64(k * g.features * t.Size())
	g.time(b, measured{shaped("GatherBatch", t, g.features, g.features), "GB/s", 2 * moved, func() { g.q.Gather(y, x, g.rows.Slice(0, k)) }})
	host := make([]byte, n*g.features*t.Size())
	g.time(b, measured{shaped("UploadRows", t, g.features, g.features), "GB/s", moved, func() { g.q.UploadRows(y, host, g.list[:k]) }})
}

func (g *benchGraph) packing(b *testing.B, t gpu.DType) {
	defer g.free()
	const cols = 256
	n, words := g.a.Rows, gpu.PackedWords(cols, 8)
	x, packed := g.random(b, t, n, cols, cols), g.random(b, gpu.FP32, n, words, words)
	work := float64(n) * float64(cols*t.Size()+4*words)
	g.time(b, measured{shaped("PackRows", t, cols, cols), "GB/s", work, func() {
		g.q.PackRows(gpu.PackArgs{Bits: 8, Dst: packed, Src: x, IDs: g.rows, Seed: 1, Stream: 1 << 31})
	}})
	g.time(b, measured{shaped("UnpackRows", t, cols, cols), "GB/s", work, func() { g.q.UnpackRows(x, packed, 8) }})
}

// epilogues times LayerNorm, dropout and between them ReLU or a curved activation, and their gradient.
func (g *benchGraph) epilogues(b *testing.B, cols int) {
	defer g.free()
	n := g.a.Rows
	z, h, dh := g.random(b, gpu.FP32, n, cols, cols), g.random(b, gpu.FP32, n, cols, cols), g.random(b, gpu.FP32, n, cols, cols)
	gamma, beta, rstd, sums := g.vec(b, cols), g.vec(b, cols), g.vec(b, n), g.vec(b, 3*cols)
	drop := gpu.Dropout{P: 0.5, Seed: 1, IDs: g.rows}
	work := 3 * float64(n*cols*4)
	for i, f := range []gpu.Activation{gpu.ReLU, gpu.Tanh} {
		name := []string{"", "Tanh"}[i]
		g.time(b, measured{shaped("Epilogue"+name, gpu.FP32, cols, cols), "GB/s", work, func() {
			g.q.Epilogue(gpu.Epilogue{Z: z, H: h, Norm: true, Gamma: gamma, Beta: beta, Eps: 1e-5, Rstd: rstd, Act: f, Dropout: drop})
		}})
		g.time(b, measured{shaped("EpilogueBackward"+name, gpu.FP32, cols, cols), "GB/s", work, func() {
			g.q.EpilogueBackward(gpu.EpilogueGrad{DH: dh, X: z, DZ: h, Norm: true, Gamma: gamma, Beta: beta, Rstd: rstd, Act: f, Dropout: drop,
				DGamma: sums.Slice(0, cols), DBeta: sums.Slice(cols, 2*cols), DBias: sums.Slice(2*cols, 3*cols)})
		}})
	}
}
