//go:build cuda

package cuda

import "capgnn/gpu"

// Sizes that the kernels fix; kernels/device.cuh and elementwise.cuh have the same.
const (
	blockSize = 256            // threads of a block
	warps     = blockSize / 32 // of a block
	segment   = 1024           // columns of a row that a warp does in one go
	mostGrid  = 4096           // blocks of a kernel whose warps take piece after piece: 31 blocks for each multiprocessor of an H200
	mostParts = 256            // blocks of a sum over rows, each with its own partial sums
	partRows  = 64             // rows that such a block has at least
)

// blocks returns how many blocks n items take, per at a time.
func blocks[T int | int64](n T, per int) uint32 { return uint32((n + T(per) - 1) / T(per)) }

// rowPieces returns the grid of an elementwise kernel: a warp for every piece of a row, at most mostGrid blocks.
func rowPieces(rows, cols int) dim {
	units := int64(rows) * int64(blocks(cols, segment))
	return dim{blocks(min(units, mostGrid*warps), warps), 1}
}

// rowWarps returns the grid of a kernel whose warps take row after row.
func rowWarps(rows int) dim { return dim{blocks(min(rows, mostGrid*warps), warps), 1} }

// parts cuts rows for a sum: count blocks of step rows. It depends on the shape alone, and so do the bits of the sum.
func parts(rows int) (count, step int) {
	if rows == 0 {
		return 0, 1
	}
	count = min(mostParts, int(blocks(rows, partRows)))
	step = int(blocks(rows, count))
	return int(blocks(rows, step)), step
}

// workspace returns the address of n elements of size bytes that belong to the queue until its next operation that asks.
func (q *queue) workspace(n, size int) word {
	return ptrOf(q.dev.scratch(q, gpu.Bytes(n)*gpu.Bytes(size)), 0)
}

// addParts enqueues dst = Σ parts + beta·dst for a rows×cols matrix at dst; the parts are stride floats apart.
func (q *queue) addParts(dst word, ld, rows, cols int, part word, stride, count int, beta float32) {
	n := int64(rows) * int64(cols)
	q.launch("capgnn_add_parts", dim{blocks(n, 32), 1}, blockSize, 0,
		i64(int64(rows)), i64(int64(cols)), dst, i64(int64(ld)), part, i64(int64(stride)), i32(count), f32(beta))
}

// flat returns matrices of one shape as one long row, if none of them has gaps between rows.
func flat(m ...gpu.Matrix) []gpu.Matrix {
	for _, x := range m {
		if x.LD != x.Cols && x.Rows > 1 {
			return m
		}
	}
	for i := range m {
		m[i].Cols *= m[i].Rows
		m[i].Rows, m[i].LD = 1, m[i].Cols
	}
	return m
}

// shapeWords are a matrix's rows and columns as kernels take them.
func shapeWords(m gpu.Matrix) (rows, cols word) { return i64(int64(m.Rows)), i64(int64(m.Cols)) }

// ld is a matrix's stride as kernels take it.
func ld(m gpu.Matrix) word { return i64(int64(m.LD)) }

// typed returns name with a letter for each matrix's type behind it.
func typed(name string, m ...gpu.Matrix) string {
	for _, x := range m {
		if x.Type == gpu.BF16 {
			name += "b"
		} else {
			name += "f"
		}
	}
	return name
}

// aligned reports whether every row of m begins at a multiple of bytes. Blocks are aligned to 256.
func aligned(m gpu.Matrix, bytes int) bool {
	size := m.Type.Size()
	return m.Off*size%bytes == 0 && (m.LD*size%bytes == 0 || m.Rows == 1)
}

// pair is two int32 in one word, the first in the lower half.
func pair(a, b int) word { return i32(a) | i32(b)<<32 }
