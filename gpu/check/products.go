package check

import "capgnn/gpu"

// Gemm looks at the operands of gpu.Ops.Gemm.
func (c Operands) Gemm(g gpu.GemmArgs) {
	if g.TransA && g.TransB {
		c.Fail("both operands transposed")
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
		c.Fail("C is %d×%d, op(A) %d×%d, op(B) %d×%d", g.C.Rows, g.C.Cols, rows, inner, k, n)
	}
	c.Matrix("A", g.A)
	if g.TransA {
		c.fp32("C", g.C)
		c.Matrix("B", g.B)
		return
	}
	c.output("C", g.C, g.Beta)
	c.fp32("B", g.B)
}

// Linear looks at the operands of gpu.Ops.Linear.
func (c Operands) Linear(a gpu.LinearArgs) {
	if a.X.Rows != a.Z.Rows {
		c.Fail("X has %d rows, Z %d", a.X.Rows, a.Z.Rows)
	}
	c.output("Z", a.Z, a.Beta)
	c.Matrix("X", a.X)
	c.shaped("W", a.W, a.Z.Cols, a.X.Cols)
	c.optional("RowScale", a.RowScale, a.Z.Rows)
	c.optional("Bias", a.Bias, a.Z.Cols)
	c.then(a.Then, a.Z)
	if a.X2.Empty() {
		return
	}
	if a.X2.Rows != a.Z.Rows {
		c.Fail("X2 has %d rows, Z %d", a.X2.Rows, a.Z.Rows)
	}
	c.Matrix("X2", a.X2)
	c.shaped("W2", a.W2, a.Z.Cols, a.X2.Cols)
}

// SpMM looks at the operands of gpu.Ops.SpMM.
func (c Operands) SpMM(y gpu.Matrix, a gpu.CSR, x gpu.Matrix, beta float32) {
	c.shape("y", y, a.Rows, x.Cols)
	if x.Rows < a.Cols {
		c.Fail("x has %d rows, a %d columns", x.Rows, a.Cols)
	}
	c.output("y", y, beta)
	c.csr("a", a)
	c.Matrix("x", x)
}

// Aggregate looks at the operands of gpu.Ops.Aggregate.
func (c Operands) Aggregate(a gpu.AggregateArgs) {
	c.shaped("Y", a.Y, a.A.Rows, a.X.Cols)
	c.csr("A", a.A)
	c.Matrix("X", a.X)
	c.atLeast("RowScale", a.RowScale, a.A.Rows)
	c.atLeast("ColScale", a.ColScale, a.A.Cols)
	c.optional("Bias", a.Bias, a.Y.Cols)
	c.then(a.Then, a.Y)
	if a.X.Rows < a.A.Cols {
		c.Fail("X has %d rows, A %d columns", a.X.Rows, a.A.Cols)
	}
}

// Epilogue looks at the operands of gpu.Ops.Epilogue.
func (c Operands) Epilogue(e gpu.Epilogue) { c.then(&e, e.Z) }

// then looks at the epilogue of an operation on z; e may be nil.
func (c Operands) then(e *gpu.Epilogue, z gpu.Matrix) {
	if e == nil {
		return
	}
	c.fp32("Z", z)
	c.anyShaped("H", e.H, z.Rows, z.Cols)
	c.dropout(e.Dropout, z.Rows)
	if e.Norm {
		c.vec("Gamma", e.Gamma, z.Cols)
		c.vec("Beta", e.Beta, z.Cols)
		c.optional("Rstd", e.Rstd, z.Rows)
	}
}

// dropout looks at the settings for a matrix of so many rows.
func (c Operands) dropout(d gpu.Dropout, rows int) {
	if d.P == 0 {
		return
	}
	if !(d.P > 0 && d.P < 1) {
		c.Fail("dropout of %g is outside [0, 1)", d.P)
	}
	if d.IDs.Len != rows {
		c.Fail("dropout has %d ids for %d rows", d.IDs.Len, rows)
	}
	array(c, "Dropout.IDs", d.IDs)
}

// EpilogueBackward looks at the operands of gpu.Ops.EpilogueBackward. X that nothing needs is not looked at.
func (c Operands) EpilogueBackward(e gpu.EpilogueGrad) {
	rows, cols := e.DH.Rows, e.DH.Cols
	c.fp32("DH", e.DH)
	c.anyShaped("DZ", e.DZ, rows, cols)
	c.dropout(e.Dropout, rows)
	c.optional("DBias", e.DBias, cols)
	if e.Norm || e.Act != gpu.NoActivation || !e.H.Empty() {
		c.shaped("X", e.X, rows, cols)
	}
	if e.Norm {
		c.vec("Gamma", e.Gamma, cols)
		c.vec("Beta", e.Beta, cols)
		c.vec("Rstd", e.Rstd, rows)
		c.vec("DGamma", e.DGamma, cols)
		c.vec("DBeta", e.DBeta, cols)
	}
	if !e.H.Empty() {
		c.shaped("H", e.H, rows, cols)
	}
}
