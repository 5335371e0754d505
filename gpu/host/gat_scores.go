package host

import "capgnn/gpu"

// channels returns the columns of one head.
func (c checker) channels(cols, heads int) int {
	if heads == 0 || cols%heads != 0 {
		c.fail("%d columns do not divide into %d heads", cols, heads)
	}
	return cols / heads
}

// GATScores: s[i][h] = Σ_c aSrc[hC+c]·T[i][hC+c], d likewise with aDst.
func (q *Queue) GATScores(s, d, t gpu.Matrix, aSrc, aDst gpu.Vec) {
	c := q.check("GATScores")
	c.channels(t.Cols, s.Cols)
	feat, src, w := c.mat("t", t), c.shaped("s", s, t.Rows, s.Cols), c.vec("aSrc", aSrc, t.Cols)
	var dst dense
	var wd []float32
	if !d.Empty() {
		dst, wd = c.shaped("d", d, t.Rows, s.Cols), c.vec("aDst", aDst, t.Cols)
	}
	if src.empty() {
		return
	}
	q.compute("GATScores", gpu.PhaseOther, func() {
		q.dev.rows(feat.rows, feat.cols, func(_, lo, hi int) {
			for i := lo; i < hi; i++ {
				row := feat.row(i)
				dotHeads(src.row(i), row, w, nil)
				if wd != nil {
					dotHeads(dst.row(i), row, wd, nil)
				}
			}
		})
	})
}

// gatScoresGrad is a resolved gpu.GATScoresGrad.
type gatScoresGrad struct {
	t, dt, ds, dd            dense
	src, dst, dSrc, dDst     []float32
	heads, channels, columns int
}

// GATScoresBackward: gradient of GATScores.
func (q *Queue) GATScoresBackward(a gpu.GATScoresGrad) {
	c := q.check("GATScoresBackward")
	rows, cols, heads := a.T.Rows, a.T.Cols, a.DS.Cols
	g := &gatScoresGrad{
		t: c.mat("T", a.T), dt: c.shaped("DT", a.DT, rows, cols), ds: c.shaped("DS", a.DS, rows, heads),
		src: c.vec("ASrc", a.ASrc, cols), dSrc: c.vec("DASrc", a.DASrc, cols),
		heads: heads, channels: c.channels(cols, heads), columns: cols,
	}
	if !a.DD.Empty() {
		g.dd = c.shaped("DD", a.DD, rows, heads)
		g.dst, g.dDst = c.vec("ADst", a.ADst, cols), c.vec("DADst", a.DADst, cols)
	}
	if g.t.empty() {
		return
	}
	q.compute("GATScoresBackward", gpu.PhaseOther, func() { q.dev.gatScoresBackward(g) })
}

// gatScoresBackward sums the vectors' gradients by blocks of rows.
func (d *Device) gatScoresBackward(g *gatScoresGrad) {
	cols, n := g.columns, g.channels
	part := zeros(&d.work.f32, blockCount(g.t.rows)*2*cols)
	count := d.blocks(g.t.rows, func(_, block, lo, hi int) {
		pSrc, pDst := part[block*2*cols:][:cols], part[block*2*cols+cols:][:cols]
		for i := lo; i < hi; i++ {
			t, dt := g.t.row(i), g.dt.row(i)
			for h := range g.heads {
				a, b := h*n, (h+1)*n
				ds := g.ds.row(i)[h]
				axpby(dt[a:b], ds, g.src[a:b], 1)
				axpby(pSrc[a:b], ds, t[a:b], 1)
				if g.dst == nil {
					continue
				}
				dd := g.dd.row(i)[h]
				axpby(dt[a:b], dd, g.dst[a:b], 1)
				axpby(pDst[a:b], dd, t[a:b], 1)
			}
		}
	})
	addBlocks(g.dSrc, part, count, 2*cols, 1)
	if g.dst != nil {
		addBlocks(g.dDst, part[cols:], count, 2*cols, 1)
	}
}

// HeadMean: dst[i][c] = bias[c] + Σ_h src[i][hC+c] / heads.
func (q *Queue) HeadMean(dst, src gpu.Matrix, bias gpu.Vec) {
	c := q.check("HeadMean")
	d, s, b := c.mat("dst", dst), c.tall("src", src, dst.Rows, src.Cols), c.optional("bias", bias, dst.Cols)
	if d.empty() {
		return
	}
	heads := c.headsOf(src, dst)
	q.compute("HeadMean", gpu.PhaseOther, func() {
		q.dev.rows(d.rows, s.cols, func(_, lo, hi int) {
			for i := lo; i < hi; i++ {
				out, in := d.row(i), s.row(i)
				copy(out, in)
				for h := 1; h < heads; h++ {
					axpby(out, 1, in[h*d.cols:], 1)
				}
				axpby(out, 1/float32(heads), out, 0)
				if b != nil {
					axpby(out, 1, b, 1)
				}
			}
		})
	})
}

// HeadMeanBackward: dst[i][hC+c] = src[i][c] / heads.
func (q *Queue) HeadMeanBackward(dst, src gpu.Matrix) {
	c := q.check("HeadMeanBackward")
	d, s := c.mat("dst", dst), c.tall("src", src, dst.Rows, src.Cols)
	if d.empty() {
		return
	}
	heads := c.headsOf(dst, src)
	q.compute("HeadMeanBackward", gpu.PhaseOther, func() {
		q.dev.rows(d.rows, d.cols, func(_, lo, hi int) {
			for i := lo; i < hi; i++ {
				out, in := d.row(i), s.row(i)
				for h := range heads {
					axpby(out[h*s.cols:(h+1)*s.cols], 1/float32(heads), in, 0)
				}
			}
		})
	})
}

// headsOf returns how often narrow fits into wide; both have the same rows.
func (c checker) headsOf(wide, narrow gpu.Matrix) int {
	if wide.Rows != narrow.Rows || narrow.Cols == 0 || wide.Cols < narrow.Cols || wide.Cols%narrow.Cols != 0 {
		c.fail("%d×%d is not a number of heads of %d×%d", wide.Rows, wide.Cols, narrow.Rows, narrow.Cols)
	}
	return wide.Cols / narrow.Cols
}
