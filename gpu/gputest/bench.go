package gputest

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"math"
	"math/rand/v2"
	"testing"

	"capgnn/gpu"
	"capgnn/internal/ref"
)

// bench is a device under test, one queue of it, and what was put into its memory.
type bench struct {
	*testing.T
	dev  gpu.Device
	q    gpu.Queue
	rng  *rand.Rand
	bufs []*upload
}

// upload is a block and its content when it was made.
type upload struct {
	buf   gpu.Buffer
	start []byte
	read  bool // the case expects changes and has looked at them
}

// layout places a matrix in a block: elements before the first, and elements between rows.
type layout struct{ off, pad int }

// layouts are the two that every case alternates between: tight, and a view inside a larger block at an odd place.
var layouts = []layout{{0, 0}, {5, 3}}

func (l layout) String() string { return fmt.Sprintf("off%d_pad%d", l.off, l.pad) }

// tail is how many elements follow a view in its block, as a guard.
const tail = 7

func newBench(t *testing.T, dev gpu.Device) *bench {
	b := &bench{T: t, dev: dev, q: dev.NewQueue("conformance"), rng: rand.New(rand.NewPCG(1, 2))}
	t.Cleanup(func() {
		if err := dev.Close(); err != nil {
			t.Errorf("close: %v", err)
		}
	})
	return b
}

// scene runs f as a named case, then demands that nothing but what f has read back changed, and frees everything.
func (b *bench) scene(name string, f func(b *bench)) {
	b.T.Helper()
	b.T.Run(name, func(t *testing.T) {
		c := *b
		c.T, c.bufs = t, nil
		f(&c)
		c.finish()
	})
}

func (b *bench) finish() {
	b.Helper()
	for _, u := range b.bufs {
		if !u.read {
			if now := b.fetch(u.buf); !bytes.Equal(now, u.start) {
				b.Errorf("a source changed, from byte %d on", firstDifference(now, u.start))
			}
		}
		u.buf.Free()
	}
}

// sync fails the test if the queue has faulted.
func (b *bench) sync() {
	b.Helper()
	if err := b.q.Sync(); err != nil {
		b.Fatalf("sync: %v", err)
	}
}

// normal returns values of a normal distribution, each a float32.
func (b *bench) normal(rows, cols int) ref.Matrix {
	return ref.Map(rows, cols, func(i, j int) float64 { return float64(float32(b.rng.NormFloat64())) })
}

// grid returns multiples of 1/64 in [-2, 2]. Sums and products of a few are exact in float32, so that comparisons with 0
// come out as in float64.
func (b *bench) grid(rows, cols int) ref.Matrix {
	return ref.Map(rows, cols, func(i, j int) float64 { return float64(b.rng.IntN(257)-128) / 64 })
}

// ints returns n numbers below limit.
func (b *bench) ints(n, limit int) []int32 {
	s := make([]int32, n)
	for i := range s {
		s[i] = int32(b.rng.IntN(limit))
	}
	return s
}

// alloc puts content into a new block.
func (b *bench) alloc(content []byte) gpu.Buffer {
	b.Helper()
	buf, err := b.dev.Alloc(gpu.Bytes(len(content)), "case")
	if err != nil {
		b.Fatal(err)
	}
	b.q.Upload(buf, 0, content)
	b.bufs = append(b.bufs, &upload{buf: buf, start: content})
	return buf
}

// fetch returns the content of a block.
func (b *bench) fetch(buf gpu.Buffer) []byte {
	b.Helper()
	out := make([]byte, buf.Size())
	b.q.Download(out, buf, 0)
	b.sync()
	return out
}

// put places m on the device as float32; guards are NaN.
func (b *bench) put(m ref.Matrix, l layout) gpu.Matrix {
	b.Helper()
	ld := m.Cols + l.pad
	v := make([]float32, l.off+m.Rows*ld+tail)
	for i := range v {
		v[i] = float32(math.NaN())
	}
	for i := range m.Rows {
		for j, x := range m.Row(i) {
			v[l.off+i*ld+j] = float32(x)
		}
	}
	return gpu.Matrix{Buf: b.alloc(encode(v)), Off: l.off, Rows: m.Rows, Cols: m.Cols, LD: ld}
}

// put16 places m on the device as bf16, which its values are.
func (b *bench) put16(m ref.Matrix, l layout) gpu.Matrix {
	b.Helper()
	ld := m.Cols + l.pad
	var raw []byte
	for range l.off + m.Rows*ld + tail {
		raw = binary.LittleEndian.AppendUint16(raw, 0x7FC0)
	}
	for i := range m.Rows {
		for j, x := range m.Row(i) {
			binary.LittleEndian.PutUint16(raw[2*(l.off+i*ld+j):], uint16(math.Float32bits(float32(x))>>16))
		}
	}
	return gpu.Matrix{Buf: b.alloc(raw), Off: l.off, Rows: m.Rows, Cols: m.Cols, LD: ld, Type: gpu.BF16}
}

// blank returns a matrix of NaN.
func (b *bench) blank(rows, cols int, l layout) gpu.Matrix {
	b.Helper()
	return b.put(ref.Map(rows, cols, func(i, j int) float64 { return math.NaN() }), l)
}

// vec places a vector; nil gives the empty one.
func (b *bench) vec(v []float64) gpu.Vec {
	b.Helper()
	if v == nil {
		return gpu.Vec{}
	}
	f := make([]float32, len(v))
	for i, x := range v {
		f[i] = float32(x)
	}
	return array(b, f)
}

// array places elements at an odd offset, with guards.
func array[T gpu.Element](b *bench, v []T) gpu.Array[T] {
	b.Helper()
	if v == nil {
		return gpu.Array[T]{}
	}
	const off = 3
	guarded := append(append(make([]T, off), v...), make([]T, tail)...)
	return gpu.Array[T]{Buf: b.alloc(encode(guarded)), Off: off, Len: len(v)}
}

// csr places a sparse matrix.
func (b *bench) csr(a ref.CSR) gpu.CSR {
	b.Helper()
	return gpu.CSR{
		Rows: a.Rows, Cols: a.Cols, Begin: array(b, a.Begin), End: array(b, a.End),
		Indices: array(b, a.Indices), Val: b.vec(a.Val), RowList: array(b, a.List), Entries: a.Entries(),
	}
}

// get returns the elements of m, and fails if anything around them has changed.
func (b *bench) get(m gpu.Matrix) ref.Matrix {
	b.Helper()
	size := m.Type.Size()
	raw := b.changed(m.Buf, func(e int) bool {
		e -= m.Off
		return e >= 0 && e < m.Rows*m.LD && e%m.LD < m.Cols
	}, size)
	return ref.Map(m.Rows, m.Cols, func(i, j int) float64 {
		at := raw[size*(m.Off+i*m.LD+j):]
		if m.Type == gpu.BF16 {
			return float64(math.Float32frombits(uint32(binary.LittleEndian.Uint16(at)) << 16))
		}
		return float64(math.Float32frombits(binary.LittleEndian.Uint32(at)))
	})
}

// getVec returns the elements of v, and fails if anything around them has changed.
func (b *bench) getVec(v gpu.Vec) []float64 {
	b.Helper()
	return b.get(gpu.Matrix{Buf: v.Buf, Off: v.Off, Rows: 1, Cols: v.Len, LD: v.Len}).V
}

// getFloat64 returns the only element of v.
func (b *bench) getFloat64(v gpu.Array[float64]) float64 {
	b.Helper()
	raw := b.changed(v.Buf, func(e int) bool { return e == v.Off }, 8)
	return math.Float64frombits(binary.LittleEndian.Uint64(raw[8*v.Off:]))
}

// changed fetches a block of elements of size bytes in which only those may have changed that inside tells.
func (b *bench) changed(buf gpu.Buffer, inside func(element int) bool, size int) []byte {
	b.Helper()
	now := b.fetch(buf)
	for _, u := range b.bufs {
		if u.buf != buf {
			continue
		}
		u.read = true
		for i := range now {
			if now[i] != u.start[i] && !inside(i/size) {
				b.Errorf("element %d, outside of the destination, was written", i/size)
				break
			}
		}
	}
	return now
}

// encode returns the little-endian bytes of a slice of numbers.
func encode(v any) []byte {
	raw, err := binary.Append(nil, binary.LittleEndian, v)
	if err != nil {
		panic(err) // only for types of no fixed size, which nobody passes
	}
	return raw
}

func firstDifference(a, b []byte) int {
	for i := range min(len(a), len(b)) {
		if a[i] != b[i] {
			return i
		}
	}
	return min(len(a), len(b))
}
