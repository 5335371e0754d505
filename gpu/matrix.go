package gpu

import "fmt"

// Bytes is an amount of memory or traffic in bytes.
type Bytes int64

// DType is the element type of a Matrix.
type DType uint8

// Element types. BF16 (the upper half of a float32) is a storage format: arithmetic is float32 in every operation. Which
// arguments may be BF16: see Ops.
const (
	FP32 DType = iota
	BF16
)

// Size returns the bytes of one element.
func (t DType) Size() int {
	if t == BF16 {
		return 2
	}
	return 4
}

func (t DType) String() string {
	if t == BF16 {
		return "bf16"
	}
	return "fp32"
}

// Buffer is a block of one device's memory; each backend implements it.
type Buffer interface {
	// Size is the usable size in bytes.
	Size() Bytes
	// Free returns the block to its device. No queue may still use it. Freeing twice panics.
	Free()
}

// Element lists what an Array can hold.
type Element interface {
	int32 | int64 | float32 | float64 | uint8
}

// Array is a view of Len elements of a Buffer, from element Off on. The zero Array is empty and means "not given".
type Array[T Element] struct {
	Buf Buffer
	Off int // elements from the start of Buf
	Len int // elements
}

// Vec is an array of float32: scales, biases, norms.
type Vec = Array[float32]

// Ints is an array of int32: indices, vertex ids, labels.
type Ints = Array[int32]

// Empty reports whether the array holds nothing.
func (a Array[T]) Empty() bool { return a.Len == 0 }

// Slice returns elements lo to hi (hi excluded) of a.
func (a Array[T]) Slice(lo, hi int) Array[T] {
	if lo < 0 || hi < lo || hi > a.Len {
		panic(fmt.Sprintf("gpu: slice [%d:%d] of an array of %d", lo, hi, a.Len))
	}
	return Array[T]{a.Buf, a.Off + lo, hi - lo}
}

// Matrix is a row-major view of a Buffer: element (i, j) lies at element Off + i·LD + j. LD ≥ Cols.
// The zero Matrix is empty and means "not given".
type Matrix struct {
	Buf  Buffer
	Off  int // elements from the start of Buf
	Rows int
	Cols int
	LD   int // elements from one row to the next
	Type DType
}

// Empty reports whether the matrix has no element.
func (m Matrix) Empty() bool { return m.Rows == 0 || m.Cols == 0 }

// RowRange returns rows lo to hi (hi excluded) of m.
func (m Matrix) RowRange(lo, hi int) Matrix {
	if lo < 0 || hi < lo || hi > m.Rows {
		panic(fmt.Sprintf("gpu: rows [%d:%d] of a matrix of %d rows", lo, hi, m.Rows))
	}
	m.Off += lo * m.LD
	m.Rows = hi - lo
	return m
}

// ColRange returns columns lo to hi (hi excluded) of m.
func (m Matrix) ColRange(lo, hi int) Matrix {
	if lo < 0 || hi < lo || hi > m.Cols {
		panic(fmt.Sprintf("gpu: columns [%d:%d] of a matrix of %d columns", lo, hi, m.Cols))
	}
	m.Off += lo
	m.Cols = hi - lo
	return m
}

// CSR is a sparse matrix on a device. Stored row k holds the entries Begin[k] ≤ e < End[k]: column Indices[e] with value
// Val[e] (1 where Val is empty). Stored row k is matrix row RowList[k], or k itself where RowList is empty; rows that are
// not listed hold no entry.
//
// Begin and End are separate so that one index array serves several restrictions of a matrix (a prefix of the rows, a
// prefix of each row's entries); in the usual case both are views of one row-pointer array, one element apart.
// Begin does not decrease and End[k] ≤ Begin[k+1].
type CSR struct {
	Rows, Cols int
	Begin, End Array[int64]
	Indices    Ints
	Val        Vec  // empty: all ones
	RowList    Ints // strictly increasing; empty: identity, and then len(Begin) = Rows
	Entries    int64
}

// CSRAt returns the matrix whose row r has entries ptr[r] to ptr[r+1]−1, all of indices; without any ptr it has none.
func CSRAt(ptr Array[int64], indices Ints, val Vec, rows, cols int) CSR {
	c := CSR{Rows: rows, Cols: cols, Indices: indices, Val: val, Entries: int64(indices.Len)}
	if !ptr.Empty() {
		c.Begin, c.End = ptr.Slice(0, rows), ptr.Slice(1, rows+1)
	}
	return c
}

// Empty reports whether the matrix holds no entry.
func (c CSR) Empty() bool { return c.Entries == 0 }

// Stored returns the number of stored rows.
func (c CSR) Stored() int { return c.Begin.Len }

// Span is the number of elements from the first of m to the last, gaps between rows included.
func (m Matrix) Span() int {
	if m.Empty() {
		return 0
	}
	return (m.Rows-1)*m.LD + m.Cols
}

// Compact closes the gaps between the rows of m, in host memory: host holds the Span elements of m as they were downloaded. It returns the
// Rows×Cols elements, which now begin host.
func Compact[T Element](host []T, m Matrix) []T {
	if m.LD != m.Cols {
		for i := 1; i < m.Rows; i++ {
			copy(host[i*m.Cols:(i+1)*m.Cols], host[i*m.LD:])
		}
	}
	return host[:m.Rows*m.Cols]
}
