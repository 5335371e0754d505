package check

import "capgnn/gpu"

// Fill looks at the operands of gpu.Ops.Fill.
func (c Operands) Fill(m gpu.Matrix) { c.fp32("m", m) }

// Copy looks at the operands of gpu.Ops.Copy.
func (c Operands) Copy(dst, src gpu.Matrix) {
	if dst.Rows != src.Rows || dst.Cols != src.Cols {
		c.Fail("dst is %d×%d, src %d×%d", dst.Rows, dst.Cols, src.Rows, src.Cols)
	}
	c.Matrix("dst", dst)
	c.Matrix("src", src)
}

// Transpose looks at the operands of gpu.Ops.Transpose.
func (c Operands) Transpose(dst, src gpu.Matrix) {
	c.fp32("dst", dst)
	c.shaped("src", src, dst.Cols, dst.Rows)
}

// Axpby looks at the operands of gpu.Ops.Axpby.
func (c Operands) Axpby(dst, src gpu.Matrix) {
	c.fp32("dst", dst)
	c.shaped("src", src, dst.Rows, dst.Cols)
}

// ScaleRows looks at the operands of gpu.Ops.ScaleRows.
func (c Operands) ScaleRows(dst, src gpu.Matrix, scale gpu.Vec) {
	c.fp32("dst", dst)
	c.shaped("src", src, dst.Rows, dst.Cols)
	c.vec("scale", scale, dst.Rows)
}

// AddScaled looks at the operands of gpu.Ops.AddScaled.
func (c Operands) AddScaled(dst, src gpu.Matrix, s gpu.Vec) {
	c.fp32("dst", dst)
	c.anyShaped("src", src, dst.Rows, dst.Cols)
	c.vec("s", s, 1)
}

// Map looks at the operands of gpu.Ops.Map.
func (c Operands) Map(a gpu.MapArgs) {
	if a.F >= gpu.Functions {
		c.Fail("function %d is none of %d", a.F, gpu.Functions)
	}
	c.fp32("Dst", a.Dst)
	c.spread("Src", a.Src, a.Dst)
	if a.By.Buf != nil {
		c.spread("By", a.By, a.Dst)
	}
}

// spread checks an FP32 matrix that has the rows and columns of dst, or one of either.
func (c Operands) spread(arg string, m, dst gpu.Matrix) {
	if m.Rows != dst.Rows && m.Rows != 1 || m.Cols != dst.Cols && m.Cols != 1 {
		c.Fail("%s is %d×%d, and Dst %d×%d", arg, m.Rows, m.Cols, dst.Rows, dst.Cols)
	}
	c.fp32(arg, m)
}

// ColSum looks at the operands of gpu.Ops.ColSum.
func (c Operands) ColSum(dst gpu.Vec, m gpu.Matrix) {
	c.vec("dst", dst, m.Cols)
	c.Matrix("m", m)
}

// Dot looks at the operands of gpu.Ops.Dot.
func (c Operands) Dot(dst gpu.Vec, x, y gpu.Matrix) {
	c.vec("dst", dst, 1)
	c.Matrix("x", x)
	c.anyShaped("y", y, x.Rows, x.Cols)
}

// Gather looks at the operands of gpu.Ops.Gather.
func (c Operands) Gather(dst, src gpu.Matrix, rows gpu.Ints) {
	if dst.Cols != src.Cols || rows.Len != dst.Rows {
		c.Fail("dst is %d×%d, src %d×%d, with %d rows", dst.Rows, dst.Cols, src.Rows, src.Cols, rows.Len)
	}
	c.Matrix("dst", dst)
	c.Matrix("src", src)
	array(c, "rows", rows)
}

// ScatterAdd looks at the operands of gpu.Ops.ScatterAdd.
func (c Operands) ScatterAdd(dst, src gpu.Matrix, rows gpu.Ints) {
	c.fp32("dst", dst)
	c.tall("src", src, 0, dst.Cols)
	if rows.Len != src.Rows {
		c.Fail("src has %d rows for %d targets", src.Rows, rows.Len)
	}
	array(c, "rows", rows)
}

// PackRows looks at the operands of gpu.Ops.PackRows.
func (c Operands) PackRows(a gpu.PackArgs) {
	c.bits(a.Bits)
	c.shaped("Dst", a.Dst, a.Dst.Rows, gpu.PackedWords(a.Src.Cols, a.Bits))
	c.Matrix("Src", a.Src)
	array(c, "Rows", a.Rows)
	array(c, "IDs", a.IDs)
	switch {
	case a.IDs.Len != a.Src.Rows:
		c.Fail("%d ids for %d rows", a.IDs.Len, a.Src.Rows)
	case a.Rows.Empty() && a.Dst.Rows != a.Src.Rows, !a.Rows.Empty() && a.Dst.Rows != a.Rows.Len:
		c.Fail("Dst has %d rows, Src %d, of which %d are listed", a.Dst.Rows, a.Src.Rows, a.Rows.Len)
	}
}

// UnpackRows looks at the operands of gpu.Ops.UnpackRows.
func (c Operands) UnpackRows(dst, packed gpu.Matrix, bits int) {
	c.bits(bits)
	c.shaped("packed", packed, dst.Rows, gpu.PackedWords(dst.Cols, bits))
	c.Matrix("dst", dst)
}

// bits looks at the bits of a packed element.
func (c Operands) bits(n int) {
	if n != 8 && n != 2 {
		c.Fail("%d bits per element, want 8 or 2", n)
	}
}

// Adam looks at the operands of gpu.Ops.Adam.
func (c Operands) Adam(a gpu.AdamArgs) {
	if a.Step < 1 {
		c.Fail("step %d, the first is 1", a.Step)
	}
	n := a.Param.Len
	c.vec("Param", a.Param, n)
	c.vec("Grad", a.Grad, n)
	c.vec("M", a.M, n)
	c.vec("V", a.V, n)
	c.optional("VMax", a.VMax, n)
}

// SGD looks at the operands of gpu.Ops.SGD.
func (c Operands) SGD(param, grad gpu.Vec) {
	array(c, "param", param)
	c.vec("grad", grad, param.Len)
}

// SoftmaxLoss looks at the operands of gpu.Ops.SoftmaxLoss.
func (c Operands) SoftmaxLoss(a gpu.LossArgs) {
	c.loss(a)
	if a.Labels.Len != a.Logits.Rows {
		c.Fail("%d labels for %d rows", a.Labels.Len, a.Logits.Rows)
	}
	array(c, "Labels", a.Labels)
}

// BCELoss looks at the operands of gpu.Ops.BCELoss.
func (c Operands) BCELoss(a gpu.LossArgs) {
	c.loss(a)
	if a.Targets.Len != a.Logits.Rows*a.Logits.Cols {
		c.Fail("%d targets for %d×%d logits", a.Targets.Len, a.Logits.Rows, a.Logits.Cols)
	}
	if !a.Mask.Empty() && a.Mask.Len != a.Logits.Rows {
		c.Fail("mask of %d for %d rows", a.Mask.Len, a.Logits.Rows)
	}
	array(c, "Targets", a.Targets)
	array(c, "Mask", a.Mask)
}

// loss looks at what the losses share.
func (c Operands) loss(a gpu.LossArgs) {
	c.fp32("Logits", a.Logits)
	array(c, "Loss", a.Loss)
	if a.Loss.Len != 1 {
		c.Fail("Loss has %d elements, want 1", a.Loss.Len)
	}
	if !a.Grad.Empty() {
		c.anyShaped("Grad", a.Grad, a.Logits.Rows, a.Logits.Cols)
	}
}
