package host

import (
	"math/rand/v2"
	"testing"

	"capgnn/gpu"
)

// fixture is a device with matrices of random numbers and a random graph, for benchmarks.
type fixture struct {
	tb  testing.TB
	dev *Device
	q   *Queue
	rng *rand.Rand

	twins map[gpu.Buffer]gpu.Matrix // outputs that must not be the inputs
}

func newFixture(tb testing.TB, threads int) *fixture {
	dev, err := Open(Spec{Threads: threads, Memory: 4 << 30})
	if err != nil {
		tb.Fatal(err)
	}
	tb.Cleanup(func() { dev.Close() })
	return &fixture{tb, dev, dev.NewQueue("bench").(*Queue), rand.New(rand.NewPCG(5, 6)), map[gpu.Buffer]gpu.Matrix{}}
}

func (f *fixture) block(n int) *block {
	buf, err := f.dev.Alloc(gpu.Bytes(n), "bench")
	if err != nil {
		f.tb.Fatal(err)
	}
	return buf.(*block)
}

func (f *fixture) matrix(rows, cols int) gpu.Matrix {
	b := f.block(4 * rows * cols)
	for i := range cast[float32](b.mem) {
		cast[float32](b.mem)[i] = f.rng.Float32() - 0.5
	}
	return gpu.Matrix{Buf: b, Rows: rows, Cols: cols, LD: cols}
}

func (f *fixture) vec(n int) gpu.Vec { return gpu.Vec{Buf: f.matrix(1, n).Buf, Len: n} }

func (f *fixture) ints(n, limit int) gpu.Ints {
	b := f.block(4 * n)
	for i := range cast[int32](b.mem) {
		cast[int32](b.mem)[i] = int32(f.rng.IntN(limit))
	}
	return gpu.Ints{Buf: b, Len: n}
}

// graph is square, with degree entries in every row.
func (f *fixture) graph(rows, degree int) gpu.CSR {
	b := f.block(8 * (rows + 1))
	for i := range cast[int64](b.mem) {
		cast[int64](b.mem)[i] = int64(i * degree)
	}
	return gpu.CSR{
		Rows: rows, Cols: rows, Begin: gpu.Array[int64]{Buf: b, Len: rows}, End: gpu.Array[int64]{Buf: b, Off: 1, Len: rows},
		Indices: f.ints(rows*degree, rows), Entries: int64(rows * degree),
	}
}

func (f *fixture) sync() {
	if err := f.q.Sync(); err != nil {
		f.tb.Fatal(err)
	}
}

// operations are one of each kind, on n rows of 256 columns, a graph of 16 n edges, 4 heads, 41 classes. A benchmark's
// bytes are those of the dense matrices that the operation must read and write once; gathered rows count once per edge.
func (f *fixture) operations(n int) []operation {
	const cols, heads, classes, degree = 256, 4, 41, 16
	x, y, z := f.matrix(n, cols), f.matrix(n, cols), f.matrix(n, cols)
	s, d, lse, g := f.matrix(n, heads), f.matrix(n, heads), f.matrix(n, heads), f.matrix(n, heads)
	a, vec, ids := f.graph(n, degree), f.vec(cols), f.ints(n, n)
	logits, labels := f.matrix(n, classes), f.ints(n, classes)
	loss := gpu.Array[float64]{Buf: f.block(8), Len: 1}
	w := f.matrix(cols, cols)
	drop := gpu.Dropout{P: 0.5, Seed: 1, IDs: ids}
	then := &gpu.Epilogue{
		Z: z, H: y, Norm: true, Gamma: vec, Beta: vec, Eps: 1e-5, Rstd: gpu.Vec{Buf: lse.Buf, Len: n}, Act: gpu.ReLU, Dropout: drop,
	}
	grads := f.vec(cols)
	dense, edges := 4*n*cols, 4*n*cols*degree
	return []operation{
		{"Linear", 2 * dense, func(q *Queue) { q.Linear(gpu.LinearArgs{Z: z, X: x, W: w, Bias: vec, Then: then}) }},
		{"Aggregate", edges, func(q *Queue) { q.Aggregate(gpu.AggregateArgs{Y: y, A: a, X: x}) }},
		{"Axpby", 3 * dense, func(q *Queue) { q.Axpby(y, 0.5, x, 0.5) }},
		{"ColSum", dense, func(q *Queue) { q.ColSum(grads, x, 0) }},
		{"Gather", 2 * dense, func(q *Queue) { q.Gather(y, x, ids) }},
		{"Transpose", 2 * dense, func(q *Queue) {
			q.Transpose(gpu.Matrix{Buf: y.Buf, Rows: cols, Cols: n, LD: n}, x)
		}},
		{"Epilogue", 3 * dense, func(q *Queue) { q.Epilogue(*then) }},
		{"EpilogueBackward", 3 * dense, func(q *Queue) {
			q.EpilogueBackward(gpu.EpilogueGrad{
				DH: y, X: x, DZ: z, Norm: true, Gamma: vec, Beta: vec, Rstd: then.Rstd, Act: gpu.ReLU, Dropout: drop,
				DGamma: grads, DBeta: grads, DBias: grads,
			})
		}},
		{"GATScores", dense, func(q *Queue) { q.GATScores(s, d, x, vec, vec) }},
		{"GATAggregate", edges, func(q *Queue) {
			q.GATAggregate(gpu.GATArgs{O: y, LSE: lse, Inner: a, T: x, S: s, D: d, Bias: vec, Slope: 0.2, Hi: n})
		}},
		{"GATBackwardDst", edges, func(q *Queue) {
			q.GATBackwardDst(gpu.GATGradDst{
				DD: f.twin(s), G: g, DO: y, O: y, LSE: lse, Inner: a, T: x, S: s, D: d, Slope: 0.2,
			})
		}},
		{"GATBackwardSrc", edges, func(q *Queue) {
			q.GATBackwardSrc(gpu.GATGradSrc{
				DT: z, DS: f.twin(s), T: x, S: s, Inner: a, DO: y, D: d, LSE: lse, G: g, Slope: 0.2,
			})
		}},
		{"SoftmaxLoss", 8 * n * classes, func(q *Queue) {
			q.SoftmaxLoss(gpu.LossArgs{Logits: logits, Grad: f.twin(logits), Labels: labels, Scale: 1, Loss: loss})
		}},
	}
}

type operation struct {
	name  string
	bytes int
	run   func(q *Queue)
}

// twin returns another matrix of m's shape, always the same one.
func (f *fixture) twin(m gpu.Matrix) gpu.Matrix {
	t, ok := f.twins[m.Buf]
	if !ok {
		t = f.matrix(m.Rows, m.Cols)
		f.twins[m.Buf] = t
	}
	return t
}

func BenchmarkOps(b *testing.B) {
	f := newFixture(b, 1)
	for _, op := range f.operations(20000) {
		b.Run(op.name, func(b *testing.B) {
			op.run(f.q)
			f.sync()
			b.SetBytes(int64(op.bytes))
			b.ReportAllocs()
			for b.Loop() {
				op.run(f.q)
				f.sync()
			}
		})
	}
}

// BenchmarkEnqueue is the cost of an operation that does next to nothing, on one thread and shared by two.
func BenchmarkEnqueue(b *testing.B) {
	for _, rows := range []int{1, 130} {
		b.Run(map[int]string{1: "one_thread", 130: "two_threads"}[rows], func(b *testing.B) {
			f := newFixture(b, 2)
			m := f.matrix(rows, 256)
			b.ReportAllocs()
			for b.Loop() {
				f.q.Fill(m, 1)
			}
			f.sync()
		})
	}
}
