//go:build cuda

package cuda

import (
	"encoding/binary"
	"fmt"
	"math/rand/v2"
	"os"
	"testing"

	"capgnn/gpu"
	"capgnn/graph/dataset"
	"capgnn/graph/dataset/formats"
)

// storeVariable names the graph of BenchmarkKernels: the folder of a store.
const storeVariable = "CAPGNN_GPU_STORE"

// benchShapes are columns of a row, and elements from one row to the next.
var benchShapes = [][2]int{{256, 256}, {128, 128}, {64, 64}, {32, 32}, {41, 41}, {41, 48}}

// BenchmarkKernels times what an epoch's time is made of, on the graph of a store: the sum over neighbours, the gather of rows in
// random order, and the copy inside the device that both are measured against. GB/s of SpMM are those of the gathered rows (entries ×
// columns × size of an element), of Gather and Copy those that are read and written. docs/bench/peers/torch_kernels.py times
// the same in PyTorch.
func BenchmarkKernels(b *testing.B) {
	path := os.Getenv(storeVariable)
	if path == "" {
		b.Skipf("%s names no store", storeVariable)
	}
	d, err := formats.Load(path, dataset.Options{})
	if err != nil {
		b.Fatal(err)
	}
	defer d.Close()
	g := newBenchGraph(b, d)
	for _, t := range []gpu.DType{gpu.FP32, gpu.BF16} {
		for _, s := range benchShapes {
			g.time(b, t, s[0], s[1])
		}
	}
}

// benchGraph is a graph on a GPU, with the rows that Gather takes.
type benchGraph struct {
	dev  *device
	q    gpu.Queue
	a    gpu.CSR
	rows gpu.Ints // every Entries/n-th neighbour
}

func newBenchGraph(b *testing.B, d *dataset.Dataset) *benchGraph {
	dev := open(b, Spec{})
	g := &benchGraph{dev: dev, q: dev.NewQueue("bench")}
	n, indices := len(d.Graph.Indptr)-1, d.Graph.Indices
	ptr := gpu.Array[int64]{Buf: g.upload(b, d.Graph.Indptr), Len: n + 1}
	rows := make([]int32, n)
	for k := range rows {
		rows[k] = indices[k*(len(indices)/n)]
	}
	g.a = gpu.CSR{Rows: n, Cols: n, Begin: ptr.Slice(0, n), End: ptr.Slice(1, n+1), Entries: int64(len(indices)),
		Indices: gpu.Ints{Buf: g.upload(b, indices), Len: len(indices)}}
	g.rows = gpu.Ints{Buf: g.upload(b, rows), Len: n}
	return g
}

// upload places the elements of a slice in a block of their own.
func (g *benchGraph) upload(b *testing.B, v any) gpu.Buffer {
	raw, err := binary.Append(nil, binary.LittleEndian, v)
	if err != nil {
		b.Fatal(err)
	}
	buf := alloc(b, g.dev, len(raw), "bench")
	g.q.Upload(buf, 0, raw)
	if err := g.q.Sync(); err != nil {
		b.Fatal(err)
	}
	return buf
}

// random is a matrix of a row per vertex with numbers in [1, 2).
func (g *benchGraph) random(b *testing.B, t gpu.DType, cols, ld int) gpu.Matrix {
	r := rand.NewPCG(1, 2)
	v := make([]uint32, (g.a.Rows*ld*t.Size()+3)/4)
	for i := range v {
		if v[i] = 0x3f800000 | uint32(r.Uint64())>>9; t == gpu.BF16 {
			v[i] = 0x3f803f80 | uint32(r.Uint64())&0x7f007f
		}
	}
	return gpu.Matrix{Buf: g.upload(b, v), Rows: g.a.Rows, Cols: cols, LD: ld, Type: t}
}

// time runs the three operations on rows of one shape.
func (g *benchGraph) time(b *testing.B, t gpu.DType, cols, ld int) {
	x, y := g.random(b, t, cols, ld), g.random(b, t, cols, ld)
	defer x.Buf.Free()
	defer y.Buf.Free()
	row := float64(cols * t.Size())
	for _, op := range []struct {
		name  string
		bytes float64
		run   func()
	}{
		{"Copy", 2 * float64(g.a.Rows) * row, func() { g.q.Copy(y, x) }},
		{"Gather", 2 * float64(g.a.Rows) * row, func() { g.q.Gather(y, x, g.rows) }},
		{"SpMM", float64(g.a.Entries) * row, func() { g.q.SpMM(y, g.a, x, 0) }},
	} {
		b.Run(fmt.Sprintf("%s/%v/%dof%d", op.name, t, cols, ld), func(b *testing.B) {
			op.run()
			if err := g.q.Sync(); err != nil {
				b.Fatal(err)
			}
			b.ResetTimer()
			for range b.N {
				op.run()
			}
			if err := g.q.Sync(); err != nil {
				b.Fatal(err)
			}
			b.ReportMetric(op.bytes*float64(b.N)/b.Elapsed().Seconds()/1e9, "GB/s")
		})
	}
}
