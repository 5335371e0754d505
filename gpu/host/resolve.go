package host

import (
	"fmt"
	"unsafe"

	"capgnn/gpu"
	"capgnn/gpu/check"
	"capgnn/gpu/host/kernel"
)

// check returns what looks at the operands of an operation. Those that it has looked at are then views of host memory: denseOf,
// eitherOf, values and sparseOf resolve them.
func (q *Queue) check(op string) check.Operands {
	return check.Operands{Device: q.dev.info.Name, Queue: q.name, Op: op, Memory: &q.dev.memory}
}

// Block implements check.Memory.
func (m *memory) Block(buf gpu.Buffer) (name string, size gpu.Bytes, wrong string) {
	b, ok := buf.(*block)
	switch {
	case !ok || b == nil:
		return "", 0, "has no buffer of a CPU device"
	case b.owner != m:
		return "", 0, fmt.Sprintf("lies in block %q of another device, %s", b.name, b.owner.device)
	case b.mem == nil:
		return "", 0, fmt.Sprintf("lies in block %q, which was freed", b.name)
	}
	return b.name, gpu.Bytes(len(b.mem)), ""
}

// bytesOf returns size·n bytes from element off of buf on.
func bytesOf(buf gpu.Buffer, off, n, size int) []byte {
	return buf.(*block).mem[off*size : (off+n)*size]
}

// elements returns the elements of m from its first to its last, as bytes. nil if m is empty.
func elements(m gpu.Matrix) []byte {
	if m.Empty() {
		return nil
	}
	return bytesOf(m.Buf, m.Off, (m.Rows-1)*m.LD+m.Cols, m.Type.Size())
}

// denseOf resolves an FP32 matrix.
func denseOf(m gpu.Matrix) kernel.Dense {
	return kernel.Dense{V: cast[float32](elements(m)), Rows: m.Rows, Cols: m.Cols, LD: m.LD}
}

// eitherOf resolves a matrix of either type: exactly one of the results has storage, none if it is empty.
func eitherOf(m gpu.Matrix) kernel.Either {
	if m.Type == gpu.BF16 {
		return kernel.Either{D16: kernel.Dense16{V: cast[uint16](elements(m)), Rows: m.Rows, Cols: m.Cols, LD: m.LD}, Half: true}
	}
	return kernel.Either{D32: denseOf(m)}
}

// values resolves an array; the result is nil if it is empty.
func values[T gpu.Element](a gpu.Array[T]) []T {
	if a.Len == 0 {
		return nil
	}
	var t T
	return cast[T](bytesOf(a.Buf, a.Off, a.Len, int(unsafe.Sizeof(t))))
}

// sparseOf resolves a sparse matrix. A matrix without stored rows has a list that is empty but not nil.
func sparseOf(a gpu.CSR) kernel.Sparse {
	s := kernel.Sparse{
		Begin: values(a.Begin), End: values(a.End), Idx: values(a.Indices), Val: values(a.Val), List: values(a.RowList),
		Rows: a.Rows, Cols: a.Cols, Entries: a.Entries,
	}
	if a.Begin.Len == 0 {
		s.List = []int32{}
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
