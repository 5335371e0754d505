package check

import (
	"fmt"

	"capgnn/gpu"
)

// Memory is a device's memory.
type Memory interface {
	// Block returns name and size of a block of this memory, or what keeps buf from being one, as a predicate.
	Block(buf gpu.Buffer) (name string, size gpu.Bytes, wrong string)
}

// Operands looks at the arguments of one operation.
type Operands struct {
	Device, Queue, Op string
	Memory            Memory // where the arguments lie
}

// In returns a checker of arguments in another device's memory.
func (c Operands) In(m Memory) Operands {
	c.Memory = m
	return c
}

// Fail panics with a line that names device, queue and operation.
func (c Operands) Fail(format string, args ...any) {
	panic(fmt.Sprintf("%s: queue %s: %s: %s", c.Device, c.Queue, c.Op, fmt.Sprintf(format, args...)))
}

// Bytes checks that n elements of size bytes lie in buf from element off on.
func (c Operands) Bytes(arg string, buf gpu.Buffer, off, n, size int) {
	name, have, wrong := c.Memory.Block(buf)
	switch {
	case wrong != "":
		c.Fail("%s %s", arg, wrong)
	case off < 0 || n < 0 || gpu.Bytes(off+n)*gpu.Bytes(size) > have:
		c.Fail("%s: elements %d to %d of %d bytes exceed block %q of %d bytes", arg, off, off+n, size, name, have)
	}
}

// Matrix checks a matrix of either type.
func (c Operands) Matrix(arg string, m gpu.Matrix) {
	if m.Rows < 0 || m.Cols < 0 || (m.LD < m.Cols && m.Rows > 1) {
		c.Fail("%s is %d×%d with stride %d", arg, m.Rows, m.Cols, m.LD)
	}
	if !m.Empty() {
		c.Bytes(arg, m.Buf, m.Off, (m.Rows-1)*m.LD+m.Cols, m.Type.Size())
	}
}

// fp32 checks an FP32 matrix.
func (c Operands) fp32(arg string, m gpu.Matrix) {
	if m.Type != gpu.FP32 {
		c.Fail("%s is %v, want fp32", arg, m.Type)
	}
	c.Matrix(arg, m)
}

// shape checks that a matrix has this many rows and columns.
func (c Operands) shape(arg string, m gpu.Matrix, rows, cols int) {
	if m.Rows != rows || m.Cols != cols {
		c.Fail("%s is %d×%d, want %d×%d", arg, m.Rows, m.Cols, rows, cols)
	}
}

// anyShaped checks a matrix of either type and of the given shape.
func (c Operands) anyShaped(arg string, m gpu.Matrix, rows, cols int) {
	c.shape(arg, m, rows, cols)
	c.Matrix(arg, m)
}

// shaped checks an FP32 matrix of the given shape.
func (c Operands) shaped(arg string, m gpu.Matrix, rows, cols int) {
	c.shape(arg, m, rows, cols)
	c.fp32(arg, m)
}

// tall checks an FP32 matrix of at least the given rows and exactly the given columns.
func (c Operands) tall(arg string, m gpu.Matrix, rows, cols int) {
	if m.Rows < rows || m.Cols != cols {
		c.Fail("%s is %d×%d, want at least %d×%d", arg, m.Rows, m.Cols, rows, cols)
	}
	c.fp32(arg, m)
}

// output checks the destination of a product, which may be BF16 if it is not read.
func (c Operands) output(arg string, m gpu.Matrix, beta float32) {
	if beta != 0 && m.Type != gpu.FP32 {
		c.Fail("%s is %v and added to, want fp32", arg, m.Type)
	}
	c.Matrix(arg, m)
}

// array checks an array of any length.
func array[T gpu.Element](c Operands, arg string, a gpu.Array[T]) {
	if a.Len == 0 {
		return
	}
	c.Bytes(arg, a.Buf, a.Off, a.Len, sizeOf[T]())
}

// sizeOf returns the bytes of an element.
func sizeOf[T gpu.Element]() int {
	var t T
	switch any(t).(type) {
	case uint8:
		return 1
	case int32, float32:
		return 4
	}
	return 8
}

// vec checks a vector of exactly n elements.
func (c Operands) vec(arg string, a gpu.Vec, n int) {
	if a.Len != n {
		c.Fail("%s has %d elements, want %d", arg, a.Len, n)
	}
	array(c, arg, a)
}

// optional checks a vector of exactly n elements, or none.
func (c Operands) optional(arg string, a gpu.Vec, n int) {
	if !a.Empty() {
		c.vec(arg, a, n)
	}
}

// atLeast checks a vector of n elements or more, or none.
func (c Operands) atLeast(arg string, a gpu.Vec, n int) {
	if a.Empty() {
		return
	}
	if a.Len < n {
		c.Fail("%s has %d elements, want at least %d", arg, a.Len, n)
	}
	array(c, arg, a)
}

// csr checks a sparse matrix.
func (c Operands) csr(arg string, a gpu.CSR) {
	stored := a.Begin.Len
	switch {
	case a.Rows < 0 || a.Cols < 0 || a.Entries < 0:
		c.Fail("%s is %d×%d with %d entries", arg, a.Rows, a.Cols, a.Entries)
	case a.End.Len != stored:
		c.Fail("%s has %d row begins and %d row ends", arg, stored, a.End.Len)
	case stored == 0 && a.Entries != 0:
		c.Fail("%s has %d entries in no row", arg, a.Entries)
	case !a.RowList.Empty() && a.RowList.Len != stored, stored > a.Rows:
		c.Fail("%s has %d stored rows, %d of them listed, of %d", arg, stored, a.RowList.Len, a.Rows)
	case a.RowList.Empty() && stored != a.Rows && stored != 0:
		c.Fail("%s has %d stored rows of %d and no list", arg, stored, a.Rows)
	case !a.Val.Empty() && a.Val.Len != a.Indices.Len:
		c.Fail("%s has %d values for %d indices", arg, a.Val.Len, a.Indices.Len)
	case a.Entries > int64(a.Indices.Len):
		c.Fail("%s has %d entries but %d indices", arg, a.Entries, a.Indices.Len)
	}
	array(c, arg+".Begin", a.Begin)
	array(c, arg+".End", a.End)
	array(c, arg+".Indices", a.Indices)
	array(c, arg+".Val", a.Val)
	array(c, arg+".RowList", a.RowList)
}
