//go:build cuda

package cuda

import (
	"encoding/binary"
	"fmt"
	"math/rand/v2"
	"os"
	"testing"

	"gorgonia.org/cu"

	"capgnn/gpu"
	"capgnn/graph/dataset"
	"capgnn/graph/dataset/formats"
)

// storeVariable names the graph of BenchmarkKernels: the folder of a store.
const storeVariable = "CAPGNN_GPU_STORE"

// BenchmarkKernels times what an epoch is made of, on the graph of a store: Sparse are sums over neighbours and attention, Rows
// what goes through rows once, Dense products of matrices. Rates are GB/s of what must be read and written (of sums over
// neighbours the gathered rows, the indices and the result), and GFLOP/s of products. docs/bench/peers/torch_kernels.py
// times the same in PyTorch.
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
	memory, arithmetic := g.dev.peak(b)
	fmt.Printf("# peak %.0f GB/s %.0f GFLOP/s\n", memory, arithmetic)
	b.Run("Sparse", g.sparse)
	b.Run("Rows", g.rowwise)
	b.Run("Dense", g.products)
}

// peak is what clocks and units allow: GB/s of memory, and GFLOP/s of fp32 outside of tensor units; 0 where the driver does not say.
func (d *device) peak(b *testing.B) (memory, arithmetic float64) {
	card, err := describe(d.primary.ordinal)
	if err != nil {
		b.Fatal(err)
	}
	attribute := func(a cu.DeviceAttribute) float64 {
		v, err := d.primary.ordinal.Attribute(a)
		if err != nil {
			b.Fatal(err)
		}
		return float64(v)
	}
	lanes := 128.0
	if card.Major == 7 || card.Major <= 8 && card.Minor == 0 {
		lanes = 64 // sm_60, sm_7x and sm_80
	}
	// Clocks are in kHz. Memory moves data twice in a cycle, a lane multiplies and adds.
	memory = 2 * attribute(cu.MemoryClockRate) * attribute(cu.GlobalMemoryBusWidth) / 8 / 1e6
	return memory, 2 * lanes * float64(card.SMs) * attribute(cu.ClockRate) / 1e6
}

// benchGraph is a graph on a GPU, with what its data set has of features and classes.
type benchGraph struct {
	dev               *device
	q                 gpu.Queue
	a                 gpu.CSR
	rows              gpu.Ints // every Entries/n-th neighbour
	list              []int32  // the same
	features, classes int
	lent              []gpu.Buffer // what free gives back
}

func newBenchGraph(b *testing.B, d *dataset.Dataset) *benchGraph {
	dev := open(b, Spec{})
	g := &benchGraph{dev: dev, q: dev.NewQueue("bench"), features: max(1, d.Features.Cols), classes: max(1, d.Classes)}
	n, indices := len(d.Graph.Indptr)-1, d.Graph.Indices
	ptr := gpu.Array[int64]{Buf: g.upload(b, d.Graph.Indptr), Len: n + 1}
	g.list = make([]int32, n)
	for k := range g.list {
		g.list[k] = indices[k*(len(indices)/n)]
	}
	g.a = gpu.CSR{Rows: n, Cols: n, Begin: ptr.Slice(0, n), End: ptr.Slice(1, n+1), Entries: int64(len(indices)),
		Indices: gpu.Ints{Buf: g.upload(b, indices), Len: len(indices)}}
	g.rows = gpu.Ints{Buf: g.upload(b, g.list), Len: n}
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
	g.sync(b)
	return buf
}

func (g *benchGraph) sync(b *testing.B) {
	b.Helper()
	if err := g.q.Sync(); err != nil {
		b.Fatal(err)
	}
}

// benchNumbers is what random matrices hold, again and again: numbers in [1, 2), of one type as of the other.
var benchNumbers = func() []byte {
	r := rand.NewPCG(1, 2)
	v := make([]byte, 0, 16<<20)
	for len(v) < cap(v) {
		v = binary.LittleEndian.AppendUint32(v, 0x3f803f80|uint32(r.Uint64())&0x7f007f)
	}
	return v
}()

// random is a matrix of numbers in [1, 2), until free.
func (g *benchGraph) random(b *testing.B, t gpu.DType, rows, cols, ld int) gpu.Matrix {
	size := rows * ld * t.Size()
	buf := alloc(b, g.dev, size, "bench")
	g.lent = append(g.lent, buf)
	for from := 0; from < size; from += len(benchNumbers) {
		g.q.Upload(buf, gpu.Bytes(from), benchNumbers[:min(len(benchNumbers), size-from)])
	}
	g.sync(b)
	return gpu.Matrix{Buf: buf, Rows: rows, Cols: cols, LD: ld, Type: t}
}

// vec is a vector of numbers in [1, 2).
func (g *benchGraph) vec(b *testing.B, n int) gpu.Vec {
	return gpu.Vec{Buf: g.random(b, gpu.FP32, 1, n, n).Buf, Len: n}
}

func (g *benchGraph) free() {
	for _, buf := range g.lent {
		buf.Free()
	}
	g.lent = nil
}

// measured is an operation and what a run of it moves or computes.
type measured struct {
	name string
	unit string // GB/s or GFLOP/s
	work float64
	run  func()
}

// time runs an operation b.N times, after once that does not count.
func (g *benchGraph) time(b *testing.B, m measured) {
	b.Run(m.name, func(b *testing.B) {
		m.run()
		g.sync(b)
		b.ResetTimer()
		for range b.N {
			m.run()
		}
		g.sync(b)
		b.ReportMetric(m.work*float64(b.N)/b.Elapsed().Seconds()/1e9, m.unit)
	})
}

// shaped is the name of an operation on rows of a shape.
func shaped(op string, t gpu.DType, cols, ld int) string {
	return fmt.Sprintf("%s/%v/%dof%d", op, t, cols, ld)
}
