package main

import (
	"fmt"

	"github.com/mmcloughlin/avo/operand"
)

// gemmKernels writes every tile of gemm: with AVX-512 up to 12 rows by one or two vectors (24 sums, two vectors of B, two
// broadcasts: 28 of 32 registers) or 8 by three, with AVX2 up to 6 rows by one or two vectors or 4 by three (16 of 16).
func gemmKernels(w *writer) {
	w.both(func() {
		rows := [...]int{1: 6, 2: 6, 3: 4}
		if w.wide {
			rows = [...]int{1: 12, 2: 12, 3: 8}
		}
		for vectors := 1; vectors <= 3; vectors++ {
			for r := 1; r <= rows[vectors]; r++ {
				gemmTile(w, r, vectors)
			}
		}
	})
	for _, vectors := range []int{2, 3, 4, 6} {
		gemmPack(w, vectors)
	}
}

// gemmPack writes the copy of parts of rows, so many vectors of AVX2, to a dense block. Strides are in bytes.
func gemmPack(w *writer, vectors int) {
	w.begin(w.name("pack", fmt.Sprintf("v%d", vectors)), fmt.Sprintf("copies n ≥ 1 rows of %d elements, ld apart, to dst.", 8*vectors),
		"func(n int, dst, src *float32, ld uintptr)")
	n, dst, src, ld, v := w.arg("n"), w.arg("dst"), w.arg("src"), w.arg("ld"), w.vecs(vectors)
	w.Label("loop")
	for i := range v {
		w.VMOVUPS(mem{Base: src, Disp: w.size() * i}, v[i])
	}
	for i := range v {
		w.VMOVUPS(v[i], mem{Base: dst, Disp: w.size() * i})
	}
	w.ADDQ(ld, src)
	w.ADDQ(operand.I32(int32(w.size()*vectors)), dst)
	w.DECQ(n)
	w.JNZ(operand.LabelRef("loop"))
	w.end()
}

// gemmTile writes one tile kernel; see tileKernel in gemm.go of package host for the loop that it equals. Strides are in
// bytes, last is the number of columns in the last vector, k is at least 1. Meanwhile the tile of C comes to the L1 cache, and the memory at next, next+step, …, is
// prefetched into L2, one line per k.
func gemmTile(w *writer, rows, vectors int) {
	w.begin(w.name("tile", fmt.Sprintf("r%dv%d", rows, vectors)),
		fmt.Sprintf("computes %d rows by %d vectors of C.", rows, vectors),
		"func(k int, a *float32, rs, cs uintptr, b *float32, bs uintptr, c *float32, ldc uintptr, last int, add bool, "+
			"next, step uintptr)")
	gemmAwait(w, rows, vectors)
	k, a, rs, cs := w.arg("k"), w.arg("a"), w.arg("rs"), w.arg("cs")
	b, bs := w.arg("b"), w.arg("bs")

	// One pointer serves three rows of A: p, p+rs, p+2rs.
	pointers := []gp{a}
	for i := 3; i < rows; i += 3 {
		p := w.GP64()
		w.LEAQ(mem{Base: pointers[len(pointers)-1], Index: rs, Scale: 2}, p)
		w.ADDQ(rs, p)
		pointers = append(pointers, p)
	}
	sums := make([][]vec, rows)
	for i := range sums {
		sums[i] = w.vecs(vectors)
		w.zero(sums[i]...)
	}
	bv, t := w.vecs(vectors), w.vecs(2)
	if !w.wide && vectors == 3 {
		t[1] = t[0]
	}

	next, step := w.arg("next"), w.arg("step")
	w.Label("loop")
	w.PREFETCHT1(mem{Base: next})
	w.ADDQ(step, next)
	for j, v := range bv {
		w.VMOVUPS(mem{Base: b, Disp: w.size() * j}, v)
	}
	for i := range rows {
		m := mem{Base: pointers[i/3]}
		if i%3 > 0 {
			m.Index, m.Scale = rs, uint8(i%3)
		}
		w.VBROADCASTSS(m, t[i%2])
		for j, v := range bv {
			w.VFMADD231PS(v, t[i%2], sums[i][j])
		}
	}
	w.ADDQ(bs, b)
	for _, p := range pointers {
		w.ADDQ(cs, p)
	}
	w.DECQ(k)
	w.JNZ(operand.LabelRef("loop"))
	gemmStore(w, sums, t[0])
}

// gemmAwait prefetches the tile of C, which the loop gives the time to arrive.
func gemmAwait(w *writer, rows, vectors int) {
	c, ldc := w.arg("c"), w.arg("ldc")
	for i := range rows {
		for at := 0; at < w.size()*vectors; at += 64 {
			w.PREFETCHT0(mem{Base: c, Disp: at})
		}
		if i < rows-1 {
			w.ADDQ(ldc, c)
		}
	}
}

// gemmStore adds the old C if told to and writes the tile. Masked stores of AVX2 take many cycles on some processors, so that whole
// vectors have a way of their own.
func gemmStore(w *writer, sums [][]vec, t vec) {
	last := w.arg("last")
	if !w.wide {
		w.CMPQ(last, operand.Imm(uint64(w.size()/4)))
		w.JNE(operand.LabelRef("rest"))
		gemmRows(w, "whole", sums, t, nil)
		w.end()
		w.Label("rest")
	}
	gemmRows(w, "store", sums, t, w.firstLanes(last))
	w.end()
}

// gemmRows is gemmStore with a mask for the last vector of a row, nil for all of it.
func gemmRows(w *writer, label string, sums [][]vec, t vec, lanes mask) {
	c, ldc := w.arg("c"), w.arg("ldc")
	at := func(p gp, i, j int) (mem, mask) {
		m := mem{Base: p, Disp: w.size() * j}
		if j == len(sums[i])-1 {
			return m, lanes
		}
		return m, nil
	}
	add := w.Load(w.Param("add"), w.GP8())
	w.TESTB(add, add)
	w.JZ(operand.LabelRef(label))
	p := w.GP64()
	w.MOVQ(c, p)
	for i, row := range sums {
		for j, v := range row {
			m, k := at(p, i, j)
			w.addFrom(m, k, v, t)
		}
		w.ADDQ(ldc, p)
	}
	w.Label(label)
	for i, row := range sums {
		for j, v := range row {
			m, k := at(c, i, j)
			w.store(v, k, m)
		}
		w.ADDQ(ldc, c)
	}
}
