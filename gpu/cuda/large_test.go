//go:build cuda

package cuda

import (
	"encoding/binary"
	"math"
	"testing"

	"capgnn/gpu"
	"capgnn/gpu/cuda/fakedriver/fake"
	"capgnn/hostmem"
)

// largeCols are the columns of the matrices of TestLargeArrays.
const largeCols = 512

// large is a matrix whose row i holds level(i) everywhere, and what the tests compare with.
type large struct {
	*testing.T
	dev  *device
	q    gpu.Queue
	rows int
	x, y gpu.Matrix
	some gpu.Ints // rows to look at: the first, one in the middle, the last before and after element 2³¹, the last
	list []int32  // the same
}

// level is a number that bf16 holds exactly.
func level(i int) float64 { return float64(i%251 + 1) }

// TestLargeArrays holds kernels to matrices of more than 2³¹ elements, and to entries from 2³¹ on. The fake driver runs
// the same on few.
func TestLargeArrays(t *testing.T) {
	configure(t, "n=1;mem=64")
	rows, before := 67, 0
	if fake.Real() {
		rows, before = 1<<31/largeCols+37, 1<<31
	}
	dev := open(t, Spec{})
	need := gpu.Bytes(rows)*largeCols*(4+4+2) + gpu.Bytes(before)*4 + 1<<22
	if budget := dev.Info().Budget; budget < need {
		t.Skipf("a GPU with %d MiB is too small for arrays beyond 2³¹ elements: they take %d MiB", budget>>20, need>>20)
	}
	l := &large{T: t, dev: dev, q: dev.NewQueue("large"), rows: rows}
	edge := min(rows-1, 1<<31/largeCols)
	l.list = []int32{0, int32(rows / 2), int32(edge - 1), int32(edge), int32(rows - 1)}
	l.some = gpu.Ints{Buf: l.upload(hostmem.Bytes(l.list)), Len: len(l.list)}
	l.x, l.y = l.matrix(rows, gpu.FP32), l.matrix(rows, gpu.FP32)
	l.elementwise()
	l.sums()
	l.products()
	l.halves()
	l.entries(before)
}

// matrix is a matrix of rows that nobody has written.
func (l *large) matrix(rows int, t gpu.DType) gpu.Matrix {
	return gpu.Matrix{Buf: alloc(l, l.dev, rows*largeCols*t.Size(), "large"), Rows: rows, Cols: largeCols, LD: largeCols, Type: t}
}

func (l *large) upload(raw []byte) gpu.Buffer {
	buf := alloc(l, l.dev, len(raw), "large")
	l.q.Upload(buf, 0, raw)
	l.sync()
	return buf
}

func (l *large) sync() {
	l.Helper()
	if err := l.q.Sync(); err != nil {
		l.Fatal(err)
	}
}

// vec is a vector of the levels of all rows.
func (l *large) vec() gpu.Vec {
	v := make([]float32, l.rows)
	for i := range v {
		v[i] = float32(level(i))
	}
	return gpu.Vec{Buf: l.upload(hostmem.Bytes(v)), Len: l.rows}
}

// see demands of some rows of m, row i, that all elements are want(i), but for a share of slack.
func (l *large) see(what string, m gpu.Matrix, slack float64, want func(i int) float64) {
	l.Helper()
	got := gpu.Matrix{Buf: alloc(l, l.dev, len(l.list)*m.Cols*4, "seen"), Rows: len(l.list), Cols: m.Cols, LD: m.Cols}
	defer got.Buf.Free()
	l.q.Gather(got, m, l.some)
	raw := make([]byte, got.Buf.Size())
	l.q.Download(raw, got.Buf, 0)
	l.sync()
	for k, row := range l.list {
		for j := range m.Cols {
			v := float64(math.Float32frombits(binary.LittleEndian.Uint32(raw[4*(k*m.Cols+j):])))
			if w := want(int(row)); math.IsNaN(v) || math.Abs(v-w) > slack*math.Abs(w) {
				l.Fatalf("%s: element (%d, %d) of %d rows is %v, want %v", what, row, j, m.Rows, v, w)
			}
		}
	}
}

func (l *large) elementwise() {
	l.q.Fill(l.x, 1)
	l.see("Fill", l.x, 0, func(int) float64 { return 1 })
	l.q.ScaleRows(l.x, l.x, l.vec())
	l.see("ScaleRows", l.x, 0, level)
	last := make([]byte, 4*largeCols)
	l.q.Download(last, l.x.Buf, l.x.Buf.Size()-gpu.Bytes(len(last)))
	l.sync()
	if v := math.Float32frombits(binary.LittleEndian.Uint32(last)); float64(v) != level(l.rows-1) {
		l.Errorf("Download: the last row is %v, want %v", v, level(l.rows-1))
	}
	l.q.Copy(l.y, l.x)
	l.see("Copy", l.y, 0, level)
	l.q.Axpby(l.y, 2, l.x, 1)
	l.see("Axpby", l.y, 0, func(i int) float64 { return 3 * level(i) })
	l.q.Epilogue(gpu.Epilogue{Z: l.y, H: l.y, Act: gpu.ReLU})
	l.see("Epilogue", l.y, 0, func(i int) float64 { return 3 * level(i) })
	all := func(m gpu.Matrix) gpu.Vec { return gpu.Vec{Buf: m.Buf, Len: m.Rows * m.Cols} }
	l.q.SGD(all(l.y), all(l.x), 2, 0)
	l.see("SGD", l.y, 0, level)
}

// sums are of 2²² rows; blocks of them are added up in fp32.
func (l *large) sums() {
	total := 0.0
	for i := range l.rows {
		total += level(i)
	}
	sum := gpu.Vec{Buf: alloc(l, l.dev, 4*largeCols, "sums"), Len: largeCols}
	l.q.ColSum(sum, l.x, 0)
	some := *l
	some.list = []int32{0}
	some.some = l.some.Slice(0, 1) // row 0
	some.see("ColSum", gpu.Matrix{Buf: sum.Buf, Rows: 1, Cols: largeCols, LD: largeCols}, 1e-4, func(int) float64 { return total })
	n := l.rows
	reversed := make([]int32, n)
	ptr := make([]int64, n+1)
	for i := range n {
		reversed[i], ptr[i+1] = int32(n-1-i), int64(i+1)
	}
	begin := gpu.Array[int64]{Buf: l.upload(hostmem.Bytes(ptr)), Len: n + 1}
	a := gpu.CSR{Rows: n, Cols: n, Begin: begin.Slice(0, n), End: begin.Slice(1, n+1), Entries: int64(n),
		Indices: gpu.Ints{Buf: l.upload(hostmem.Bytes(reversed)), Len: n}}
	l.q.Aggregate(gpu.AggregateArgs{Y: l.y, A: a, X: l.x})
	l.see("Aggregate", l.y, 0, func(i int) float64 { return level(n - 1 - i) })
}

func (l *large) products() {
	const cols = 8
	w := gpu.Matrix{Buf: alloc(l, l.dev, 4*cols*largeCols, "weights"), Rows: cols, Cols: largeCols, LD: largeCols}
	c := gpu.Matrix{Buf: alloc(l, l.dev, 4*cols*l.rows, "product"), Rows: l.rows, Cols: cols, LD: cols}
	l.q.Fill(w, 1.0/largeCols)
	l.q.Gemm(gpu.GemmArgs{C: c, A: l.x, B: w, TransB: true})
	l.see("Gemm", c, 0, level)
	// The other way: the matrix is the result.
	l.q.Gemm(gpu.GemmArgs{C: l.y, A: c, B: w})
	l.see("Gemm into it", l.y, 1e-6, func(i int) float64 { return level(i) * cols / largeCols })
	packed := gpu.Matrix{Buf: alloc(l, l.dev, 4*gpu.PackedWords(largeCols, 8)*l.rows, "packed"), Rows: l.rows, Cols: gpu.PackedWords(largeCols, 8), LD: gpu.PackedWords(largeCols, 8)}
	ids := make([]int32, l.rows)
	l.q.PackRows(gpu.PackArgs{Bits: 8, Dst: packed, Src: l.x, IDs: gpu.Ints{Buf: l.upload(hostmem.Bytes(ids)), Len: l.rows}, Stream: 1 << 31})
	l.q.UnpackRows(l.y, packed, 8)
	l.see("PackRows and UnpackRows", l.y, 1e-6, level)
	for _, m := range []gpu.Matrix{w, c, packed} {
		l.q.Sync() // a fault is seen by what comes next
		m.Buf.Free()
	}
}

func (l *large) halves() {
	h := l.matrix(l.rows, gpu.BF16)
	l.q.Copy(h, l.x)
	l.see("Copy to bf16", h, 0, level)
	l.q.Copy(l.y, h)
	l.see("Copy from bf16", l.y, 0, level)
	l.sync()
	h.Buf.Free()
}

// entries sums up rows whose entries lie behind so many others.
func (l *large) entries(before int) {
	const n, degree = 5, 3
	ptr := make([]int64, n+1)
	var last []int32
	for i := range n {
		ptr[i], ptr[i+1] = int64(before+i*degree), int64(before+(i+1)*degree)
		for e := range degree {
			last = append(last, int32(i*e))
		}
	}
	list := gpu.Ints{Buf: alloc(l, l.dev, 4*(before+len(last)), "entries"), Len: before + len(last)}
	l.q.Upload(list.Buf, gpu.Bytes(4*before), hostmem.Bytes(last))
	begin := gpu.Array[int64]{Buf: l.upload(hostmem.Bytes(ptr)), Len: n + 1}
	a := gpu.CSR{Rows: n, Cols: l.rows, Begin: begin.Slice(0, n), End: begin.Slice(1, n+1), Indices: list, Entries: int64(len(last))}
	y := l.y.RowRange(0, n)
	l.q.Aggregate(gpu.AggregateArgs{Y: y, A: a, X: l.x})
	some := *l
	some.list = []int32{0, 1, 2, 3, 4}
	some.some = gpu.Ints{Buf: l.upload(hostmem.Bytes(some.list)), Len: n}
	some.see("Aggregate", y, 0, func(i int) float64 { return level(0) + level(i) + level(2*i) })
}
