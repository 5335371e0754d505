package host

import (
	"capgnn/gpu"
	"capgnn/gpu/host/kernel"
)

// tileRows and tileCols are the part of src that Transpose moves at a time: 32 KiB, and two cache lines of each row of dst.
const (
	tileRows = 32
	tileCols = 256
)

// Transpose: dst[j][i] = src[i][j].
func (q *Queue) Transpose(dst, src gpu.Matrix) {
	q.check("Transpose").Transpose(dst, src)
	d, s := denseOf(dst), denseOf(src)
	if d.Empty() {
		return
	}
	q.compute("Transpose", gpu.PhaseOther, func() {
		across := (s.Cols + tileCols - 1) / tileCols
		q.dev.pool.Each((s.Rows+tileRows-1)/tileRows*across, func(_, k int) {
			i, j := k/across*tileRows, k%across*tileCols
			kernel.TransposeTile(d, s, i, min(i+tileRows, s.Rows), j, min(j+tileCols, s.Cols))
		})
	})
}
