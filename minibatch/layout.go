package minibatch

import (
	"capgnn/gpu"
	"capgnn/hostmem"
)

// layout says where the arrays of a step lie: in the slot that samplers fill, and equally in the device's input. Dense rows come last: they may be uploaded from where
// they lie, or be gathered by the device.
type layout struct {
	ids     span[int32]   // of the columns of the widest block
	targets []span[uint8] // of the roots: those of the task
	weights span[float32] // of the losses of roots; empty: 1
	cols    span[float32]
	rows    span[int32]  // with resident rows: which ones the ids are; empty: as many as ids says
	layers  []layerSpans // by layer
	x       sparseSpans
	blocks  gpu.Bytes // bytes before the dense rows
	tables  [2]span[float32]
	size    gpu.Bytes
	missing [2]span[float32] // in the slot alone, in place of tables: of the rows that are not resident
	staged  gpu.Bytes        // bytes of the slot
}

// layerSpans is a layer's block.
type layerSpans struct {
	rows, src int
	forward   csrSpans
	backward  csrSpans // transposed; empty where the layer spreads no gradient
	scale     span[float32]
}

// csrSpans is a matrix; empty: there is none.
type csrSpans struct {
	rows, cols int
	begin      span[int64] // rows+1, and one more
	indices    span[int32]
	values     span[float32]
}

// sparseSpans is sparse features: of all ids, transposed, and where the entries of the first layer's own rows end in the latter. Where features are dropped,
// also the numbers of both's entries (gnn.EntryNumber).
type sparseSpans struct {
	rows, back        csrSpans
	ends              span[int64]
	numbers, numbersT span[int32]
}

// span is n elements from byte at on. n is 0 where the array is not there.
type span[T gpu.Element] struct {
	at gpu.Bytes
	n  int
}

// align is where arrays begin: at a cache line, as kernels like it.
const align = 64

// bytesOf returns the size of an element.
func bytesOf[T gpu.Element]() gpu.Bytes {
	switch any(*new(T)).(type) {
	case uint8:
		return 1
	case int32, float32:
		return 4
	}
	return 8
}

// add gives an array of n elements its place.
func add[T gpu.Element](l *layout, s *span[T], n int) {
	l.size = (l.size + align - 1) &^ (align - 1)
	*s = span[T]{l.size, n}
	l.size += gpu.Bytes(n) * bytesOf[T]()
}

// csr gives a matrix its place, with so many values for each entry.
func (l *layout) csr(c *csrSpans, rows, cols, entries, values int) {
	c.rows, c.cols = rows, cols
	add(l, &c.begin, rows+2)
	add(l, &c.indices, entries)
	if values > 0 {
		add(l, &c.values, entries*values)
	}
}

// on returns an array as it lies in host memory.
func (s span[T]) on(mem []byte) []T {
	end := s.at + gpu.Bytes(s.n)*bytesOf[T]()
	return of[T](mem[s.at:end:end])
}

// in returns an array as it lies in a device's buffer.
func (s span[T]) in(b gpu.Buffer) gpu.Array[T] {
	if s.n == 0 {
		return gpu.Array[T]{}
	}
	return gpu.Array[T]{Buf: b, Off: int(s.at / bytesOf[T]()), Len: s.n}
}

// in returns a matrix as it lies in a device's buffer.
func (c *csrSpans) in(b gpu.Buffer) gpu.CSR {
	begin := c.begin.in(b)
	if begin.Empty() {
		return gpu.CSR{Rows: c.rows, Cols: c.cols}
	}
	return gpu.CSR{Rows: c.rows, Cols: c.cols, Begin: begin.Slice(0, c.rows), End: begin.Slice(1, c.rows+1),
		Indices: c.indices.in(b), Val: c.values.in(b), Entries: int64(c.indices.n)}
}

// rows returns an array as a matrix of so many columns.
func rowsIn(s span[float32], b gpu.Buffer, cols int) gpu.Matrix {
	return gpu.Matrix{Buf: b, Off: int(s.at / 4), Rows: s.n / cols, Cols: cols, LD: cols}
}

// of is hostmem.Of.
func of[T gpu.Element](b []byte) []T { return hostmem.Of[T](b) }
