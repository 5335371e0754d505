//go:build cuda

package cuda

import (
	"fmt"

	"capgnn/gpu"
)

// Flags of a sparse product; kernels/spmm.cu has the same.
const (
	spmmHalfY = 1 << iota
	spmmByRow
)

const (
	// hub is the number of entries above which a row gets a block of threads; kernels/rows.cuh has the same.
	hub = 1024
	// reuse is how often a row of X must be read on average for column tiles to be worth reading the indices once per tile.
	reuse = 16
	// noFit is how many bytes of each row a tile has where no tile's rows fit in the cache (docs/adr/0051).
	noFit = gpu.Bytes(256)
)

// spmmArgs is y = rowScale·A·colScale·x + beta·y + bias, then the epilogue.
type spmmArgs struct {
	y, x                     gpu.Matrix
	a                        gpu.CSR
	rowScale, colScale, bias gpu.Vec
	beta                     float32
	then                     *gpu.Epilogue
}

// Aggregate: sums over graph neighbours.
func (q *queue) Aggregate(a gpu.AggregateArgs) {
	q.check("Aggregate").Aggregate(a)
	if a.Y.Empty() {
		return
	}
	s := spmmArgs{y: a.Y, x: a.X, a: a.A, rowScale: a.RowScale, colScale: a.ColScale, bias: a.Bias, then: a.Then}
	if a.Accumulate {
		s.beta = 1
	}
	q.begin("Aggregate", gpu.PhaseAggregation)
	q.spmm(s)
	q.counted(a.A.Entries * int64(a.Y.Cols))
}

// SpMM: Y = A·X + beta·Y.
func (q *queue) SpMM(y gpu.Matrix, a gpu.CSR, x gpu.Matrix, beta float32) {
	q.check("SpMM").SpMM(y, a, x, beta)
	if y.Empty() {
		return
	}
	q.begin("SpMM", gpu.PhaseMM)
	q.spmm(spmmArgs{y: y, x: x, a: a, beta: beta})
}

// spmm enqueues a product and what follows it.
func (q *queue) spmm(s spmmArgs) {
	vector := s.vectors()
	width, tile := s.tiles(vector, q.dev.l2)
	fused := s.then != nil && !s.then.Act.Curved() && vector && tile >= s.y.Cols && s.y.Cols%s.loaded() == 0
	f, units := 0, s.a.Stored()
	if s.byRow() {
		f, units = spmmByRow, s.a.Rows
	}
	if s.y.Type == gpu.BF16 {
		f |= spmmHalfY
	}
	hubs := q.dev.hubBlocks(s.a.Entries)
	args := []word{matPtr(s.y), i32(s.y.LD), matPtr(s.x), i32(s.x.LD), i32(s.y.Cols), i32(tile), i32(f)}
	args = append(args, csrWords(s.a)...)
	args = append(args, vecPtr(s.a.Val), i64(int64(units)), i32(hubs), vecPtr(s.rowScale), vecPtr(s.colScale), vecPtr(s.bias), f32(s.beta))
	var then *gpu.Epilogue
	if fused {
		then = s.then
	}
	if units > 0 {
		grid := dim{uint32(hubs) + blocks(units, warps), blocks(s.y.Cols, tile)}
		q.launch(s.kernel(vector, width), grid, blockSize, 0, append(args, epilogueWords(then)...)...)
	}
	if !fused {
		q.epilogue(s.then, s.y, gpu.Vec{})
	}
}

// csrWords are a matrix's begin, end, indices, list and number of stored rows.
func csrWords(a gpu.CSR) []word {
	return []word{arrPtr(a.Begin), arrPtr(a.End), intsPtr(a.Indices), intsPtr(a.RowList), i64(int64(a.Stored()))}
}

// hubBlocks returns how many blocks look for rows of more than hub entries: no more than there can be such rows.
func (d *device) hubBlocks(entries int64) int { return int(min(int64(2*d.sms), entries/(hub+1))) }

// byRow reports whether rows that are not stored have to be written too.
func (s *spmmArgs) byRow() bool {
	listed := !s.a.RowList.Empty() || s.a.Stored() == 0
	return listed && !(s.beta == 1 && s.bias.Empty() && s.then == nil)
}

// loaded is the number of elements that a load of 16 bytes reads.
func (s *spmmArgs) loaded() int { return 16 / s.x.Type.Size() }

// vectors reports whether all rows are aligned for loads of 16 bytes, and the last load of the last row stays in its block.
func (s *spmmArgs) vectors() bool {
	if s.a.Cols == 0 || !aligned(s.x, 16) || !aligned(s.y, 4*s.y.Type.Size()) || s.then != nil && !aligned(s.then.H, 4*s.then.H.Type.Size()) {
		return false
	}
	row := (s.y.Cols + s.loaded() - 1) / s.loaded() * s.loaded()
	end := s.x.Off + (s.a.Cols-1)*s.x.LD + row
	return row == s.y.Cols || row <= s.x.LD && gpu.Bytes(end*s.x.Type.Size()) <= s.x.Buf.Size()
}

// widths are the columns that the kernels of a type hold, rising.
func widths(vector bool, t gpu.DType) []int {
	switch {
	case !vector:
		return []int{64, 256}
	case t == gpu.BF16:
		return []int{32, 64, 128, 256}
	}
	return []int{16, 32, 64, 128, 256}
}

// tiles returns the width of the kernel and of the tiles of columns: one tile for what a warp holds at once, unless X is
// larger than 3/5 of the cache and read often. Then it is the widest tile of 128 bytes or more whose rows fit in 3/5 of the cache,
// and where none fits noFit, unless an epilogue follows.
func (s *spmmArgs) tiles(vector bool, cache gpu.Bytes) (width, tile int) {
	list := widths(vector, s.x.Type)
	width = list[len(list)-1]
	for i := len(list) - 1; i >= 0 && list[i] >= s.y.Cols; i-- {
		width = list[i]
	}
	size := gpu.Bytes(s.x.Type.Size())
	fits := func(columns int) bool { return gpu.Bytes(s.a.Cols)*gpu.Bytes(columns)*size <= cache*3/5 }
	if !vector || fits(min(width, s.y.Cols)) || s.a.Entries < reuse*int64(s.a.Cols) {
		return width, width
	}
	for i := len(list) - 1; i >= 0 && gpu.Bytes(list[i])*size >= 128; i-- {
		if list[i] < width && fits(list[i]) {
			return list[i], list[i]
		}
	}
	// None fits. Narrower rows are still found in the cache more often, but an epilogue needs whole rows.
	if tile := int(noFit / size); s.then == nil && tile < width {
		return tile, tile
	}
	return width, width
}

// kernel returns the symbol of the kernel for a width.
func (s *spmmArgs) kernel(vector bool, width int) string {
	scalar := ""
	if !vector {
		scalar = "s"
	}
	return fmt.Sprintf("%s%s%d", typed("capgnn_spmm_", s.x), scalar, width)
}
