package host

import (
	"slices"
	"testing"
	"time"

	"capgnn/gpu"
	"capgnn/graph"
	"capgnn/graph/synth"
)

// csr copies a graph to the device.
func (f *fixture) csr(g *graph.CSR) gpu.CSR {
	ptr, idx := f.block(8*len(g.Indptr)), f.block(4*len(g.Indices))
	copy(cast[int64](ptr.mem), g.Indptr)
	copy(cast[int32](idx.mem), g.Indices)
	rows := g.Rows()
	return gpu.CSR{
		Rows: rows, Cols: g.Cols, Begin: gpu.Array[int64]{Buf: ptr, Len: rows}, End: gpu.Array[int64]{Buf: ptr, Off: 1, Len: rows},
		Indices: gpu.Ints{Buf: idx, Len: len(g.Indices)}, Entries: g.Edges(),
	}
}

// attentionOps are the operations of a GAT layer on one graph, after SpMM over the same rows. edges says that an operation
// gathers a row per edge; the others read and write the given number of dense matrices.
type attentionOp struct {
	name  string
	dense int
	run   func(q *Queue)
}

func (f *fixture) attentionOps(a, back gpu.CSR, heads, channels int) []attentionOp {
	n, cols := a.Rows, heads*channels
	t, o, dt, mean := f.matrix(n, cols), f.matrix(n, cols), f.matrix(n, cols), f.matrix(n, channels)
	s, d, lse, dd, ds := f.matrix(n, heads), f.matrix(n, heads), f.matrix(n, heads), f.matrix(n, heads), f.matrix(n, heads)
	e := f.matrix(n, cols+3*heads) // what package gnn sends back: dO, d, LSE, g
	do, g := e.ColRange(0, cols), e.ColRange(cols+2*heads, cols+3*heads)
	dOut, lseOut := e.ColRange(cols, cols+heads), e.ColRange(cols+heads, cols+2*heads)
	src, dst, dSrc, dDst := f.vec(cols), f.vec(cols), f.vec(cols), f.vec(cols)
	return []attentionOp{
		{"SpMM", 0, func(q *Queue) { q.Aggregate(gpu.AggregateArgs{Y: o, A: a, X: t}) }},
		{"Scores", 1, func(q *Queue) { q.GATScores(s, d, t, src, dst) }},
		{"Aggregate", 0, func(q *Queue) {
			q.GATAggregate(gpu.GATArgs{O: o, LSE: lse, Inner: a, T: t, S: s, D: d, Slope: 0.2, Hi: n})
		}},
		{"BackwardDst", 0, func(q *Queue) {
			q.GATBackwardDst(gpu.GATGradDst{DD: dd, G: g, DO: do, O: o, LSE: lse, Inner: a, T: t, S: s, D: d, Slope: 0.2})
		}},
		{"BackwardSrc", 0, func(q *Queue) {
			q.GATBackwardSrc(gpu.GATGradSrc{DT: dt, DS: ds, T: t, S: s, Inner: back, DO: do, D: dOut, LSE: lseOut, G: g, Slope: 0.2})
		}},
		{"ScoresBackward", 3, func(q *Queue) {
			q.GATScoresBackward(gpu.GATScoresGrad{T: t, DT: dt, DS: ds, DD: dd, ASrc: src, ADst: dst, DASrc: dSrc, DADst: dDst})
		}},
		{"HeadMean", 1, func(q *Queue) { q.HeadMean(mean, o, gpu.Vec{}) }},
		{"HeadMeanBackward", 1, func(q *Queue) { q.HeadMeanBackward(o, mean) }},
	}
}

// BenchmarkAttention runs the operations of a GAT layer and an SpMM over the same rows in turn, and reports for each one
// the median rate and, for those over edges, its time as a multiple of SpMM's.
func BenchmarkAttention(b *testing.B) {
	for _, c := range []struct {
		name            string
		scale, factor   int
		heads, channels int
	}{
		{"rmat15x32_4x64", 15, 32, 4, 64}, {"rmat15x32_4x41", 15, 32, 4, 41}, {"rmat15x32_8x8", 15, 32, 8, 8},
		{"rmat15x4_4x64", 15, 4, 4, 64},
	} {
		b.Run(c.name, func(b *testing.B) {
			g, err := synth.RMAT(c.scale, c.factor, 7)
			if err != nil {
				b.Fatal(err)
			}
			benchAttention(b, g, c.heads, c.channels)
		})
	}
}

func benchAttention(b *testing.B, g *graph.CSR, heads, channels int) {
	f := newFixture(b, 2)
	ops := f.attentionOps(f.csr(g), f.csr(g.Transpose()), heads, channels)
	times := make([][]float64, len(ops))
	for b.Loop() {
		for i, op := range ops {
			start := time.Now()
			op.run(f.q)
			f.sync()
			times[i] = append(times[i], time.Since(start).Seconds())
		}
	}
	var spmm float64
	for i, op := range ops {
		slices.Sort(times[i])
		t := times[i][len(times[i])/2]
		bytes := float64(4*heads*channels) * float64(g.Edges())
		if op.dense > 0 {
			bytes = float64(4*heads*channels*g.Rows()) * float64(op.dense)
		} else {
			b.ReportMetric(float64(g.Edges())/t/1e6, op.name+"-Medges/s")
		}
		b.ReportMetric(bytes/t/1e9, op.name+"-GB/s")
		if i == 0 {
			spmm = t
		} else if op.dense == 0 {
			b.ReportMetric(t/spmm, op.name+"/SpMM")
		}
	}
	b.ReportMetric(0, "ns/op")
}
