package host

import "capgnn/gpu"

// epilogueGrad is a resolved gpu.EpilogueGrad.
type epilogueGrad struct {
	dh, x, dz, h         dense
	norm, relu           bool
	gamma, beta, rstd    []float32
	drop                 dropout
	dGamma, dBeta, dBias []float32
}

// EpilogueBackward: gradient through an Epilogue.
func (q *Queue) EpilogueBackward(e gpu.EpilogueGrad) {
	c := q.check("EpilogueBackward")
	rows, cols := e.DH.Rows, e.DH.Cols
	g := &epilogueGrad{
		dh: c.mat("DH", e.DH), dz: c.shaped("DZ", e.DZ, rows, cols),
		norm: e.Norm, relu: e.ReLU, drop: c.dropout(e.Dropout, rows), dBias: c.optional("DBias", e.DBias, cols),
	}
	if e.Norm || e.ReLU {
		g.x = c.shaped("X", e.X, rows, cols)
	}
	if e.Norm {
		g.gamma, g.beta, g.rstd = c.vec("Gamma", e.Gamma, cols), c.vec("Beta", e.Beta, cols), c.vec("Rstd", e.Rstd, rows)
		g.dGamma, g.dBeta = c.vec("DGamma", e.DGamma, cols), c.vec("DBeta", e.DBeta, cols)
	}
	if !e.H.Empty() {
		g.x, g.h = c.shaped("X", e.X, rows, cols), c.shaped("H", e.H, rows, cols)
	}
	if g.dh.empty() {
		return
	}
	q.compute("EpilogueBackward", gpu.PhaseOther, func() { q.dev.epilogueBackward(g) })
}

// epilogueBackward sums DGamma, DBeta and DBias by blocks of rows. A block's partial sums lie one after another.
func (d *Device) epilogueBackward(g *epilogueGrad) {
	rows, cols := g.dh.rows, g.dh.cols
	masks := g.drop.masks(d, cols)
	part := zeros(&d.work.f32, blockCount(rows)*3*cols)
	n := d.blocks(rows, func(w, block, lo, hi int) {
		p := part[block*3*cols:]
		pGamma, pBeta, pBias := p[:cols:cols], p[cols:2*cols:2*cols], p[2*cols:3*cols:3*cols]
		if g.dBias == nil {
			pBias = nil
		}
		for i := lo; i < hi; i++ {
			keep := g.drop.mask(masks, w, i, cols)
			if g.norm {
				normBackward(g.dz.row(i), g.dh.row(i), g.x.row(i), g.gamma, g.beta, g.rstd[i],
					g.relu, keep, g.drop.scale, pGamma, pBeta, pBias)
			} else {
				g.plain(i, keep)
				if pBias != nil {
					axpby(pBias, 1, g.dz.row(i), 1)
				}
			}
			g.output(i, keep)
		}
	})
	if g.norm {
		addBlocks(g.dGamma, part, n, 3*cols, 1)
		addBlocks(g.dBeta, part[cols:], n, 3*cols, 1)
	}
	if g.dBias != nil {
		addBlocks(g.dBias, part[2*cols:], n, 3*cols, 1)
	}
}

// output writes row i of H, if it is wanted.
func (g *epilogueGrad) output(i int, keep []uint32) {
	switch {
	case g.h.empty():
	case g.norm:
		normOutput(g.x.row(i), g.h.row(i), g.gamma, g.beta, g.relu, keep, g.drop.scale)
	default:
		plainForward(g.h.row(i), g.x.row(i), g.relu, keep, g.drop.scale)
	}
}

// plain is the gradient of row i without LayerNorm: DZ[j] = keep(j) and x[j] > 0 ? DH[j]·scale : 0.
func (g *epilogueGrad) plain(i int, keep []uint32) {
	dz, dh := g.dz.row(i), g.dh.row(i)
	scale := g.drop.scale
	if !g.relu && keep == nil {
		copy(dz, dh)
		return
	}
	var x []float32
	if g.relu {
		x = g.x.row(i)
	}
	for j, v := range dh {
		if keep != nil && keep[j>>5]>>(j&31)&1 == 0 || x != nil && !(x[j] > 0) {
			v = 0
		}
		dz[j] = v * scale
	}
}
