package main

import "github.com/mmcloughlin/avo/operand"

// bf16Kernels writes the conversions of a row. Go's assembler has no bf16 instruction: rounding is integer arithmetic, as
// in toBF16Go. AVX-512 takes any number of elements, AVX2, which has no masks for 16-bit elements, multiples of 8.
func bf16Kernels(w *writer) {
	w.both(func() {
		narrowKernel(w)
		widenKernel(w)
	})
}

// beside writes the loop over whole vectors and, with AVX-512, the rest. body gets the addresses of the current vectors: of
// float32s at p, and of elements at small whose size is 4/2^shift bytes.
func (r *rowPass) beside(p, small gp, shift uint64, body func(full, small mem, k mask)) {
	at := func() mem {
		h := r.GP64()
		r.MOVQ(r.j, h)
		r.SHRQ(operand.Imm(shift), h)
		return mem{Base: small, Index: h, Scale: 1}
	}
	r.columns("column", func(k mask) {
		if k == nil || r.wide {
			body(r.at(p), at(), k)
		}
	})
}

func narrowKernel(w *writer) {
	w.begin(w.name("bf", "narrow"), "is toBF16.", "func(n int, dst *uint16, src *float32)")
	r := startRowPass(w, mem{})
	dst, src := w.arg("dst"), w.arg("src")
	below, one, quiet := w.broadcastConst(0x7fff), w.broadcastConst(1), w.broadcastConst(0x400000)
	r.beside(src, dst, 1, func(from, to mem, k mask) {
		v, odd, t := w.vec(), w.vec(), w.vec()
		w.load(from, k, v)
		w.VPSRLD(operand.Imm(16), v, odd)
		w.and(one, odd, odd)
		w.VPADDD(below, v, t)
		w.VPADDD(odd, t, t)
		// A number that is none stays one, made quiet.
		const unordered = 3
		if w.wide {
			nan := w.K()
			w.VCMPPS(operand.Imm(unordered), v, v, nan)
			w.VPORD(quiet, v, nan, t)
		} else {
			nan, still := w.vec(), w.vec()
			w.VCMPPS(operand.Imm(unordered), v, v, nan)
			w.VPOR(quiet, v, still)
			w.VBLENDVPS(nan, still, t, t)
		}
		w.VPSRLD(operand.Imm(16), t, t)
		switch {
		case !w.wide:
			w.VPACKUSDW(t, t, t)
			w.VPERMQ(operand.Imm(8), t, t)
			w.VMOVDQU(t.AsX(), to)
		case k == nil:
			w.VPMOVDW(t, to)
		default:
			w.VPMOVDW(t, k, to)
		}
	})
	w.end()
}

// and computes v = a & b of integers.
func (w *writer) and(a operand.Op, b, v vec) {
	if w.wide {
		w.VPANDD(a, b, v)
		return
	}
	w.VPAND(a, b, v)
}

func widenKernel(w *writer) {
	w.begin(w.name("bf", "widen"), "is fromBF16.", "func(n int, dst *float32, src *uint16)")
	r := startRowPass(w, mem{})
	dst, src := w.arg("dst"), w.arg("src")
	r.beside(dst, src, 1, func(to, from mem, k mask) {
		v := w.vec()
		if k == nil {
			w.VPMOVZXWD(from, v)
		} else {
			w.VPMOVZXWD_Z(from, k, v)
		}
		w.VPSLLD(operand.Imm(16), v, v)
		w.store(v, k, to)
	})
	w.end()
}
