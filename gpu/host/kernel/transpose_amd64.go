//go:build !noasm

package kernel

// transposeSquares does the squares of 8×8 of a tile, and returns where they end.
func transposeSquares(d, s Dense, i0, i1, j0, j1 int) (i, j int) {
	squares := (j1 - j0) / 8
	if Active == generic || squares == 0 {
		return i0, j0
	}
	j = j0 + 8*squares
	for i = i0; i+8 <= i1; i += 8 {
		_, _ = d.Row(j - 1)[i+7], s.Row(i + 7)[j-1]
		transpose256squares(squares, &d.V[j0*d.LD+i], uintptr(d.LD)*4, &s.V[i*s.LD+j0], uintptr(s.LD)*4)
	}
	return i, j
}
