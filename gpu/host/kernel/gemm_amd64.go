//go:build !noasm

package kernel

// tileFunc is the signature of the assembly tiles: one function per number of rows and of vectors. Strides are in bytes,
// last counts the columns of the last vector.
type tileFunc = func(k int, a *float32, rs, cs uintptr, b *float32, bs uintptr, c *float32, ldc uintptr, last int, add bool,
	next, step uintptr)

// By vectors and rows, each less one.
var tiles512 = [3][12]tileFunc{
	{
		tile512r1v1, tile512r2v1, tile512r3v1, tile512r4v1, tile512r5v1, tile512r6v1,
		tile512r7v1, tile512r8v1, tile512r9v1, tile512r10v1, tile512r11v1, tile512r12v1,
	},
	{
		tile512r1v2, tile512r2v2, tile512r3v2, tile512r4v2, tile512r5v2, tile512r6v2,
		tile512r7v2, tile512r8v2, tile512r9v2, tile512r10v2, tile512r11v2, tile512r12v2,
	},
	{
		tile512r1v3, tile512r2v3, tile512r3v3, tile512r4v3, tile512r5v3, tile512r6v3, tile512r7v3, tile512r8v3,
	},
}

var tiles256 = [3][6]tileFunc{
	{tile256r1v1, tile256r2v1, tile256r3v1, tile256r4v1, tile256r5v1, tile256r6v1},
	{tile256r1v2, tile256r2v2, tile256r3v2, tile256r4v2, tile256r5v2, tile256r6v2},
	{tile256r1v3, tile256r2v3, tile256r3v3, tile256r4v3},
}

var (
	kernel512 = tileKernel{mr: 12, nr: 32, mr3: 8, lanes: 16, tile: tileAsm512}
	kernel256 = tileKernel{mr: 6, nr: 16, mr3: 4, lanes: 8, tile: tileAsm256}
)

// gemmKernel returns the tile kernel in use.
func gemmKernel() *tileKernel {
	switch Active {
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

// packBlock copies n rows of width elements, ld apart, to dst. It reports false, having done nothing, if it has no kernel for
// that or if src ends before the last row.
func packBlock(dst, src []float32, n, width, ld int) bool {
	if Active == generic || len(src) < (n-1)*ld+width {
		return false
	}
	_ = dst[n*width-1]
	switch d, s, bytes := &dst[0], &src[0], uintptr(ld)*4; width {
	case 16:
		pack256v2(n, d, s, bytes)
	case 24:
		pack256v3(n, d, s, bytes)
	case 32:
		pack256v4(n, d, s, bytes)
	case 48:
		pack256v6(n, d, s, bytes)
	default:
		return false
	}
	return true
}

// checkTile panics, as the Go tile would, if a tile does not lie inside of its slices.
func checkTile(m, n, k int, a []float32, rs, cs int, b []float32, bs int, c []float32, ldc int) {
	_ = a[(m-1)*rs+(k-1)*cs]
	_ = b[(k-1)*bs+n-1]
	_ = c[(m-1)*ldc+n-1]
}
