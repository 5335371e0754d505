package host

import "capgnn/gpu"

// tileRows and tileCols are the part of src that Transpose moves at a time: 32 KiB, and two cache lines of each row of dst.
const (
	tileRows = 32
	tileCols = 256
)

// Transpose: dst[j][i] = src[i][j].
func (q *Queue) Transpose(dst, src gpu.Matrix) {
	q.check("Transpose").Transpose(dst, src)
	d, s := denseOf(dst), denseOf(src)
	if d.empty() {
		return
	}
	q.compute("Transpose", gpu.PhaseOther, func() {
		across := (s.cols + tileCols - 1) / tileCols
		q.dev.pool.each((s.rows+tileRows-1)/tileRows*across, func(_, k int) {
			i, j := k/across*tileRows, k%across*tileCols
			transposeTile(d, s, i, min(i+tileRows, s.rows), j, min(j+tileCols, s.cols))
		})
	})
}

// transposeTile: d[j][i] = s[i][j] for i0 ≤ i < i1, j0 ≤ j < j1.
func transposeTile(d, s dense, i0, i1, j0, j1 int) {
	i, j := transposeSquares(d, s, i0, i1, j0, j1)
	transposeGo(d, s, i0, i, j, j1)
	transposeGo(d, s, i, i1, j0, j1)
}

// transposeGo is transposeTile in Go.
func transposeGo(d, s dense, i0, i1, j0, j1 int) {
	if i0 == i1 {
		return
	}
	for j := j0; j < j1; j++ {
		out := d.row(j)[i0:i1]
		for k := range out {
			out[k] = s.v[(i0+k)*s.ld+j]
		}
	}
}
