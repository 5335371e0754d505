package host

import (
	"capgnn/gpu"
	"capgnn/gpu/host/kernel"
)

// linear is a resolved gpu.LinearArgs or a gpu.GemmArgs whose A is not transposed.
type linear struct {
	z, x, x2       kernel.Either
	w, w2          kernel.Dense
	trans          bool // w is [out, in]; w2 always is
	rowScale, bias []float32
	beta           float32
	then           *epilogue
}

// Gemm: C = op(A)·op(B) + Beta·C.
func (q *Queue) Gemm(g gpu.GemmArgs) {
	q.check("Gemm").Gemm(g)
	if g.C.Empty() {
		return
	}
	a := eitherOf(g.A)
	if g.TransA {
		d, b := denseOf(g.C), eitherOf(g.B)
		q.compute("Gemm", gpu.PhaseMM, func() { kernel.GemmTN(q.dev.pool, &q.dev.scratch, d, a, b, g.Beta) })
		return
	}
	l := &linear{z: eitherOf(g.C), x: a, w: denseOf(g.B), trans: g.TransB, beta: g.Beta}
	q.compute("Gemm", gpu.PhaseMM, func() { q.dev.linear(l) })
}

// Linear: Z = X·Wᵀ + X2·W2ᵀ + Beta·Z + Bias, then the epilogue.
func (q *Queue) Linear(a gpu.LinearArgs) {
	q.check("Linear").Linear(a)
	l := &linear{
		z: eitherOf(a.Z), x: eitherOf(a.X), w: denseOf(a.W), trans: true, rowScale: values(a.RowScale), bias: values(a.Bias),
		beta: a.Beta, then: epilogueOf(a.Then, a.Z),
	}
	if !a.X2.Empty() {
		l.x2, l.w2 = eitherOf(a.X2), denseOf(a.W2)
	}
	if !a.Z.Empty() {
		q.compute("Linear", gpu.PhaseMM, func() { q.dev.linear(l) })
	}
}

// linear makes block after block of rows of Z: the products, and while the block is in cache scale, bias and epilogue.
func (d *Device) linear(l *linear) {
	rows, cols := l.z.Size()
	b := linearBlocks{
		linear: l, first: kernel.Pack(d.pool, &d.work.weights[0], l.w, l.trans),
		done: d.finish(l.bias, l.then),
	}
	if l.w2.Cols > 0 {
		b.second = kernel.Pack(d.pool, &d.work.weights[1], l.w2, true)
	}
	step := kernel.GemmStep(d.pool, rows)
	b.in = step * max(l.x.Spare(), l.x2.Spare())
	if l.z.Half || l.rowScale != nil && l.beta != 0 {
		b.out = step * cols
	}
	room := d.pool.Own(&d.work.blocks, b.in+b.out)
	d.pool.Each((rows+step-1)/step, func(worker, item int) {
		b.rows(room.Of(worker), worker, item*step, min((item+1)*step, rows))
	})
}

// linearBlocks is a linear with what its blocks of rows share.
type linearBlocks struct {
	*linear
	first, second kernel.Packed
	done          *finish
	in, out       int // floats of scratch for widened rows of X, and for rows of a product
}

// rows makes rows lo to hi of Z.
func (b *linearBlocks) rows(room []float32, worker, lo, hi int) {
	in, out := room[:b.in], room[b.in:b.in+b.out]
	z := b.z.Draft(lo, hi, out)
	if b.rowScale != nil && b.beta != 0 {
		t := kernel.Dense{V: out, Rows: hi - lo, Cols: z.Cols, LD: z.Cols}
		b.first.Product(t, b.x.Widened(lo, hi, in), 0)
		for i := range t.Rows {
			kernel.Axpby(z.Row(i), b.rowScale[lo+i], t.Row(i), b.beta)
		}
	} else {
		b.first.Product(z, b.x.Widened(lo, hi, in), b.beta)
		if b.rowScale != nil {
			for i := range z.Rows {
				kernel.Axpby(z.Row(i), b.rowScale[lo+i], z.Row(i), 0)
			}
		}
	}
	if b.w2.Cols > 0 {
		b.second.Product(z, b.x2.Widened(lo, hi, in), 1)
	}
	b.done.block(worker, z, lo)
	b.z.Store(lo, z)
}
