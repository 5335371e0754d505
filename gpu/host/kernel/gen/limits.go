package main

import (
	"fmt"

	"github.com/mmcloughlin/avo/operand"
)

// limitKernels writes the loops that measure what the machine gives: arithmetic, reading in order, reading rows anywhere.
// Benchmarks state their results as shares of these.
func limitKernels(w *writer) {
	w.both(func() {
		limitFMA(w)
		limitStream(w)
		limitGather(w)
	})
}

// limitFMA writes n rounds of independent multiplications with addition, on registers only: 24 with AVX-512, 12 with AVX2.
func limitFMA(w *writer) {
	sums := 12
	if w.wide {
		sums = 24
	}
	w.begin(w.name("limitFMA", ""), fmt.Sprintf("runs n rounds of %d independent vector multiply-adds.", sums), "func(n int)")
	n := w.arg("n")
	acc, x, y := w.vecs(sums), w.vec(), w.vec()
	w.zero(acc...)
	w.zero(x, y)
	w.Label("loop")
	for _, a := range acc {
		w.VFMADD231PS(x, y, a)
	}
	w.DECQ(n)
	w.JNZ(operand.LabelRef("loop"))
	w.end()
}

// limitStream writes loads of n·1024 bytes in order.
func limitStream(w *writer) {
	w.begin(w.name("limitStream", ""), "reads n·1024 bytes from p on.", "func(p *float32, n int)")
	p, n, v := w.arg("p"), w.arg("n"), w.vecs(4)
	w.Label("loop")
	for at := 0; at < 1024; at += w.size() {
		w.VMOVUPS(mem{Base: p, Disp: at}, v[at/w.size()%4])
	}
	w.ADDQ(operand.U32(1024), p)
	w.DECQ(n)
	w.JNZ(operand.LabelRef("loop"))
	w.end()
}

// limitGather writes loads of rows of 1024 bytes.
func limitGather(w *writer) {
	w.begin(w.name("limitGather", ""),
		"reads the n rows of 1024 bytes at p + 1024·idx[i], in order, and meanwhile prefetches those at p + 1024·idx[i+ahead].",
		"func(p *float32, idx *int32, n, ahead int)")
	p, idx, n, ahead, v := w.arg("p"), w.arg("idx"), w.arg("n"), w.arg("ahead"), w.vecs(4)
	next, now, soon := w.GP64(), w.GP64(), w.GP64()
	w.LEAQ(mem{Base: idx, Index: ahead, Scale: 4}, next)
	w.Label("loop")
	for _, r := range []struct{ from, to gp }{{idx, now}, {next, soon}} {
		w.MOVLQSX(mem{Base: r.from}, r.to)
		w.SHLQ(operand.Imm(10), r.to)
		w.ADDQ(p, r.to)
		w.ADDQ(operand.Imm(4), r.from)
	}
	for at := 0; at < 1024; at += w.size() {
		if at%64 == 0 {
			w.PREFETCHT0(mem{Base: soon, Disp: at})
		}
		w.VMOVUPS(mem{Base: now, Disp: at}, v[at/w.size()%4])
	}
	w.DECQ(n)
	w.JNZ(operand.LabelRef("loop"))
	w.end()
}
