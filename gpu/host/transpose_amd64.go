//go:build !noasm

package host

// transposeSquares does the squares of 8×8 of a tile, and returns where they end.
func transposeSquares(d, s dense, i0, i1, j0, j1 int) (i, j int) {
	squares := (j1 - j0) / 8
	if active == generic || squares == 0 {
		return i0, j0
	}
	j = j0 + 8*squares
	for i = i0; i+8 <= i1; i += 8 {
		_, _ = d.row(j - 1)[i+7], s.row(i + 7)[j-1]
		transpose256squares(squares, &d.v[j0*d.ld+i], uintptr(d.ld)*4, &s.v[i*s.ld+j0], uintptr(s.ld)*4)
	}
	return i, j
}
