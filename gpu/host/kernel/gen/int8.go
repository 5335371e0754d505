package main

import (
	"fmt"
	"math"

	"github.com/mmcloughlin/avo/operand"
)

// int8Kernels writes the loops over a row that is packed or unpacked. Every operation is rounded by itself, so they have the
// bits of the Go loops.
func int8Kernels(w *writer) {
	t := newPackTables(w)
	w.both(func() {
		topKernel(w)
		packKernel(w, t)
		spreadKernel(w)
	})
}

func topKernel(w *writer) {
	w.begin(w.name("int8top", ""), "is topBitsGo; any n ≥ 1.", "func(n int, src *float32) (bits uint32)")
	r := startRowPass(w, mem{})
	src := w.arg("src")
	noSign := w.broadcastConst(1<<31 - 1)
	tops := w.vecs(4)
	w.zero(tops...)
	r.unrolled("column", len(tops), func(_ string, k mask, i int) {
		v := r.get(src, k)
		w.and(noSign, v, v)
		w.VPMAXUD(v, tops[i], tops[i])
	})
	top, t := tops[0], w.vec()
	for _, other := range tops[1:] {
		w.VPMAXUD(other, top, top)
	}
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

// packTables are constants of packKernel in memory: AVX2 has no registers left for them.
type packTables struct {
	counters map[bool]mem // of the 64-bit lanes of a vector, by w.wide
	step     map[bool]mem // from a set to the next one
	unit     mem          // 2⁻¹⁷
	one      mem
	draws    mem // 2¹⁷ − 1
	order    mem // of 4-byte groups that were packed in the order 0, 2, 4, 6, 1, 3, 5, 7
}

func newPackTables(w *writer) packTables {
	// VSHUFPS makes two vectors of a set's words: one of the even 64-bit lanes' counters, one of the odd lanes'. In this order both
	// ascend.
	lanes := func(order ...uint32) func(i int) uint32 {
		return func(i int) uint32 { return order[i/2%len(order)] * uint32(1-i%2) }
	}
	same := func(v uint32) func(int) uint32 { return func(int) uint32 { return v } }
	return packTables{
		counters: map[bool]mem{true: w.table("counters512", lanes(0, 4, 1, 5, 2, 6, 3, 7)), false: w.table("counters256", lanes(0, 2, 1, 3))},
		step:     map[bool]mem{true: w.table("eight", same(8)), false: w.table("four", same(4))},
		unit:     w.table("unit", same(math.Float32bits(1.0/(1<<17)))),
		one:      w.table("one", same(1)),
		draws:    w.table("draws", same(1<<17-1)),
		order:    w.table("packed", func(i int) uint32 { return uint32(i%8/2 + i%2*4) }),
	}
}

// packing holds what packKernel's sets share.
type packing struct {
	*writer
	packTables
	scale    vec
	dst, src gp
}

// packKernel draws and rounds at once: a set has a counter in every 64-bit lane, which is 8 elements each, and goes from registers
// to bytes.
func packKernel(w *writer, t packTables) {
	w.begin(w.name("int8pack", ""), fmt.Sprintf("is quantiseGo of %d·sets elements, from a counter on; |src[j]| < 128·scale.", 4*w.lanes()),
		"func(sets int, dst *uint8, src *float32, scale float32, counter, id, stream, epoch, key0, key1 uint32)")
	sets := w.arg("sets")
	p := packing{writer: w, packTables: t, dst: w.arg("dst"), src: w.arg("src"), scale: w.broadcastArg("scale")}
	m0, m1 := w.broadcastConst(philoxM0), w.broadcastConst(philoxM1)
	keys := w.roundKeys()
	c := w.words("counter", "id", "stream", "epoch")
	next := w.vec()
	w.VPBROADCASTD(c[0], next)
	w.VPADDD(t.counters[w.wide], next, next)

	block := func(n int) {
		states := make([][4]vec, n)
		for k := range states {
			states[k] = [4]vec{w.vec(), w.vec(), w.vec(), w.vec()}
			w.VMOVUPS(next, states[k][0])
			w.VPADDD(t.step[w.wide], next, next)
			for i := 1; i < 4; i++ {
				w.VPBROADCASTD(c[i], states[k][i])
			}
		}
		w.philoxRounds(states, m0, m1, keys)
		for k, words := range states {
			p.set(words, 4*w.lanes()*k)
		}
		w.ADDQ(operand.U32(n*16*w.lanes()), p.src)
		w.ADDQ(operand.U32(n*4*w.lanes()), p.dst)
		w.SUBQ(operand.Imm(uint64(n)), sets)
	}
	w.Label("pair") // whose rounds need not wait for each other
	w.CMPQ(sets, operand.Imm(2))
	w.JLT(operand.LabelRef("single"))
	block(2)
	w.JMP(operand.LabelRef("pair"))
	w.Label("single")
	w.TESTQ(sets, sets)
	w.JZ(operand.LabelRef("done"))
	block(1)
	w.Label("done")
	w.end()
}

// set rounds a set's elements, which begin at element at.
func (p *packing) set(words [4]vec, at int) {
	// The words are the low halves of 64-bit lanes. Two counters' words 0 and 1 go to 16 bytes, 2 and 3 likewise; then all four of
	// a counter.
	const even, odd = 0x88, 0xdd
	p.VSHUFPS(operand.Imm(even), words[1], words[0], words[0])
	p.VSHUFPS(operand.Imm(even), words[3], words[2], words[2])
	p.VSHUFPS(operand.Imm(odd), words[2], words[0], words[1])
	p.VSHUFPS(operand.Imm(even), words[2], words[0], words[0])
	if p.wide { // four counters fill a vector: 16 elements have its low halves, the next 16 its high ones
		for i := range 4 {
			from := at + 16*i
			p.VPMOVSDB(p.rounded(words[i/2], i%2 == 1, from), mem{Base: p.dst, Disp: from})
		}
		return
	}
	var r [4]vec
	for i := range r {
		r[i] = p.rounded(words[i%2], i >= 2, at+8*i)
	}
	p.VPACKSSDW(r[1], r[0], r[0])
	p.VPACKSSDW(r[3], r[2], r[2])
	p.VPACKSSWB(r[2], r[0], r[0])
	order := p.vec()
	p.VMOVUPS(p.order, order)
	p.VPERMD(r[0], order, r[0])
	p.VMOVUPS(r[0], mem{Base: p.dst, Disp: at})
}

// rounded returns ⌊src/scale + u⌋ of a vector of elements from one on. u has the low halves of words, or the high ones. Whoever
// narrows it saturates at 127; below -127 it is not, as src/scale + u is at least -127 - 2⁻¹⁷ + 2⁻¹⁷.
func (p *packing) rounded(words vec, high bool, from int) vec {
	u, v := p.vec(), p.vec()
	if high { // 2h + 1
		p.VPSRLD(operand.Imm(15), words, u)
	} else {
		p.VPADDD(words, words, u)
		p.and(p.draws, u, u)
	}
	p.or(p.one, u)
	p.VCVTDQ2PS(u, u)
	p.VMOVUPS(mem{Base: p.src, Disp: 4 * from}, v)
	p.VDIVPS(p.scale, v, v)
	if p.VFMADD231PS(p.unit, u, v); p.wide { // the product is exact
		p.VCVTPS2DQ_RD_SAE(v, v)
		return v
	}
	const down = 9
	p.VROUNDPS(operand.Imm(down), v, v)
	p.VCVTPS2DQ(v, v)
	return v
}

// or computes v |= m.
func (w *writer) or(m operand.Op, v vec) {
	if w.wide {
		w.VPORD(m, v, v)
	} else {
		w.VPOR(m, v, v)
	}
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
