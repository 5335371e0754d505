package check

import "capgnn/gpu"

// channels checks that cols are heads equal parts.
func (c Operands) channels(cols, heads int) {
	if heads == 0 && cols > 0 || heads > 0 && cols%heads != 0 {
		c.Fail("%d columns do not divide into %d heads", cols, heads)
	}
}

// Given reports whether a block of entries is: one without stored rows and entries is not looked at.
func Given(a gpu.CSR) bool { return !a.Begin.Empty() || a.Entries != 0 }

// block looks at a block of entries, and reports whether what its columns index is to be looked at too.
func (c Operands) block(name string, a gpu.CSR, rows int) bool {
	if !Given(a) {
		return false
	}
	if a.Rows != rows {
		c.Fail("%s has %d rows, want %d", name, a.Rows, rows)
	}
	c.csr(name, a)
	return a.Entries > 0
}

// sources looks at a block whose columns index rows of t and s.
func (c Operands) sources(name string, a gpu.CSR, t, s gpu.Matrix, rows, cols, heads int) {
	if c.block(name, a, rows) {
		c.tall("T of "+name, t, a.Cols, cols)
		c.tall("S of "+name, s, a.Cols, heads)
	}
}

// targets looks at a block whose columns index destinations.
func (c Operands) targets(name string, a gpu.CSR, do, d, lse, g gpu.Matrix, rows, cols, heads int) {
	if c.block(name, a, rows) {
		c.tall("DO of "+name, do, a.Cols, cols)
		c.tall("D of "+name, d, a.Cols, heads)
		c.tall("LSE of "+name, lse, a.Cols, heads)
		c.tall("G of "+name, g, a.Cols, heads)
	}
}

// edgeDropout looks at the settings for blocks of entries with so many rows.
func (c Operands) edgeDropout(d gpu.EdgeDropout, rows, heads int, inner, halo gpu.CSR) {
	if d.P == 0 {
		return
	}
	if !(d.P > 0 && d.P < 1) {
		c.Fail("dropout of %g is outside [0, 1)", d.P)
	}
	if heads > gpu.MaxDropHeads || d.Layer >= 1<<20 {
		c.Fail("dropout of %d heads in layer %d has no counters", heads, d.Layer)
	}
	for _, x := range []struct {
		name string
		ids  gpu.Ints
		n    int
	}{{"Rows", d.Rows, rows}, {"Inner", d.Inner, inner.Cols}, {"Halo", d.Halo, halo.Cols}} {
		if x.ids.Len < x.n {
			c.Fail("Drop.%s has %d ids, want at least %d", x.name, x.ids.Len, x.n)
		}
		array(c, "Drop."+x.name, x.ids)
	}
}

// used returns a block of entries that is looked at, the zero CSR for another one.
func used(a gpu.CSR) gpu.CSR {
	if !Given(a) || a.Entries == 0 {
		return gpu.CSR{}
	}
	return a
}

// GATScores looks at the operands of gpu.Ops.GATScores.
func (c Operands) GATScores(s, d, t gpu.Matrix, aSrc, aDst gpu.Vec) {
	heads := s.Cols
	c.channels(t.Cols, heads)
	c.fp32("t", t)
	c.shaped("s", s, t.Rows, heads)
	c.vec("aSrc", aSrc, t.Cols)
	if !d.Empty() {
		c.shaped("d", d, t.Rows, heads)
		c.vec("aDst", aDst, t.Cols)
	}
}

// GATAggregate looks at the operands of gpu.Ops.GATAggregate.
func (c Operands) GATAggregate(a gpu.GATArgs) {
	rows, cols, heads := a.O.Rows, a.O.Cols, a.LSE.Cols
	if a.Lo < 0 || a.Hi < a.Lo || a.Hi > rows {
		c.Fail("rows %d to %d of %d", a.Lo, a.Hi, rows)
	}
	c.channels(cols, heads)
	c.fp32("O", a.O)
	c.shaped("LSE", a.LSE, rows, heads)
	c.tall("D", a.D, rows, heads)
	c.sources("Inner", a.Inner, a.T, a.S, rows, cols, heads)
	c.sources("Halo", a.Halo, a.THalo, a.SHalo, rows, cols, heads)
	c.optional("Bias", a.Bias, cols)
	c.edgeDropout(a.Drop, rows, heads, used(a.Inner), used(a.Halo))
}

// GATBackwardDst looks at the operands of gpu.Ops.GATBackwardDst.
func (c Operands) GATBackwardDst(a gpu.GATGradDst) {
	rows, cols, heads := a.DO.Rows, a.DO.Cols, a.LSE.Cols
	c.shaped("DD", a.DD, rows, heads)
	c.shaped("G", a.G, rows, heads)
	c.fp32("DO", a.DO)
	c.tall("O", a.O, rows, cols)
	c.tall("LSE", a.LSE, rows, heads)
	c.tall("D", a.D, rows, heads)
	c.sources("Inner", a.Inner, a.T, a.S, rows, cols, heads)
	c.sources("Halo", a.Halo, a.THalo, a.SHalo, rows, cols, heads)
	c.optional("Bias", a.Bias, cols)
	c.channels(cols, heads)
	c.edgeDropout(a.Drop, rows, heads, used(a.Inner), used(a.Halo))
}

// GATBackwardSrc looks at the operands of gpu.Ops.GATBackwardSrc.
func (c Operands) GATBackwardSrc(a gpu.GATGradSrc) {
	rows, cols, heads := a.DT.Rows, a.DT.Cols, a.DS.Cols
	c.fp32("DT", a.DT)
	c.shaped("DS", a.DS, rows, heads)
	c.tall("T", a.T, rows, cols)
	c.tall("S", a.S, rows, heads)
	c.targets("Inner", a.Inner, a.DO, a.D, a.LSE, a.G, rows, cols, heads)
	c.targets("Halo", a.Halo, a.DOHalo, a.DHalo, a.LSEHalo, a.GHalo, rows, cols, heads)
	c.channels(cols, heads)
	c.edgeDropout(a.Drop, rows, heads, used(a.Inner), used(a.Halo))
}

// GATScoresBackward looks at the operands of gpu.Ops.GATScoresBackward.
func (c Operands) GATScoresBackward(a gpu.GATScoresGrad) {
	rows, cols, heads := a.T.Rows, a.T.Cols, a.DS.Cols
	c.fp32("T", a.T)
	c.shaped("DT", a.DT, rows, cols)
	c.shaped("DS", a.DS, rows, heads)
	c.vec("ASrc", a.ASrc, cols)
	c.vec("DASrc", a.DASrc, cols)
	c.channels(cols, heads)
	if !a.DD.Empty() {
		c.shaped("DD", a.DD, rows, heads)
		c.vec("ADst", a.ADst, cols)
		c.vec("DADst", a.DADst, cols)
	}
}

// HeadMean looks at the operands of gpu.Ops.HeadMean.
func (c Operands) HeadMean(dst, src gpu.Matrix, bias gpu.Vec) {
	c.fp32("dst", dst)
	c.tall("src", src, dst.Rows, src.Cols)
	c.optional("bias", bias, dst.Cols)
	if !dst.Empty() {
		c.headsOf(src, dst)
	}
}

// HeadMeanBackward looks at the operands of gpu.Ops.HeadMeanBackward.
func (c Operands) HeadMeanBackward(dst, src gpu.Matrix) {
	c.fp32("dst", dst)
	c.tall("src", src, dst.Rows, src.Cols)
	if !dst.Empty() {
		c.headsOf(dst, src)
	}
}

// headsOf checks that wide holds the columns of narrow a number of times.
func (c Operands) headsOf(wide, narrow gpu.Matrix) {
	if wide.Rows != narrow.Rows || narrow.Cols == 0 || wide.Cols < narrow.Cols || wide.Cols%narrow.Cols != 0 {
		c.Fail("%d×%d is not a number of heads of %d×%d", wide.Rows, wide.Cols, narrow.Rows, narrow.Cols)
	}
}
