package host

import (
	"fmt"
	"unsafe"

	"capgnn/gpu"
)

// checker resolves the arguments of one operation to host memory, and panics where they are wrong: shapes come from our
// own code, so a wrong one is a bug at the place that enqueues.
type checker struct {
	q  *Queue
	op string
}

func (q *Queue) check(op string) checker { return checker{q, op} }

func (c checker) fail(format string, args ...any) {
	panic(fmt.Sprintf("%s: queue %s: %s: %s", c.q.dev.info.Name, c.q.name, c.op, fmt.Sprintf(format, args...)))
}

// bytes returns size·n bytes from element off of buf on, which must be of memory m.
func (c checker) bytes(m *memory, arg string, buf gpu.Buffer, off, n, size int) []byte {
	b, ok := buf.(*block)
	switch {
	case !ok || b == nil:
		c.fail("%s has no buffer of a CPU device", arg)
	case b.owner != m:
		c.fail("%s lies in block %q of another device, %s", arg, b.name, b.owner.device)
	case b.mem == nil:
		c.fail("%s lies in block %q, which was freed", arg, b.name)
	case off < 0 || n < 0 || (off+n)*size > len(b.mem):
		c.fail("%s: elements %d to %d of %d bytes exceed block %q of %d bytes", arg, off, off+n, size, b.name, len(b.mem))
	}
	return b.mem[off*size : (off+n)*size]
}

// span checks the layout of m and returns the elements from its first to its last, as bytes. nil if m is empty.
func (c checker) span(mem *memory, arg string, m gpu.Matrix) []byte {
	if m.Rows < 0 || m.Cols < 0 || (m.LD < m.Cols && m.Rows > 1) {
		c.fail("%s is %d×%d with stride %d", arg, m.Rows, m.Cols, m.LD)
	}
	if m.Empty() {
		return nil
	}
	return c.bytes(mem, arg, m.Buf, m.Off, (m.Rows-1)*m.LD+m.Cols, m.Type.Size())
}

// mat resolves an FP32 matrix.
func (c checker) mat(arg string, m gpu.Matrix) dense {
	if m.Type != gpu.FP32 {
		c.fail("%s is %v, want fp32", arg, m.Type)
	}
	return dense{cast[float32](c.span(&c.q.dev.memory, arg, m)), m.Rows, m.Cols, m.LD}
}

// any resolves a matrix of either type: exactly one of the results has storage, none if it is empty.
func (c checker) any(mem *memory, arg string, m gpu.Matrix) either {
	b := c.span(mem, arg, m)
	if m.Type == gpu.BF16 {
		return either{d16: dense16{cast[uint16](b), m.Rows, m.Cols, m.LD}, half: true}
	}
	return either{d32: dense{cast[float32](b), m.Rows, m.Cols, m.LD}}
}

// anyShaped resolves a matrix of either type and of the given shape.
func (c checker) anyShaped(arg string, m gpu.Matrix, rows, cols int) either {
	if m.Rows != rows || m.Cols != cols {
		c.fail("%s is %d×%d, want %d×%d", arg, m.Rows, m.Cols, rows, cols)
	}
	return c.any(&c.q.dev.memory, arg, m)
}

// shaped resolves an FP32 matrix of the given shape.
func (c checker) shaped(arg string, m gpu.Matrix, rows, cols int) dense {
	if m.Rows != rows || m.Cols != cols {
		c.fail("%s is %d×%d, want %d×%d", arg, m.Rows, m.Cols, rows, cols)
	}
	return c.mat(arg, m)
}

// tall resolves an FP32 matrix of at least the given rows and exactly the given columns.
func (c checker) tall(arg string, m gpu.Matrix, rows, cols int) dense {
	if m.Rows < rows || m.Cols != cols {
		c.fail("%s is %d×%d, want at least %d×%d", arg, m.Rows, m.Cols, rows, cols)
	}
	return c.mat(arg, m)
}

// array resolves an array; the result is nil if it is empty.
func array[T gpu.Element](c checker, arg string, a gpu.Array[T]) []T {
	if a.Len == 0 {
		return nil
	}
	var t T
	return cast[T](c.bytes(&c.q.dev.memory, arg, a.Buf, a.Off, a.Len, int(unsafe.Sizeof(t))))
}

// vec resolves a vector of exactly n elements.
func (c checker) vec(arg string, a gpu.Vec, n int) []float32 {
	if a.Len != n {
		c.fail("%s has %d elements, want %d", arg, a.Len, n)
	}
	return array(c, arg, a)
}

// optional resolves a vector of exactly n elements, or nil if it is not given.
func (c checker) optional(arg string, a gpu.Vec, n int) []float32 {
	if a.Empty() {
		return nil
	}
	return c.vec(arg, a, n)
}

// atLeast resolves a vector of n elements or more, or nil if it is not given.
func (c checker) atLeast(arg string, a gpu.Vec, n int) []float32 {
	if a.Empty() {
		return nil
	}
	if a.Len < n {
		c.fail("%s has %d elements, want at least %d", arg, a.Len, n)
	}
	return array(c, arg, a)
}

// csr resolves a sparse matrix. A matrix without stored rows has a list that is empty but not nil.
func (c checker) csr(arg string, a gpu.CSR) sparse {
	stored := a.Begin.Len
	switch {
	case a.Rows < 0 || a.Cols < 0 || a.Entries < 0:
		c.fail("%s is %d×%d with %d entries", arg, a.Rows, a.Cols, a.Entries)
	case a.End.Len != stored:
		c.fail("%s has %d row begins and %d row ends", arg, stored, a.End.Len)
	case stored == 0 && a.Entries != 0:
		c.fail("%s has %d entries in no row", arg, a.Entries)
	case !a.RowList.Empty() && a.RowList.Len != stored, stored > a.Rows:
		c.fail("%s has %d stored rows, %d of them listed, of %d", arg, stored, a.RowList.Len, a.Rows)
	case a.RowList.Empty() && stored != a.Rows && stored != 0:
		c.fail("%s has %d stored rows of %d and no list", arg, stored, a.Rows)
	case !a.Val.Empty() && a.Val.Len != a.Indices.Len:
		c.fail("%s has %d values for %d indices", arg, a.Val.Len, a.Indices.Len)
	case a.Entries > int64(a.Indices.Len):
		c.fail("%s has %d entries but %d indices", arg, a.Entries, a.Indices.Len)
	}
	s := sparse{
		begin: array(c, arg+".Begin", a.Begin), end: array(c, arg+".End", a.End),
		idx: array(c, arg+".Indices", a.Indices), val: array(c, arg+".Val", a.Val),
		list: array(c, arg+".RowList", a.RowList),
		rows: a.Rows, cols: a.Cols, entries: a.Entries,
	}
	if stored == 0 {
		s.list = []int32{}
	}
	return s
}

// cast views bytes as elements of another type. The bytes are aligned: blocks are, and offsets count elements.
func cast[T any](b []byte) []T {
	if len(b) == 0 {
		return nil
	}
	var t T
	return unsafe.Slice((*T)(unsafe.Pointer(unsafe.SliceData(b))), len(b)/int(unsafe.Sizeof(t)))
}
