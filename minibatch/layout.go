package minibatch

import (
	"capgnn/gnn"
	"capgnn/gpu"
	"capgnn/hostmem"
)

// layout says where the arrays of a step lie in one piece of memory: in the slot that samplers fill, and equally in
// the device's input. Dense rows come last: they may be uploaded from where they lie, or be gathered by the device.
type layout struct {
	buf     gpu.Buffer            // the input; nil: it is not known yet
	targets []gpu.Array[uint8]    // of the roots: those of the task
	weight  gpu.Vec               // of the losses of roots; empty: 1
	cols    gpu.Vec               // scales of the ids
	rows    gpu.Ints              // with resident rows: which ones the ids are; empty: as many as ids says
	layers  []gnn.LayerGraph      // with the blocks
	in      gnn.Input             // IDs are the columns of the widest block
	ends    gpu.Array[int64]      // of sparse features: where those of the first layer's own rows end in the transpose
	tables  [2]gpu.Vec            // dense rows
	missing [2]gpu.Array[float32] // in the slot alone, in place of tables: of the rows that are not resident
	blocks  gpu.Bytes             // bytes before the dense rows
	size    gpu.Bytes
	staged  gpu.Bytes // bytes of the slot
}

// align is where arrays begin: at a cache line, as kernels like it.
const align = 64

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
func add[T gpu.Element](l *layout, n int) (a gpu.Array[T]) {
	l.size = (l.size + align - 1) &^ (align - 1)
	if n > 0 {
		a = gpu.Array[T]{Buf: l.buf, Off: int(l.size / bytesOf[T]()), Len: n}
		l.size += gpu.Bytes(n) * bytesOf[T]()
	}
	return a
}

// csr gives a matrix its place, with so many values for each entry, and with room for one row more.
func (l *layout) csr(rows, cols, entries, values int) gpu.CSR {
	return gpu.CSRAt(add[int64](l, rows+2), add[int32](l, entries), add[float32](l, entries*values), rows, cols)
}

// on returns an array as it lies in host memory.
func on[T gpu.Element](mem []byte, a gpu.Array[T]) []T {
	each := bytesOf[T]()
	at, end := gpu.Bytes(a.Off)*each, gpu.Bytes(a.Off+a.Len)*each
	return of[T](mem[at:end:end])
}

// ptr returns where the rows of a matrix begin, as it lies in host memory, with the room behind them.
func ptr(mem []byte, c gpu.CSR) []int64 {
	return on(mem, gpu.Array[int64]{Off: c.Begin.Off, Len: c.Rows + 2})
}

// rowsIn returns an array as a matrix of so many columns.
func rowsIn(a gpu.Vec, cols int) gpu.Matrix {
	return gpu.Matrix{Buf: a.Buf, Off: a.Off, Rows: a.Len / cols, Cols: cols, LD: cols}
}

// of is hostmem.Of.
func of[T gpu.Element](b []byte) []T { return hostmem.Of[T](b) }
