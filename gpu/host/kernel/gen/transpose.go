package main

import "github.com/mmcloughlin/avo/operand"

// transposeKernels writes the transposition of squares of 8×8, in 256-bit registers for both instruction sets: eight rows
// are paired by 32-bit, then by 64-bit elements, then by halves.
func transposeKernels(w *writer) {
	w.isa(false)
	w.begin(w.name("transpose", "squares"),
		"transposes squares of 8×8, one below the other in dst and one beside the other in src. Strides are in bytes.",
		"func(squares int, dst *float32, ldd uintptr, src *float32, lds uintptr)")
	n, dst, ldd, src, lds := w.arg("squares"), w.arg("dst"), w.arg("ldd"), w.arg("src"), w.arg("lds")
	row, end := w.GP64(), w.GP64()
	v := w.vecs(8)
	w.Label("square")
	w.MOVQ(src, row)
	for _, x := range v {
		w.VMOVUPS(mem{Base: row}, x)
		w.ADDQ(lds, row)
	}
	t := w.vecs(8)
	for i := 0; i < 8; i += 2 {
		w.VUNPCKLPS(v[i+1], v[i], t[i])
		w.VUNPCKHPS(v[i+1], v[i], t[i+1])
	}
	for i := 0; i < 8; i += 4 { // v[i+c] holds columns c and c+4 of rows i to i+3
		for c := range 2 {
			w.VUNPCKLPD(t[i+2+c], t[i+c], v[i+2*c])
			w.VUNPCKHPD(t[i+2+c], t[i+c], v[i+2*c+1])
		}
	}
	w.MOVQ(dst, end)
	for high := range 2 {
		for c := range 4 {
			w.VPERM2F128(operand.Imm(uint64(0x20+0x11*high)), v[4+c], v[c], t[c])
			w.VMOVUPS(t[c], mem{Base: end})
			w.ADDQ(ldd, end)
		}
	}
	w.MOVQ(end, dst)
	w.ADDQ(operand.Imm(32), src)
	w.DECQ(n)
	w.JNZ(operand.LabelRef("square"))
	w.end()
}
