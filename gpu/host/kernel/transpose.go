package kernel

// TransposeTile: d[j][i] = s[i][j] for i0 ≤ i < i1, j0 ≤ j < j1.
func TransposeTile(d, s Dense, i0, i1, j0, j1 int) {
	i, j := transposeSquares(d, s, i0, i1, j0, j1)
	transposeGo(d, s, i0, i, j, j1)
	transposeGo(d, s, i, i1, j0, j1)
}

// transposeGo is TransposeTile in Go.
func transposeGo(d, s Dense, i0, i1, j0, j1 int) {
	if i0 == i1 {
		return
	}
	for j := j0; j < j1; j++ {
		out := d.Row(j)[i0:i1]
		for k := range out {
			out[k] = s.V[(i0+k)*s.LD+j]
		}
	}
}
