//go:build !noasm

package host

// tileFunc is the signature of the assembly tiles: one function per number of rows and of vectors. Strides are in bytes,
// last counts the columns of the last vector.
type tileFunc = func(k int, a *float32, rs, cs uintptr, b *float32, bs uintptr, c *float32, ldc uintptr, last int, add bool,
	next, step uintptr)

var tiles512 = [2][12]tileFunc{
	{
		tile512r1v1, tile512r2v1, tile512r3v1, tile512r4v1, tile512r5v1, tile512r6v1,
		tile512r7v1, tile512r8v1, tile512r9v1, tile512r10v1, tile512r11v1, tile512r12v1,
	},
	{
		tile512r1v2, tile512r2v2, tile512r3v2, tile512r4v2, tile512r5v2, tile512r6v2,
		tile512r7v2, tile512r8v2, tile512r9v2, tile512r10v2, tile512r11v2, tile512r12v2,
	},
}

var tiles256 = [2][6]tileFunc{
	{tile256r1v1, tile256r2v1, tile256r3v1, tile256r4v1, tile256r5v1, tile256r6v1},
	{tile256r1v2, tile256r2v2, tile256r3v2, tile256r4v2, tile256r5v2, tile256r6v2},
}

var (
	kernel512 = tileKernel{mr: 12, nr: 32, lanes: 16, tile: tileAsm512}
	kernel256 = tileKernel{mr: 6, nr: 16, lanes: 8, tile: tileAsm256}
)

// gemmKernel returns the tile kernel in use.
func gemmKernel() *tileKernel {
	switch active {
	case avx512:
		return &kernel512
	case avx2:
		return &kernel256
	}
	return &portableTile
}

func tileAsm512(m, n, k int, a []float32, rs, cs int, b []float32, bs int, c []float32, ldc int, add bool, h hint) {
	v := (n - 1) / 16
	checkTile(m, n, k, a, rs, cs, b, bs, c, ldc)
	tiles512[v][m-1](k, &a[0], uintptr(rs)*4, uintptr(cs)*4, &b[0], uintptr(bs)*4, &c[0], uintptr(ldc)*4, n-16*v, add,
		h.next, h.step)
}

func tileAsm256(m, n, k int, a []float32, rs, cs int, b []float32, bs int, c []float32, ldc int, add bool, h hint) {
	v := (n - 1) / 8
	checkTile(m, n, k, a, rs, cs, b, bs, c, ldc)
	tiles256[v][m-1](k, &a[0], uintptr(rs)*4, uintptr(cs)*4, &b[0], uintptr(bs)*4, &c[0], uintptr(ldc)*4, n-8*v, add,
		h.next, h.step)
}

// checkTile panics, as the Go tile would, if a tile does not lie inside of its slices.
func checkTile(m, n, k int, a []float32, rs, cs int, b []float32, bs int, c []float32, ldc int) {
	_ = a[(m-1)*rs+(k-1)*cs]
	_ = b[(k-1)*bs+n-1]
	_ = c[(m-1)*ldc+n-1]
}
