package main

import "github.com/mmcloughlin/avo/operand"

// channelLoop is a loop over the columns of one head after the other.
type channelLoop struct {
	*writer
	whole, rest gp // bytes of a head's whole vectors; columns behind them
	tail        mask
}

func startChannels(w *writer) *channelLoop {
	l := &channelLoop{writer: w, whole: w.arg("channels"), rest: w.GP64()}
	w.MOVQ(l.whole, l.rest)
	w.ANDQ(operand.Imm(uint64(w.lanes()-1)), l.rest)
	w.SUBQ(l.rest, l.whole)
	w.SHLQ(operand.Imm(2), l.whole)
	l.tail = w.firstLanes(l.rest)
	return l
}

// each writes a loop over the vectors of a head: body gets the byte offset of one, and its columns, nil for all.
func (l *channelLoop) each(label string, body func(j gp, k mask)) {
	j := l.GP64()
	l.XORQ(j, j)
	l.TESTQ(l.whole, l.whole)
	l.JZ(operand.LabelRef(label + "rest"))
	l.Label(label)
	body(j, nil)
	l.ADDQ(operand.Imm(uint64(l.size())), j)
	l.CMPQ(j, l.whole)
	l.JLT(operand.LabelRef(label))
	l.Label(label + "rest")
	l.TESTQ(l.rest, l.rest)
	l.JZ(operand.LabelRef(label + "done"))
	body(j, l.tail)
	l.Label(label + "done")
}

// gatDots computes, for each of count rows and each head:
//
//	out[i][h] = Σ_c a[i][hC+c]·(b[i][hC+c] - bias[hC+c]) - less[i][h]
//
// bias and less may be nil; less has gatLanes numbers per row. ldb = 0: one row for all.
func gatDots(w *writer) {
	w.begin(w.name("gat", "dots"), "computes dot products per row and head, see gen/gat_rows.go.",
		"func(count, heads, channels int, a *float32, lda uintptr, b *float32, ldb uintptr, bias, less, out *float32, "+
			"ldout uintptr)")
	l := startChannels(w)
	a, b, less, out, count := w.arg("a"), w.arg("b"), w.arg("less"), w.arg("out"), w.arg("count")
	w.Label("row")
	p, q, bias, h, heads := w.GP64(), w.GP64(), w.arg("bias"), w.GP64(), w.arg("heads")
	w.MOVQ(a, p)
	w.MOVQ(b, q)
	w.XORQ(h, h)
	w.Label("head")
	sum := w.vec()
	w.zero(sum)
	w.TESTQ(bias, bias)
	w.JNZ(operand.LabelRef("biased"))
	l.dot("dot", p, q, nil, sum)
	w.JMP(operand.LabelRef("dotted"))
	w.Label("biased")
	l.dot("biaseddot", p, q, &bias, sum)
	w.LEAQ(mem{Base: bias, Index: l.whole, Scale: 1}, bias)
	w.LEAQ(mem{Base: bias, Index: l.rest, Scale: 4}, bias)
	w.Label("dotted")
	w.sum(sum)
	w.TESTQ(less, less)
	w.JZ(operand.LabelRef("store"))
	w.VSUBSS(mem{Base: less, Index: h, Scale: 4}, sum.AsX(), sum.AsX())
	w.Label("store")
	w.VMOVSS(sum.AsX(), mem{Base: out, Index: h, Scale: 4})
	for _, r := range []gp{p, q} {
		w.LEAQ(mem{Base: r, Index: l.whole, Scale: 1}, r)
		w.LEAQ(mem{Base: r, Index: l.rest, Scale: 4}, r)
	}
	w.INCQ(h)
	w.CMPQ(h, heads)
	w.JLT(operand.LabelRef("head"))
	w.ADDQ(w.address("lda"), a)
	w.ADDQ(w.address("ldb"), b)
	w.ADDQ(w.address("ldout"), out)
	w.TESTQ(less, less)
	w.JZ(operand.LabelRef("next"))
	w.ADDQ(operand.Imm(4*gatLanes), less)
	w.Label("next")
	w.DECQ(count)
	w.JNZ(operand.LabelRef("row"))
	w.end()
}

func (l *channelLoop) dot(label string, p, q gp, bias *gp, sum vec) {
	l.each(label, func(j gp, k mask) {
		v, u := l.vec(), l.vec()
		l.load(mem{Base: q, Index: j, Scale: 1}, k, v)
		if bias != nil {
			l.load(mem{Base: *bias, Index: j, Scale: 1}, k, u)
			l.VSUBPS(u, v, v)
		}
		if k == nil {
			l.VFMADD231PS(mem{Base: p, Index: j, Scale: 1}, v, sum)
			return
		}
		l.load(mem{Base: p, Index: j, Scale: 1}, k, u)
		l.VFMADD231PS(u, v, sum)
	})
}

// gatScoresGrad computes a pass of columns, at most a vector of them, for count rows:
//
//	dt[i][j] += asrc[j]·ds[i][head(j)] + adst[j]·dd[i][head(j)]
//	dsrc[j] += Σ_i ds[i][head(j)]·t[i][j];  ddst[j] += Σ_i dd[i][head(j)]·t[i][j]
//
// or without what is of destinations. head holds the heads of the columns. The columns of the row ahead rows further on are
// prefetched: those of the caller's next rows, if it takes ahead rows at a time.
func gatScoresGrad(w *writer, both bool) {
	name, arrays, sets := "scoresGrad", "ds, asrc, dsrc *float32, ldds uintptr", []string{"src"}
	if both {
		name, sets = "scoresGrad2", []string{"src", "dst"}
		arrays = "ds, asrc, dsrc *float32, ldds uintptr, dd, adst, ddst *float32, lddd uintptr"
	}
	w.begin(w.name("gat", name), "is the gradient of scores, see gen/gat_rows.go.",
		"func(count, heads, columns, ahead int, head *int32, t *float32, ldt uintptr, dt *float32, lddt uintptr, "+arrays+")")
	lanes := w.firstLanes(w.arg("heads"))
	tail := w.firstLanes(w.arg("columns"))
	head := w.vec()
	p := w.arg("head")
	w.VMOVUPS(mem{Base: p}, head)
	a, sums, grads := w.vecs(len(sets)), w.vecs(len(sets)), []gp{}
	w.zero(sums...)
	for i, s := range sets {
		p := w.arg("a" + s)
		w.load(mem{Base: p}, tail, a[i])
		grads = append(grads, w.arg("d"+s[:1]))
	}
	if both {
		grads[1] = w.arg("dd")
	}
	grads[0] = w.arg("ds")
	t, dt, count := w.arg("t"), w.arg("dt"), w.arg("count")
	next, nextD := w.arg("ahead"), w.GP64()
	w.MOVQ(next, nextD)
	w.IMULQ(w.address("ldt"), next)
	w.IMULQ(w.address("lddt"), nextD)
	w.Label("row")
	w.PREFETCHT0(mem{Base: t, Index: next, Scale: 1})
	w.PREFETCHT0(mem{Base: dt, Index: nextD, Scale: 1})
	v, d := w.vec(), w.vec()
	w.load(mem{Base: t}, tail, v)
	w.load(mem{Base: dt}, tail, d)
	for i := range sets {
		g := w.vec()
		w.load(mem{Base: grads[i]}, lanes, g)
		w.VPERMPS(g, head, g)
		w.VFMADD231PS(g, v, sums[i])
		w.VFMADD231PS(g, a[i], d)
		w.ADDQ(w.address([]string{"ldds", "lddd"}[i]), grads[i])
	}
	w.store(d, tail, mem{Base: dt})
	w.ADDQ(w.address("ldt"), t)
	w.ADDQ(w.address("lddt"), dt)
	w.DECQ(count)
	w.JNZ(operand.LabelRef("row"))
	for i, s := range sets {
		p, u := w.arg("d"+s), w.vec()
		w.addFrom(mem{Base: p}, tail, sums[i], u)
		w.store(sums[i], tail, mem{Base: p})
	}
	w.end()
}

// gatMean computes, for each of count rows: dst[i][c] = scale·Σ_h src[i][hC+c] (+ bias[c]). bias may be nil.
func gatMean(w *writer) {
	w.begin(w.name("gat", "mean"), "is the mean of heads, see gen/gat_rows.go.",
		"func(count, heads, channels int, src *float32, ldsrc uintptr, dst *float32, lddst uintptr, bias *float32, scale float32)")
	l := startChannels(w)
	src, dst, bias, count := w.arg("src"), w.arg("dst"), w.arg("bias"), w.arg("count")
	scale, width, heads := w.broadcastArg("scale"), w.arg("channels"), w.arg("heads")
	w.SHLQ(operand.Imm(2), width)
	w.Label("row")
	l.each("column", func(j gp, k mask) {
		label := "heads"
		if k != nil {
			label += "rest"
		}
		sum, t, p, h := w.vec(), w.vec(), w.GP64(), w.GP64()
		w.zero(sum)
		w.LEAQ(mem{Base: src, Index: j, Scale: 1}, p)
		w.MOVQ(heads, h)
		w.Label(label)
		w.addFrom(mem{Base: p}, k, sum, t)
		w.ADDQ(width, p)
		w.DECQ(h)
		w.JNZ(operand.LabelRef(label))
		w.VMULPS(scale, sum, sum)
		w.TESTQ(bias, bias)
		w.JZ(operand.LabelRef(label + "done"))
		w.addFrom(mem{Base: bias, Index: j, Scale: 1}, k, sum, t)
		w.Label(label + "done")
		w.store(sum, k, mem{Base: dst, Index: j, Scale: 1})
	})
	w.ADDQ(w.address("ldsrc"), src)
	w.ADDQ(w.address("lddst"), dst)
	w.DECQ(count)
	w.JNZ(operand.LabelRef("row"))
	w.end()
}
