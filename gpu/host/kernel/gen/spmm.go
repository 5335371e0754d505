package main

import (
	"fmt"

	"github.com/mmcloughlin/avo/operand"
)

// spmmVectors are the widths of the row kernels in vectors, for AVX-512 (true) and AVX2; package host cuts a matrix into
// column passes of these.
var spmmVectors = map[bool][]int{true: {1, 2, 3, 4, 5, 6, 7, 8, 12, 16}, false: {1, 2, 3, 4, 5, 6, 7, 8, 10, 12}}

// spmmSignature is that of all row kernels. They compute one pass of columns of stored rows k to k+rows:
//
//	t[j] = Σ_e val[e]·cs[idx[e]]·x[idx[e]][j], begin[k] ≤ e < end[k];  y[r][j] = scale[r]·t[j] (+ y[r][j] if add)
//
// with r = list[k], or k itself where list is nil. ldx and ldy are in bytes. val, cs and scale may be nil. last is the
// number of columns in the last vector. While entry e is added, the row of entry e+ahead is prefetched: idx must be
// readable up to ahead entries behind the last entry of the rows.
const spmmSignature = "func(begin, end *int64, list *int32, k, rows int, idx *int32, val, cs *float32, " +
	"x *float32, ldx uintptr, y *float32, ldy uintptr, scale *float32, last, ahead int, add bool)"

// spmmKernels writes the row kernels for float32, with and without weights.
func spmmKernels(w *writer) {
	w.both(func() {
		for _, weighted := range []bool{false, true} {
			for _, n := range spmmVectors[w.wide] {
				spmmRow(w, n, weighted)
			}
		}
	})
}

// rowLoop holds the registers of a row kernel that live across its loops.
type rowLoop struct {
	*writer
	weighted  bool
	k, stop   gp // current stored row, one behind the last one
	e, eEnd   gp // current entry, one behind the row's last one
	idx, next gp // idx, and idx+ahead
	x, ldx    gp
	tail      gp  // bytes from the first to the last element of a row's columns
	val, cs   gp  // weighted only
	weight    vec // weighted only
}

// startRows begins a row kernel and loads what lives across its loops.
func startRows(w *writer, name, doc string, weighted bool, signature string) *rowLoop {
	w.begin(name, doc, signature)
	l := &rowLoop{writer: w, weighted: weighted, k: w.arg("k"), stop: w.arg("rows"), idx: w.arg("idx"), x: w.arg("x"),
		ldx: w.arg("ldx"), e: w.GP64(), eEnd: w.GP64(), next: w.GP64()}
	w.ADDQ(l.k, l.stop)
	ahead := w.arg("ahead")
	w.LEAQ(mem{Base: l.idx, Index: ahead, Scale: 4}, l.next)
	if weighted {
		l.val, l.cs, l.weight = w.arg("val"), w.arg("cs"), w.vec()
	}
	return l
}

// tailed sets tail for n units of columns, the last one of last elements.
func (l *rowLoop) tailed(last gp, n, unitBytes, elementBytes int) {
	l.tail = l.GP64()
	l.MOVQ(last, l.tail)
	l.SHLQ(operand.Imm(uint64(elementBytes/2)), l.tail) // times 2 or 4
	l.ADDQ(operand.I32(int32(unitBytes*(n-1)-elementBytes)), l.tail)
}

// row begins the loop over rows: it loads the bounds of the current row's entries.
func (l *rowLoop) row() {
	l.Label("row")
	begin, end := l.arg("begin"), l.arg("end")
	l.MOVQ(mem{Base: begin, Index: l.k, Scale: 8}, l.e)
	l.MOVQ(mem{Base: end, Index: l.k, Scale: 8}, l.eEnd)
}

// entries writes the loop over a row's entries: add(p, q) adds the row at p and prefetches the row at q, line by line from
// there; the line of its last element is prefetched here, because a row may begin anywhere in a line.
func (l *rowLoop) entries(add func(p, q gp)) {
	l.CMPQ(l.e, l.eEnd)
	l.JGE(operand.LabelRef("sums"))
	l.Label("entry")
	p, q := l.GP64(), l.GP64()
	l.MOVLQSX(mem{Base: l.idx, Index: l.e, Scale: 4}, p)
	if l.weighted {
		l.loadWeight(p)
	}
	l.IMULQ(l.ldx, p)
	l.ADDQ(l.x, p)
	l.MOVLQSX(mem{Base: l.next, Index: l.e, Scale: 4}, q)
	l.IMULQ(l.ldx, q)
	l.ADDQ(l.x, q)
	l.PREFETCHT0(mem{Base: q, Index: l.tail, Scale: 1})
	add(p, q)
	l.INCQ(l.e)
	l.CMPQ(l.e, l.eEnd)
	l.JLT(operand.LabelRef("entry"))
	l.Label("sums")
}

// loadWeight sets weight to val[e]·cs[col], where one of the two may be nil.
func (l *rowLoop) loadWeight(col gp) {
	l.TESTQ(l.val, l.val)
	l.JZ(operand.LabelRef("scaleonly"))
	l.VBROADCASTSS(mem{Base: l.val, Index: l.e, Scale: 4}, l.weight)
	l.TESTQ(l.cs, l.cs)
	l.JZ(operand.LabelRef("weighted"))
	l.VMULSS(mem{Base: l.cs, Index: col, Scale: 4}, l.weight.AsX(), l.weight.AsX())
	l.VBROADCASTSS(l.weight.AsX(), l.weight)
	l.JMP(operand.LabelRef("weighted"))
	l.Label("scaleonly")
	l.VBROADCASTSS(mem{Base: l.cs, Index: col, Scale: 4}, l.weight)
	l.Label("weighted")
}

// finish multiplies the sums by the row's scale, hands the address of the row of y to write, with and without the old
// content to be added, and ends both loop and kernel.
func (l *rowLoop) finish(sums []vec, addOld, store func(y gp)) {
	r := l.GP64()
	l.MOVQ(l.k, r)
	list := l.arg("list")
	l.TESTQ(list, list)
	l.JZ(operand.LabelRef("identity"))
	l.MOVLQSX(mem{Base: list, Index: l.k, Scale: 4}, r)
	l.Label("identity")

	scale := l.arg("scale")
	l.TESTQ(scale, scale)
	l.JZ(operand.LabelRef("unscaled"))
	s := l.vec()
	l.VBROADCASTSS(mem{Base: scale, Index: r, Scale: 4}, s)
	for _, v := range sums {
		l.VMULPS(s, v, v)
	}
	l.Label("unscaled")

	ldy := l.arg("ldy")
	l.IMULQ(ldy, r)
	y := l.arg("y")
	l.ADDQ(r, y)
	add := l.Load(l.Param("add"), l.GP8())
	l.TESTB(add, add)
	l.JZ(operand.LabelRef("store"))
	addOld(y)
	l.Label("store")
	store(y)

	l.Label("next")
	l.INCQ(l.k)
	l.CMPQ(l.k, l.stop)
	l.JLT(operand.LabelRef("row"))
	l.end()
}

// spmmRow writes a float32 row kernel for n vectors of columns.
func spmmRow(w *writer, n int, weighted bool) {
	name := fmt.Sprintf("v%d", n)
	if weighted {
		name += "w"
	}
	l := startRows(w, w.name("spmm", name), fmt.Sprintf("computes %d vectors of columns.", n), weighted, spmmSignature)
	columns := w.arg("last")
	l.tailed(columns, n, w.size(), 4)
	last := w.firstLanes(columns)
	sums, t := w.vecs(n), w.vec()
	at := func(p gp, i int) (mem, mask) {
		m := mem{Base: p, Disp: w.size() * i}
		if i == n-1 {
			return m, last
		}
		return m, nil
	}
	l.row()
	w.zero(sums...)
	l.entries(func(p, q gp) {
		for i, sum := range sums {
			m, k := at(p, i)
			if w.wide || i%2 == 0 {
				w.PREFETCHT0(mem{Base: q, Disp: m.Disp})
			}
			if k != nil {
				w.load(m, k, t)
			}
			switch {
			case k == nil && weighted:
				w.VFMADD231PS(m, l.weight, sum)
			case k == nil:
				w.VADDPS(m, sum, sum)
			case weighted:
				w.VFMADD231PS(t, l.weight, sum)
			default:
				w.VADDPS(t, sum, sum)
			}
		}
	})
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
