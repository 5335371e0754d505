package host

import "capgnn/gpu"

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
	d, a, b := c.mat("C", g.C), c.mat("A", g.A), c.mat("B", g.B)
	if d.empty() {
		return
	}
	q.compute("Gemm", gpu.PhaseMM, func() {
		q.dev.gemm(d, a, b, g.TransA, g.TransB, g.Beta)
	})
}

// gemm is the kernel, or C = beta·C where the inner dimension is 0.
func (d *Device) gemm(c, a, b dense, transA, transB bool, beta float32) {
	if a.empty() {
		d.scale(c, beta)
		return
	}
	gemm(d.pool, &d.scratch, c, a, b, transA, transB, beta)
}

// scale: m = beta·m; with beta = 0, m is not read.
func (d *Device) scale(m dense, beta float32) {
	if beta == 1 || m.empty() {
		return
	}
	d.rows(m.rows, m.cols, func(_, lo, hi int) {
		for i := lo; i < hi; i++ {
			if beta == 0 {
				clear(m.row(i))
			} else {
				axpby(m.row(i), beta, m.row(i), 0)
			}
		}
	})
}

// linear is a resolved gpu.LinearArgs.
type linear struct {
	z, x, w, x2, w2 dense
	rowScale, bias  []float32
	beta            float32
	then            *epilogue
}

// Linear: Z = X·Wᵀ + X2·W2ᵀ + Beta·Z + Bias, then the epilogue.
func (q *Queue) Linear(a gpu.LinearArgs) {
	c := q.check("Linear")
	l := linear{
		z: c.mat("Z", a.Z), x: c.tall("X", a.X, a.Z.Rows, a.X.Cols), w: c.shaped("W", a.W, a.Z.Cols, a.X.Cols),
		rowScale: c.optional("RowScale", a.RowScale, a.Z.Rows), bias: c.optional("Bias", a.Bias, a.Z.Cols),
		beta: a.Beta, then: c.then(a.Then, a.Z),
	}
	if a.X.Rows != a.Z.Rows {
		c.fail("X has %d rows, Z %d", a.X.Rows, a.Z.Rows)
	}
	if !a.X2.Empty() {
		l.x2 = c.shaped("X2", a.X2, a.Z.Rows, a.X2.Cols)
		l.w2 = c.shaped("W2", a.W2, a.Z.Cols, a.X2.Cols)
	}
	if l.z.empty() {
		return
	}
	q.compute("Linear", gpu.PhaseMM, func() { q.dev.linear(l) })
}

// linear runs the products, then one pass over the rows for what is left: scale, bias and epilogue.
func (d *Device) linear(l linear) {
	scale := l.rowScale
	switch {
	case scale == nil:
		d.gemm(l.z, l.x, l.w, false, true, l.beta)
	case l.beta == 0:
		d.gemm(l.z, l.x, l.w, false, true, 0)
		if !l.x2.empty() {
			d.finish(l.z, scale, nil, nil)
			scale = nil
		}
	default:
		d.addScaledProduct(l)
		scale = nil
	}
	if !l.x2.empty() {
		d.gemm(l.z, l.x2, l.w2, false, true, 1)
	}
	d.finish(l.z, scale, l.bias, l.then)
}

// addScaledProduct: Z[i] = RowScale[i]·(X·Wᵀ)[i] + Beta·Z[i], by strips of rows through a buffer.
func (d *Device) addScaledProduct(l linear) {
	const strip = 1024
	buf := grown(&d.work.f32, min(strip, l.z.rows)*l.z.cols)
	for lo := 0; lo < l.z.rows; lo += strip {
		n := min(strip, l.z.rows-lo)
		t := dense{buf[:n*l.z.cols], n, l.z.cols, l.z.cols}
		x := l.x
		if !x.empty() {
			x.v, x.rows = x.v[lo*x.ld:], n
		}
		d.gemm(t, x, l.w, false, true, 0)
		d.rows(n, t.cols, func(_, first, last int) {
			for i := first; i < last; i++ {
				axpby(l.z.row(lo+i), l.rowScale[lo+i], t.row(i), l.beta)
			}
		})
	}
}

// finish: z[i] = scale[i]·z[i] + bias, then the epilogue, in one pass over the rows; each of the three may be nil.
func (d *Device) finish(z dense, scale, bias []float32, then *epilogue) {
	if scale == nil && bias == nil && then == nil || z.empty() {
		return
	}
	var masks []uint32
	if then != nil {
		masks = then.masks(d)
	}
	d.rows(z.rows, z.cols, func(w, lo, hi int) {
		for i := lo; i < hi; i++ {
			row := z.row(i)
			if scale != nil {
				axpby(row, scale[i], row, 0)
			}
			if bias != nil {
				axpby(row, 1, bias, 1)
			}
			if then != nil {
				then.forward(i, then.drop.mask(masks, w, i, z.cols))
			}
		}
	})
}
