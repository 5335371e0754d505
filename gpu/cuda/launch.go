//go:build cuda

package cuda

import (
	"math"
	"unsafe"

	"capgnn/gpu"
)

// dim is the size of a grid in blocks.
type dim struct{ x, y uint32 }

// word is one argument of a kernel: the low bytes of it, as many as the argument's type has.
type word uint64

func i32(n int) word     { return word(uint32(int32(n))) }
func i64(n int64) word   { return word(n) }
func u64(x uint64) word  { return word(x) }
func f32(x float32) word { return word(math.Float32bits(x)) }
func f64(x float64) word { return word(math.Float64bits(x)) }

// ptrOf returns the device address of a byte of b; 0 for an empty buffer.
func ptrOf(b gpu.Buffer, byteOffset int64) word {
	if b == nil {
		return 0
	}
	block := b.(*buffer)
	if block.ptr == 0 {
		return 0
	}
	return word(block.ptr) + word(byteOffset)
}

// matPtr returns the address of m's first element, 0 if it has none.
func matPtr(m gpu.Matrix) word {
	if m.Empty() {
		return 0
	}
	return ptrOf(m.Buf, int64(m.Off)*int64(m.Type.Size()))
}

// arrPtr returns the address of a's first element, 0 if it has none.
func arrPtr[T gpu.Element](a gpu.Array[T]) word {
	if a.Empty() {
		return 0
	}
	var t T
	return ptrOf(a.Buf, int64(a.Off)*int64(unsafe.Sizeof(t)))
}

func vecPtr(v gpu.Vec) word   { return arrPtr(v) }
func intsPtr(v gpu.Ints) word { return arrPtr(v) }

// begin names the operation that the following launches belong to, and the phase that their time is counted in.
func (q *queue) begin(op string, phase gpu.Phase) { q.op, q.phase = op, phase }

// launch enqueues one kernel on the queue's stream. Every argument is one word of 8 bytes of which the kernel reads as many
// as its type has. An empty grid launches nothing.
func (q *queue) launch(name string, grid dim, block uint32, shared uint32, args ...word) {
	if grid.x == 0 || grid.y == 0 {
		return
	}
	args = append([]word(nil), args...)
	q.enqueue(command{op: q.op + ": " + name, phase: q.phase, timed: true, run: func() error {
		f, err := q.dev.primary.function(name, shared)
		if err != nil {
			return err
		}
		return launchKernel(f, q.stream, grid, block, shared, args)
	}})
}

// counted adds entries × columns of an aggregation to the queue's usage, when the commands before have been handed over.
func (q *queue) counted(spmm int64) {
	q.enqueue(command{op: q.op, run: func() error {
		q.count(gpu.Usage{SpMM: spmm})
		return nil
	}})
}
