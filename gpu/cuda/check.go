//go:build cuda

package cuda

import (
	"fmt"
	"unsafe"

	"capgnn/gpu"
)

// checker looks at the arguments of one operation and panics where they are wrong: shapes come from our own code, so a wrong
// one is a bug at the place that enqueues.
type checker struct {
	q   *queue
	op  string
	dev *device // whose memory the arguments lie in
}

func (q *queue) check(op string) checker { return checker{q, op, q.dev} }

// on returns a checker of arguments in another device's memory.
func (c checker) on(d *device) checker { return checker{c.q, c.op, d} }

func (c checker) fail(format string, args ...any) {
	panic(fmt.Sprintf("%s: queue %s: %s: %s", c.q.dev.info.Name, c.q.name, c.op, fmt.Sprintf(format, args...)))
}

// bytes checks that n elements of size bytes lie in buf from element off on.
func (c checker) bytes(arg string, buf gpu.Buffer, off, n, size int) {
	b, ok := buf.(*buffer)
	switch {
	case !ok || b == nil:
		c.fail("%s has no buffer of a GPU", arg)
	case b.dev != c.dev:
		c.fail("%s lies in block %q of another device, %s", arg, b.name, b.dev.info.Name)
	case b.isFreed():
		c.fail("%s lies in block %q, which was freed", arg, b.name)
	case off < 0 || n < 0 || gpu.Bytes(off+n)*gpu.Bytes(size) > b.size:
		c.fail("%s: elements %d to %d of %d bytes exceed block %q of %d bytes", arg, off, off+n, size, b.name, b.size)
	}
}

// any checks a matrix of either type.
func (c checker) any(arg string, m gpu.Matrix) {
	if m.Rows < 0 || m.Cols < 0 || (m.LD < m.Cols && m.Rows > 1) {
		c.fail("%s is %d×%d with stride %d", arg, m.Rows, m.Cols, m.LD)
	}
	if !m.Empty() {
		c.bytes(arg, m.Buf, m.Off, (m.Rows-1)*m.LD+m.Cols, m.Type.Size())
	}
}

// mat checks an FP32 matrix.
func (c checker) mat(arg string, m gpu.Matrix) {
	if m.Type != gpu.FP32 {
		c.fail("%s is %v, want fp32", arg, m.Type)
	}
	c.any(arg, m)
}

// anyShaped checks a matrix of either type and of the given shape.
func (c checker) anyShaped(arg string, m gpu.Matrix, rows, cols int) {
	if m.Rows != rows || m.Cols != cols {
		c.fail("%s is %d×%d, want %d×%d", arg, m.Rows, m.Cols, rows, cols)
	}
	c.any(arg, m)
}

// shaped checks an FP32 matrix of the given shape.
func (c checker) shaped(arg string, m gpu.Matrix, rows, cols int) {
	if m.Rows != rows || m.Cols != cols {
		c.fail("%s is %d×%d, want %d×%d", arg, m.Rows, m.Cols, rows, cols)
	}
	c.mat(arg, m)
}

// tall checks an FP32 matrix of at least the given rows and exactly the given columns.
func (c checker) tall(arg string, m gpu.Matrix, rows, cols int) {
	if m.Rows < rows || m.Cols != cols {
		c.fail("%s is %d×%d, want at least %d×%d", arg, m.Rows, m.Cols, rows, cols)
	}
	c.mat(arg, m)
}

// output checks the destination of a product, which may be BF16 if it is not read.
func (c checker) output(arg string, m gpu.Matrix, beta float32) {
	if beta != 0 && m.Type != gpu.FP32 {
		c.fail("%s is %v and added to, want fp32", arg, m.Type)
	}
	c.any(arg, m)
}

// array checks an array of any length.
func array[T gpu.Element](c checker, arg string, a gpu.Array[T]) {
	if a.Len == 0 {
		return
	}
	var t T
	c.bytes(arg, a.Buf, a.Off, a.Len, int(unsafe.Sizeof(t)))
}

// vec checks a vector of exactly n elements.
func (c checker) vec(arg string, a gpu.Vec, n int) {
	if a.Len != n {
		c.fail("%s has %d elements, want %d", arg, a.Len, n)
	}
	array(c, arg, a)
}

// optional checks a vector of exactly n elements, or none.
func (c checker) optional(arg string, a gpu.Vec, n int) {
	if !a.Empty() {
		c.vec(arg, a, n)
	}
}

// atLeast checks a vector of n elements or more, or none.
func (c checker) atLeast(arg string, a gpu.Vec, n int) {
	if a.Empty() {
		return
	}
	if a.Len < n {
		c.fail("%s has %d elements, want at least %d", arg, a.Len, n)
	}
	array(c, arg, a)
}

// csr checks a sparse matrix.
func (c checker) csr(arg string, a gpu.CSR) {
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
	array(c, arg+".Begin", a.Begin)
	array(c, arg+".End", a.End)
	array(c, arg+".Indices", a.Indices)
	array(c, arg+".Val", a.Val)
	array(c, arg+".RowList", a.RowList)
}
