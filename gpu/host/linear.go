package host

import "capgnn/gpu"

// linear is a resolved gpu.LinearArgs or a gpu.GemmArgs whose A is not transposed.
type linear struct {
	z, x, x2       either
	w, w2          dense
	trans          bool // w is [out, in]; w2 always is
	rowScale, bias []float32
	beta           float32
	then           *epilogue
}

// Gemm: C = op(A)·op(B) + Beta·C.
func (q *Queue) Gemm(g gpu.GemmArgs) {
	c := q.check("Gemm")
	if g.TransA && g.TransB {
		c.fail("both operands transposed")
	}
	k, n := g.B.Rows, g.B.Cols
	if g.TransB {
		k, n = n, k
	}
	rows, inner := g.A.Rows, g.A.Cols
	if g.TransA {
		rows, inner = inner, rows
	}
	if inner != k || g.C.Rows != rows || g.C.Cols != n {
		c.fail("C is %d×%d, op(A) %d×%d, op(B) %d×%d", g.C.Rows, g.C.Cols, rows, inner, k, n)
	}
	a := c.any(&q.dev.memory, "A", g.A)
	if g.TransA {
		d, b := c.mat("C", g.C), c.any(&q.dev.memory, "B", g.B)
		if !d.empty() {
			q.compute("Gemm", gpu.PhaseMM, func() { q.dev.gemmTN(d, a, b, g.Beta) })
		}
		return
	}
	l := &linear{z: c.output("C", g.C, g.Beta), x: a, w: c.mat("B", g.B), trans: g.TransB, beta: g.Beta}
	if !g.C.Empty() {
		q.compute("Gemm", gpu.PhaseMM, func() { q.dev.linear(l) })
	}
}

// output resolves the destination of a product, which may be BF16 if it is not read.
func (c checker) output(arg string, m gpu.Matrix, beta float32) either {
	if beta != 0 && m.Type != gpu.FP32 {
		c.fail("%s is %v and added to, want fp32", arg, m.Type)
	}
	return c.any(&c.q.dev.memory, arg, m)
}

// Linear: Z = X·Wᵀ + X2·W2ᵀ + Beta·Z + Bias, then the epilogue.
func (q *Queue) Linear(a gpu.LinearArgs) {
	c := q.check("Linear")
	if a.X.Rows != a.Z.Rows {
		c.fail("X has %d rows, Z %d", a.X.Rows, a.Z.Rows)
	}
	l := &linear{
		z: c.output("Z", a.Z, a.Beta), x: c.any(&q.dev.memory, "X", a.X), w: c.shaped("W", a.W, a.Z.Cols, a.X.Cols),
		trans: true, rowScale: c.optional("RowScale", a.RowScale, a.Z.Rows), bias: c.optional("Bias", a.Bias, a.Z.Cols),
		beta: a.Beta, then: c.then(a.Then, a.Z),
	}
	if !a.X2.Empty() {
		if a.X2.Rows != a.Z.Rows {
			c.fail("X2 has %d rows, Z %d", a.X2.Rows, a.Z.Rows)
		}
		l.x2 = c.any(&q.dev.memory, "X2", a.X2)
		l.w2 = c.shaped("W2", a.W2, a.Z.Cols, a.X2.Cols)
	}
	if !a.Z.Empty() {
		q.compute("Linear", gpu.PhaseMM, func() { q.dev.linear(l) })
	}
}

// linear makes block after block of rows of Z: the products, and while the block is in cache scale, bias and epilogue.
func (d *Device) linear(l *linear) {
	rows, cols := l.z.size()
	b := linearBlocks{
		linear: l, first: pack(d.pool, &d.scratch.panels, l.w, l.trans),
		done: d.finish(l.bias, l.then),
	}
	if l.w2.cols > 0 {
		b.second = pack(d.pool, &d.scratch.second, l.w2, true)
	}
	step := gemmStep(d.pool, rows)
	b.in = step * max(l.x.spare(), l.x2.spare())
	if l.z.half || l.rowScale != nil && l.beta != 0 {
		b.out = step * cols
	}
	room := d.own(&d.work.blocks, b.in+b.out)
	d.pool.each((rows+step-1)/step, func(worker, item int) {
		b.rows(room.of(worker), worker, item*step, min((item+1)*step, rows))
	})
}

// linearBlocks is a linear with what its blocks of rows share.
type linearBlocks struct {
	*linear
	first, second packed
	done          *finish
	in, out       int // floats of scratch for widened rows of X, and for rows of a product
}

// rows makes rows lo to hi of Z.
func (b *linearBlocks) rows(room []float32, worker, lo, hi int) {
	in, out := room[:b.in], room[b.in:b.in+b.out]
	z := b.z.draft(lo, hi, out)
	if b.rowScale != nil && b.beta != 0 {
		t := dense{out, hi - lo, z.cols, z.cols}
		b.first.product(t, b.x.widened(lo, hi, in), 0)
		for i := range t.rows {
			axpby(z.row(i), b.rowScale[lo+i], t.row(i), b.beta)
		}
	} else {
		b.first.product(z, b.x.widened(lo, hi, in), b.beta)
		if b.rowScale != nil {
			for i := range z.rows {
				axpby(z.row(i), b.rowScale[lo+i], z.row(i), 0)
			}
		}
	}
	if b.second.k > 0 {
		b.second.product(z, b.x2.widened(lo, hi, in), 1)
	}
	b.done.block(worker, z, lo)
	b.z.store(lo, z)
}
