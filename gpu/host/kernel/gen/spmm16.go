package main

import (
	"fmt"
	"strings"

	"github.com/mmcloughlin/avo/operand"
)

// spmm16Units are the widths of the bf16 row kernels in units: of 32 columns with AVX-512 (true), of 8 with AVX2.
var spmm16Units = map[bool][]int{true: {1, 2, 3, 4, 6, 8}, false: {1, 2, 3, 4, 6, 8}}

// spmm16Kernels writes the row kernels for x in bf16: sums and y are float32.
func spmm16Kernels(w *writer) {
	signature := strings.Replace(spmmSignature, "x *float32", "x *uint16", 1)
	even := w.table("interleavelow", func(i int) uint32 { return uint32(i/2 + i%2*16) })
	odd := w.table("interleavehigh", func(i int) uint32 { return uint32(8 + i/2 + i%2*16) })
	w.iota()
	w.both(func() {
		for _, weighted := range []bool{false, true} {
			for _, n := range spmm16Units[w.wide] {
				suffix := fmt.Sprintf("u%d", n)
				if weighted {
					suffix += "w"
				}
				doc := fmt.Sprintf("computes %d units of columns.", n)
				l := startRows(w, w.name("bfspmm", suffix), doc, weighted, signature)
				if w.wide {
					spmm16Wide(l, n, even, odd)
				} else {
					spmm16Narrow(l, n)
				}
			}
		}
	})
}

// add adds v, weighted if the kernel is, to sum.
func (l *rowLoop) add(v, sum vec) {
	if l.weighted {
		l.VFMADD231PS(v, l.weight, sum)
	} else {
		l.VADDPS(v, sum, sum)
	}
}

// spmm16Wide sums 32 columns at a time: a vector of 16 pairs is shifted for its even columns and masked for its odd
// columns, so that both are float32; the two sums are interleaved once per row. (Go's assembler has no bf16 instruction.)
// last counts columns of the last unit, 1 to 32.
func spmm16Wide(l *rowLoop, n int, lowOrder, highOrder mem) {
	w := l.writer
	last := l.arg("last")
	l.tailed(last, n, 64, 2)
	in, outLow, outHigh := l.lastUnit(last)
	sums, t0, t1 := w.vecs(2*n), w.vec(), w.vec()
	low, high := w.vec(), w.vec()
	w.VMOVUPS(lowOrder, low)
	w.VMOVUPS(highOrder, high)
	upper := w.broadcastConst(0xffff0000)
	l.row()
	w.zero(sums...)
	l.entries(func(p, q gp) {
		for i := range n {
			m := mem{Base: p, Disp: 64 * i}
			w.PREFETCHT0(mem{Base: q, Disp: 64 * i})
			if i == n-1 {
				w.VMOVDQU16_Z(m, in, t1)
				w.VPSLLD(operand.Imm(16), t1, t0)
				w.VPANDD(t1, upper, t1)
			} else {
				w.VPSLLD(operand.Imm(16), m, t0)
				w.VPANDD(m, upper, t1)
			}
			l.add(t0, sums[2*i])
			l.add(t1, sums[2*i+1])
		}
	})
	at := func(y gp, i int) (mem, mask) {
		m := mem{Base: y, Disp: 64 * i}
		switch i {
		case 2*n - 2:
			return m, outLow
		case 2*n - 1:
			return m, outHigh
		}
		return m, nil
	}
	ordered := func(i int) vec {
		order := low
		if i%2 == 1 {
			order = high
		}
		w.VMOVAPS(sums[i/2*2], t0)
		w.VPERMT2PS(sums[i/2*2+1], order, t0)
		return t0
	}
	each := func(y gp, add bool) {
		for i := range sums {
			m, k := at(y, i)
			v := ordered(i)
			if add {
				w.addFrom(m, k, v, t1)
			}
			w.store(v, k, m)
		}
	}
	l.finish(sums, func(y gp) {
		each(y, true)
		w.JMP(operand.LabelRef("next"))
	}, func(y gp) { each(y, false) })
}

// lastUnit returns the masks of the last unit, of last columns: of its 16-bit inputs and of its two output vectors.
func (l *rowLoop) lastUnit(last gp) (in, outLow, outHigh mask) {
	ones, bits := l.GP64(), l.GP32()
	l.MOVQ(operand.U32(0xffffffff), ones)
	in, outLow, outHigh = l.K(), l.K(), l.K()
	l.BZHIL(last.As32(), ones.As32(), bits)
	l.KMOVD(bits, in)
	l.KMOVW(bits, outLow)
	l.SHRL(operand.Imm(16), bits)
	l.KMOVW(bits, outHigh)
	return in, outLow, outHigh
}

// spmm16Narrow sums 8 columns at a time. last counts columns of the last unit, 1 to 8. AVX2 has no masked load of 16-bit
// elements, so the last unit begins 8-last columns early and its first lanes are dropped: x must have 8 columns or more.
func spmm16Narrow(l *rowLoop, n int) {
	w := l.writer
	last, early := l.arg("last"), w.GP64()
	l.tailed(last, n, 16, 2)
	w.LEAQ(mem{Base: last, Index: last, Scale: 1, Disp: -16}, early) // bytes of x; twice that in y
	keep, t := w.vec(), w.vec()
	w.NEGQ(last)
	w.ADDQ(operand.Imm(7), last)
	w.VMOVD(last.As32(), t.AsX())
	w.VPBROADCASTD(t.AsX(), t)
	w.VMOVUPS(w.iota(), keep)
	w.VPCMPGTD(t, keep, keep)
	sums := w.vecs(n)
	l.row()
	w.zero(sums...)
	l.entries(func(p, q gp) {
		for i, sum := range sums {
			if i%4 == 0 {
				w.PREFETCHT0(mem{Base: q, Disp: 16 * i})
			}
			m := mem{Base: p, Disp: 16 * i}
			if i == n-1 {
				m.Index, m.Scale = early, 1
			}
			w.VPMOVZXWD(m, t)
			w.VPSLLD(operand.Imm(16), t, t)
			l.add(t, sum)
		}
	})
	at := func(y gp, i int) (mem, mask) {
		m := mem{Base: y, Disp: 32 * i}
		if i == n-1 {
			m.Index, m.Scale = early, 2
			return m, keep
		}
		return m, nil
	}
	l.finish(sums, func(y gp) {
		for i, sum := range sums {
			m, k := at(y, i)
			w.addFrom(m, k, sum, t)
		}
	}, func(y gp) {
		for i, sum := range sums {
			m, k := at(y, i)
			w.store(sum, k, m)
		}
	})
}
