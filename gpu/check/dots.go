package check

import "capgnn/gpu"

// ranked looks at a block whose columns index rows of k and v.
func (c Operands) ranked(name string, a gpu.CSR, k, v gpu.Matrix, rows, cols int) {
	if c.block(name, a, rows) {
		c.tall("K of "+name, k, a.Cols, cols)
		c.tall("V of "+name, v, a.Cols, cols)
	}
}

// DotAggregate looks at the operands of gpu.Ops.DotAggregate.
func (c Operands) DotAggregate(a gpu.DotArgs) {
	rows, cols, heads := a.O.Rows, a.O.Cols, a.LSE.Cols
	c.channels(cols, heads)
	c.fp32("O", a.O)
	c.shaped("LSE", a.LSE, rows, heads)
	c.tall("Q", a.Q, rows, cols)
	c.ranked("Inner", a.Inner, a.K, a.V, rows, cols)
	c.ranked("Halo", a.Halo, a.KHalo, a.VHalo, rows, cols)
	c.edgeDropout(a.Drop, rows, heads, used(a.Inner), used(a.Halo))
}

// DotBackwardDst looks at the operands of gpu.Ops.DotBackwardDst.
func (c Operands) DotBackwardDst(a gpu.DotGradDst) {
	rows, cols, heads := a.DO.Rows, a.DO.Cols, a.LSE.Cols
	c.channels(cols, heads)
	c.shaped("DQ", a.DQ, rows, cols)
	c.shaped("G", a.G, rows, heads)
	c.fp32("DO", a.DO)
	c.tall("O", a.O, rows, cols)
	c.tall("LSE", a.LSE, rows, heads)
	c.tall("Q", a.Q, rows, cols)
	c.ranked("Inner", a.Inner, a.K, a.V, rows, cols)
	c.ranked("Halo", a.Halo, a.KHalo, a.VHalo, rows, cols)
	c.edgeDropout(a.Drop, rows, heads, used(a.Inner), used(a.Halo))
}

// DotBackwardSrc looks at the operands of gpu.Ops.DotBackwardSrc.
func (c Operands) DotBackwardSrc(a gpu.DotGradSrc) {
	rows, cols := a.DK.Rows, a.DK.Cols
	c.channels(cols, a.Heads)
	c.fp32("DK", a.DK)
	c.shaped("DV", a.DV, rows, cols)
	c.tall("K", a.K, rows, cols)
	c.tall("V", a.V, rows, cols)
	for _, b := range []struct {
		name          string
		a             gpu.CSR
		do, q, lse, g gpu.Matrix
	}{{"Inner", a.Inner, a.DO, a.Q, a.LSE, a.G}, {"Halo", a.Halo, a.DOHalo, a.QHalo, a.LSEHalo, a.GHalo}} {
		if c.block(b.name, b.a, rows) {
			c.tall("DO of "+b.name, b.do, b.a.Cols, cols)
			c.tall("Q of "+b.name, b.q, b.a.Cols, cols)
			c.tall("LSE of "+b.name, b.lse, b.a.Cols, a.Heads)
			c.tall("G of "+b.name, b.g, b.a.Cols, a.Heads)
		}
	}
	c.edgeDropout(a.Drop, rows, a.Heads, used(a.Inner), used(a.Halo))
}
