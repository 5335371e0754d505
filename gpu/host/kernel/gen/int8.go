package main

import (
	"math"

	"github.com/mmcloughlin/avo/operand"
)

// int8Kernels writes the loops over a row that is packed or unpacked. Every operation is rounded by itself, so they have the
// bits of the Go loops. AVX-512 takes any number of elements; AVX2, which has no masks for bytes, multiples of 8.
func int8Kernels(w *writer) {
	w.both(func() {
		topKernel(w)
		quantiseKernel(w)
		spreadKernel(w)
	})
}

func topKernel(w *writer) {
	w.begin(w.name("int8top", ""), "is topBitsGo; any n ≥ 1.", "func(n int, src *float32) (bits uint32)")
	r := startRowPass(w, mem{})
	src := w.arg("src")
	noSign, top := w.broadcastConst(1<<31-1), w.vec()
	w.zero(top)
	r.columns("column", func(k mask) {
		v := r.get(src, k)
		w.and(noSign, v, v)
		w.VPMAXUD(v, top, top)
	})
	t := w.vec()
	if w.wide {
		w.VEXTRACTF64X4(operand.Imm(1), top, t.AsY())
		w.VPMAXUD(t.AsY(), top.AsY(), top.AsY())
	}
	w.VEXTRACTF128(operand.Imm(1), top.AsY(), t.AsX())
	w.VPMAXUD(t.AsX(), top.AsX(), top.AsX())
	w.VPERMILPS(operand.Imm(0x4e), top.AsX(), t.AsX())
	w.VPMAXUD(t.AsX(), top.AsX(), top.AsX())
	w.VPERMILPS(operand.Imm(0xb1), top.AsX(), t.AsX())
	w.VPMAXUD(t.AsX(), top.AsX(), top.AsX())
	bits := w.GP32()
	w.VMOVD(top.AsX(), bits)
	w.MOVL(bits, w.result(0))
	w.end()
}

func quantiseKernel(w *writer) {
	w.begin(w.name("int8quantise", ""), "is quantiseGo. It reads words of whole vectors.",
		"func(n int, dst *uint8, src *float32, words *uint32, scale float32)")
	r := startRowPass(w, mem{})
	dst, src, words := w.arg("dst"), w.arg("src"), w.arg("words")
	scale, odd := w.broadcastArg("scale"), w.broadcastConst(1)
	unit := w.broadcastConst(math.Float32bits(1.0 / (1 << 17)))
	most, least := w.broadcastConst(math.Float32bits(127)), w.broadcastConst(math.Float32bits(-127))
	r.beside(src, dst, 2, func(from, to mem, k mask) {
		v, u := w.vec(), w.vec()
		w.load(from, k, v)
		w.VDIVPS(scale, v, v)
		w.VPSRLD(operand.Imm(16), r.get(words, nil), u)
		w.VPADDD(u, u, u)
		w.VPADDD(odd, u, u)
		w.VCVTDQ2PS(u, u)
		w.VFMADD231PS(unit, u, v) // the product is exact
		const down = 9
		if w.wide {
			w.VRNDSCALEPS(operand.Imm(down), v, v)
		} else {
			w.VROUNDPS(operand.Imm(down), v, v)
		}
		w.VMINPS(most, v, v)
		w.VMAXPS(least, v, v)
		w.VCVTPS2DQ(v, v)
		switch {
		case !w.wide:
			w.VPACKSSDW(v, v, v)
			w.VPERMQ(operand.Imm(8), v, v)
			w.VPACKSSWB(v.AsX(), v.AsX(), v.AsX())
			w.VMOVQ(v.AsX(), to)
		case k == nil:
			w.VPMOVDB(v, to)
		default:
			w.VPMOVDB(v, k, to)
		}
	})
	w.end()
}

func spreadKernel(w *writer) {
	w.begin(w.name("int8spread", ""), "is spreadGo.", "func(n int, dst *float32, src *uint8, scale float32)")
	r := startRowPass(w, mem{})
	dst, src, scale := w.arg("dst"), w.arg("src"), w.broadcastArg("scale")
	r.beside(dst, src, 2, func(to, from mem, k mask) {
		v := w.vec()
		if k == nil {
			w.VPMOVSXBD(from, v)
		} else {
			w.VPMOVSXBD_Z(from, k, v)
		}
		w.VCVTDQ2PS(v, v)
		w.VMULPS(scale, v, v)
		w.store(v, k, to)
	})
	w.end()
}
