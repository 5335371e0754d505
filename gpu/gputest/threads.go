package gputest

import (
	"bytes"
	"fmt"
	"testing"

	"capgnn/gpu"
	"capgnn/internal/ref"
)

// RunThreads demands equal bits from devices that differ in their number of threads only.
func RunThreads(t *testing.T, open func(t *testing.T, threads int) gpu.Device) {
	var want map[string][]byte
	for _, threads := range []int{1, 2, 3} {
		t.Run(fmt.Sprintf("%d_threads", threads), func(t *testing.T) {
			b := newBench(t, open(t, threads))
			got := b.program()
			if want == nil {
				want = got
			}
			for name := range want {
				if !bytes.Equal(got[name], want[name]) {
					t.Errorf("%s: %d threads give other bits than one, from byte %d on", name, threads,
						firstDifference(got[name], want[name]))
				}
			}
		})
	}
}

// program is a device under test, and the results of the operations that were run on it.
type program struct {
	*bench
	results map[string]gpu.Buffer
}

// keep lists a matrix among the results.
func (p program) keep(name string, m gpu.Matrix) gpu.Matrix {
	p.results[name] = m.Buf
	return m
}

// sum returns a vector of n zeros that is listed among the results.
func (p program) sum(name string, n int) gpu.Vec {
	v := p.vec(make([]float64, n))
	p.results[name] = v.Buf
	return v
}

// program runs every operation that reduces, or that is cut into blocks, on sizes of many blocks. It returns the bits of
// the results.
func (b *bench) program() map[string][]byte {
	const n, cols, classes, heads = 1300, 67, 41, 2
	p, l := program{b, map[string]gpu.Buffer{}}, layouts[1]
	x, half, z := p.products(n, cols, classes, l)

	a := b.random(n, n, 20)
	for e := 0; e < 5000; e++ {
		a.Indices = append(a.Indices, int32(b.rng.IntN(n)))
	}
	a.End[n-1] = int64(len(a.Indices))
	graph := b.csr(a)
	p.rows(graph, x, half, l)
	p.epilogues(graph, x, l)
	p.attention(graph, b.csr(turned(a, 0, n, false)), n, heads)

	loss := gpu.Array[float64]{Buf: b.alloc(make([]byte, 8)), Len: 1}
	p.results["Loss"] = loss.Buf
	b.q.SoftmaxLoss(gpu.LossArgs{
		Logits: z, Grad: p.keep("Grad", b.blank(n, classes, l)), Labels: array(b, b.ints(n, classes)), Scale: 1. / n, Loss: loss,
	})
	bits := map[string][]byte{}
	for name, buf := range p.results {
		bits[name] = b.fetch(buf)
	}
	return bits
}

// products runs dense products and sums over all rows. It returns n rows, others in bf16, and a product.
func (p program) products(n, cols, classes int, l layout) (x, half, z gpu.Matrix) {
	b := p.bench
	x, w := b.put(b.normal(n, cols), l), b.put(b.normal(classes, cols), l)
	z = p.keep("Linear", b.blank(n, classes, l))
	b.q.Linear(gpu.LinearArgs{Z: z, X: x, W: w, Bias: b.vec(b.normal(1, classes).V)})
	b.q.Gemm(gpu.GemmArgs{C: p.keep("GemmTN", b.blank(classes, cols, l)), A: z, B: x, TransA: true})
	b.q.Gemm(gpu.GemmArgs{C: p.keep("GemmNN", b.blank(n, cols, l)), A: z, B: w})
	half = b.stored(b.normal(n, cols), l, gpu.BF16)
	b.q.Linear(gpu.LinearArgs{Z: p.keep("LinearBF16", b.blankOf(n, classes, l, gpu.BF16)), X: half, W: w})
	b.q.Gemm(gpu.GemmArgs{C: p.keep("GemmTNBF16", b.blank(classes, cols, l)), A: z, B: half, TransA: true})
	b.q.ColSum(p.sum("ColSumBF16", cols), half, 1)
	b.q.Dot(p.sum("DotBF16", 1), half, x, 1)
	b.q.ColSum(p.sum("ColSum", cols), x, 1)
	b.q.Dot(p.sum("Dot", 1), x, x, 1)
	return x, half, z
}

// rows runs products with a graph, and what is done row by row.
func (p program) rows(graph gpu.CSR, x, half gpu.Matrix, l layout) {
	b, n, cols := p.bench, x.Rows, x.Cols
	b.q.Aggregate(gpu.AggregateArgs{Y: p.keep("Aggregate", b.blank(n, cols, l)), A: graph, X: x})
	b.q.SpMM(p.keep("SpMMBF16", b.blankOf(n, cols, l, gpu.BF16)), graph, half, 0)
	for _, bits := range []int{8, 2} {
		pack := gpu.PackArgs{Bits: bits, Dst: p.keep(fmt.Sprint("PackRows", bits), b.blank(n, gpu.PackedWords(cols, bits), l)), Src: half,
			IDs: array(b, b.ints(n, n)), Stream: gpu.PackStream(1, false)}
		b.q.PackRows(pack)
		b.q.UnpackRows(p.keep(fmt.Sprint("UnpackRows", bits), b.blank(n, cols, l)), pack.Dst, bits)
	}
	b.q.ScatterAdd(p.keep("ScatterAdd", b.put(b.normal(50, cols), l)), x, array(b, b.ints(n, 50)))
}

// epilogues runs an epilogue on its own, its gradient, and one that follows an aggregation.
func (p program) epilogues(graph gpu.CSR, x gpu.Matrix, l layout) {
	b, n, cols := p.bench, x.Rows, x.Cols
	e, _ := b.settings(epilogueCase{true, gpu.ReLU, 0.5}, n, cols)
	e.Z, e.H, e.Rstd = p.keep("Z", b.put(b.normal(n, cols), l)), p.keep("H", b.blank(n, cols, l)), p.sum("Rstd", n)
	b.q.Epilogue(e)
	b.q.EpilogueBackward(gpu.EpilogueGrad{
		DH: x, X: e.Z, DZ: p.keep("DZ", b.blank(n, cols, l)), Norm: true, Gamma: e.Gamma, Beta: e.Beta, Rstd: e.Rstd,
		Act: gpu.ReLU, Dropout: e.Dropout, DGamma: p.sum("DGamma", cols), DBeta: p.sum("DBeta", cols), DBias: p.sum("DBias", cols),
	})
	e.Act, e.Z, e.H = gpu.ELU, p.keep("curved Z", b.put(b.normal(n, cols), l)), p.keep("curved H", b.blank(n, cols, l))
	b.q.Epilogue(e)
	b.q.EpilogueBackward(gpu.EpilogueGrad{
		DH: x, X: e.Z, DZ: p.keep("curved DZ", b.blank(n, cols, l)), Norm: true, Gamma: e.Gamma, Beta: e.Beta, Rstd: e.Rstd,
		Act: gpu.ELU, Dropout: e.Dropout, DGamma: p.sum("curved DGamma", cols), DBeta: p.sum("curved DBeta", cols), DBias: p.sum("curved DBias", cols),
	})
	e.Z, e.H = p.keep("Aggregate then", b.blank(n, cols, l)), p.keep("H of Aggregate", b.blankOf(n, cols, l, gpu.BF16))
	b.q.Aggregate(gpu.AggregateArgs{Y: e.Z, A: graph, X: x, Bias: b.vec(b.normal(1, cols).V), Then: &e})
}

// attention runs the GAT operations, forward and backward on one graph.
func (p program) attention(graph, back gpu.CSR, n, heads int) {
	const cols = 34
	b, l := p.bench, layouts[0]
	t, do := b.put(b.normal(n, cols), l), b.put(b.normal(n, cols), l)
	s, d := p.keep("S", b.blank(n, heads, l)), p.keep("D", b.blank(n, heads, l))
	src, dst := b.vec(b.normal(1, cols).V), b.vec(b.normal(1, cols).V)
	b.q.GATScores(s, d, t, src, dst)
	f := gpu.GATArgs{
		O: p.keep("O", b.blank(n, cols, l)), LSE: p.keep("LSE", b.blank(n, heads, l)), Inner: graph,
		T: t, S: s, D: d, Slope: gatSlope, Hi: n,
	}
	b.q.GATAggregate(f)
	dd, g := p.keep("DD", b.blank(n, heads, l)), p.keep("G", b.blank(n, heads, l))
	b.q.GATBackwardDst(gpu.GATGradDst{
		DD: dd, G: g, DO: do, O: f.O, LSE: f.LSE, Inner: graph, T: t, S: s, D: d, Slope: gatSlope,
	})
	dt, ds := p.keep("DT", b.blank(n, cols, l)), p.keep("DS", b.blank(n, heads, l))
	b.q.GATBackwardSrc(gpu.GATGradSrc{
		DT: dt, DS: ds, T: t, S: s, Inner: back, DO: do, D: d, LSE: f.LSE, G: g, Slope: gatSlope,
	})
	b.q.GATScoresBackward(gpu.GATScoresGrad{
		T: t, DT: dt, DS: ds, DD: dd, ASrc: src, ADst: dst, DASrc: p.sum("DASrc", cols), DADst: p.sum("DADst", cols),
	})
	p.attention2(graph, back, t, do, heads)
	p.dots(graph, back, t, do, heads)
	mean := p.keep("HeadMean", b.blank(n, cols/heads, l))
	b.q.HeadMean(mean, f.O, gpu.Vec{})
	b.near("HeadMean", b.get(mean), ref.HeadMean(b.get(f.O), cols/heads, nil), heads, func(i, j int) float64 { return 10 })
}

// attention2 runs the operations of GATv2.
func (p program) attention2(graph, back gpu.CSR, t, do gpu.Matrix, heads int) {
	b, n, cols, l := p.bench, t.Rows, t.Cols, layouts[0]
	r, att := b.put(b.normal(n, cols), l), b.vec(b.normal(1, cols).V)
	f := gpu.GATv2Args{O: p.keep("O2", b.blank(n, cols, l)), LSE: p.keep("LSE2", b.blank(n, heads, l)), Inner: graph, T: t, R: r, Att: att, Slope: gatSlope, Hi: n}
	b.q.GATv2Aggregate(f)
	g := p.keep("G2", b.blank(n, heads, l))
	b.q.GATv2BackwardDst(gpu.GATv2GradDst{DR: p.keep("DR2", b.blank(n, cols, l)), DA: p.keep("DA2", b.blank(n, cols, l)), G: g, DO: do, O: f.O, LSE: f.LSE,
		Inner: graph, T: t, R: r, Att: att, Slope: gatSlope})
	b.q.GATv2BackwardSrc(gpu.GATv2GradSrc{DT: p.keep("DT2", b.blank(n, cols, l)), T: t, A: back, DO: do, R: r, LSE: f.LSE, G: g, Att: att, Slope: gatSlope})
}

// dots runs the operations of attention to products.
func (p program) dots(graph, back gpu.CSR, v, do gpu.Matrix, heads int) {
	b, n, cols, l := p.bench, v.Rows, v.Cols, layouts[0]
	r, k := b.put(b.normal(n, cols), l), b.put(b.normal(n, cols), l)
	f := gpu.DotArgs{O: p.keep("O3", b.blank(n, cols, l)), LSE: p.keep("LSE3", b.blank(n, heads, l)), Q: r, Inner: graph, K: k, V: v}
	b.q.DotAggregate(f)
	g := p.keep("G3", b.blank(n, heads, l))
	b.q.DotBackwardDst(gpu.DotGradDst{DQ: p.keep("DQ3", b.blank(n, cols, l)), G: g, DO: do, O: f.O, LSE: f.LSE, Q: r, Inner: graph, K: k, V: v})
	b.q.DotBackwardSrc(gpu.DotGradSrc{DK: p.keep("DK3", b.blank(n, cols, l)), DV: p.keep("DV3", b.blank(n, cols, l)), K: k, V: v, Heads: heads, Inner: back,
		DO: do, Q: r, LSE: f.LSE, G: g})
}
