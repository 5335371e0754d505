//go:build !noasm

package host

// dotRows is dotHeads for addresses: heads rows of channels each, channels ≥ 1. It needs AVX2 and FMA. Written by hand: it
// is one short loop, the same for avx2 and avx512.
//
//go:noescape
func dotRows(out, a, b, next *float32, heads, channels int)
