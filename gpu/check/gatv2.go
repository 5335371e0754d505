package check

import "capgnn/gpu"

// gathered looks at a block whose columns index rows of t.
func (c Operands) gathered(name string, a gpu.CSR, t gpu.Matrix, rows, cols int) {
	if c.block(name, a, rows) {
		c.tall("T of "+name, t, a.Cols, cols)
	}
}

// GATv2Aggregate looks at the operands of gpu.Ops.GATv2Aggregate.
func (c Operands) GATv2Aggregate(a gpu.GATv2Args) {
	rows, cols, heads := a.O.Rows, a.O.Cols, a.LSE.Cols
	if a.Lo < 0 || a.Hi < a.Lo || a.Hi > rows {
		c.Fail("rows %d to %d of %d", a.Lo, a.Hi, rows)
	}
	c.channels(cols, heads)
	c.fp32("O", a.O)
	c.shaped("LSE", a.LSE, rows, heads)
	c.tall("R", a.R, rows, cols)
	c.vec("Att", a.Att, cols)
	c.slope(a.Slope)
	c.gathered("Inner", a.Inner, a.T, rows, cols)
	c.gathered("Halo", a.Halo, a.THalo, rows, cols)
	c.edgeDropout(a.Drop, rows, heads, used(a.Inner), used(a.Halo))
}

// slope checks that leaky(x) is the larger one of x and slope·x.
func (c Operands) slope(slope float32) {
	if !(slope >= 0 && slope <= 1) {
		c.Fail("Slope %g is not in [0, 1]", slope)
	}
}

// GATv2BackwardDst looks at the operands of gpu.Ops.GATv2BackwardDst.
func (c Operands) GATv2BackwardDst(a gpu.GATv2GradDst) {
	rows, cols, heads := a.DO.Rows, a.DO.Cols, a.LSE.Cols
	c.channels(cols, heads)
	c.fp32("DO", a.DO)
	c.shaped("DR", a.DR, rows, cols)
	c.shaped("DA", a.DA, rows, cols)
	c.shaped("G", a.G, rows, heads)
	c.tall("O", a.O, rows, cols)
	c.tall("LSE", a.LSE, rows, heads)
	c.tall("R", a.R, rows, cols)
	c.vec("Att", a.Att, cols)
	c.slope(a.Slope)
	c.gathered("Inner", a.Inner, a.T, rows, cols)
	c.gathered("Halo", a.Halo, a.THalo, rows, cols)
	c.edgeDropout(a.Drop, rows, heads, used(a.Inner), used(a.Halo))
}

// GATv2BackwardSrc looks at the operands of gpu.Ops.GATv2BackwardSrc.
func (c Operands) GATv2BackwardSrc(a gpu.GATv2GradSrc) {
	rows, cols, heads := a.DT.Rows, a.DT.Cols, a.LSE.Cols
	c.fp32("DT", a.DT)
	c.tall("T", a.T, rows, cols)
	c.vec("Att", a.Att, cols)
	c.slope(a.Slope)
	c.channels(cols, heads)
	c.edgeDropout(a.Drop, rows, heads, used(a.A), gpu.CSR{})
	if c.block("A", a.A, rows) {
		c.tall("DO", a.DO, a.A.Cols, cols)
		c.tall("R", a.R, a.A.Cols, cols)
		c.tall("LSE", a.LSE, a.A.Cols, heads)
		c.tall("G", a.G, a.A.Cols, heads)
	}
}
