package check

import "capgnn/gpu"

// Messages looks at the operands of gpu.Ops.Messages.
func (c Operands) Messages(a gpu.MessageArgs) {
	rows, cols := a.Y.Rows, a.Y.Cols
	if a.F >= gpu.Functions {
		c.Fail("function %d is none of %d", a.F, gpu.Functions)
	}
	if a.Max && a.Accumulate {
		c.Fail("a largest message is not added")
	}
	c.fp32("Y", a.Y)
	if a.R.Buf != nil {
		c.tall("R", a.R, rows, cols)
	}
	x := a.X.Buf != nil
	if c.block("Inner", a.Inner, rows) {
		c.ends("Inner", a.Inner, a.C, a.X, x, cols)
	} else {
		x = a.XHalo.Buf != nil
	}
	if c.block("Halo", a.Halo, rows) {
		c.ends("Halo", a.Halo, a.CHalo, a.XHalo, x, cols)
	}
}

// ends looks at what the columns of a block index.
func (c Operands) ends(name string, a gpu.CSR, of, x gpu.Matrix, times bool, cols int) {
	c.tall("C of "+name, of, a.Cols, cols)
	if times || x.Buf != nil {
		c.tall("X of "+name, x, a.Cols, cols)
	}
}
