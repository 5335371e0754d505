package host

import (
	"capgnn/gpu"
	"capgnn/gpu/host/kernel"
	"capgnn/gpu/host/workers"
)

// epilogueGrad is a resolved gpu.EpilogueGrad.
type epilogueGrad struct {
	dh, x, h             kernel.Dense
	dz                   kernel.Either
	norm, relu           bool
	gamma, beta, rstd    []float32
	drop                 dropout
	dGamma, dBeta, dBias []float32
}

// EpilogueBackward: gradient through an Epilogue.
func (q *Queue) EpilogueBackward(e gpu.EpilogueGrad) {
	q.check("EpilogueBackward").EpilogueBackward(e)
	g := &epilogueGrad{
		dh: denseOf(e.DH), dz: eitherOf(e.DZ),
		norm: e.Norm, relu: e.ReLU, drop: dropoutOf(e.Dropout), dBias: values(e.DBias),
	}
	if e.Norm || e.ReLU || !e.H.Empty() {
		g.x = denseOf(e.X)
	}
	if e.Norm {
		g.gamma, g.beta, g.rstd = values(e.Gamma), values(e.Beta), values(e.Rstd)
		g.dGamma, g.dBeta = values(e.DGamma), values(e.DBeta)
	}
	if !e.H.Empty() {
		g.h = denseOf(e.H)
	}
	if g.dh.Empty() {
		return
	}
	q.compute("EpilogueBackward", gpu.PhaseOther, func() { q.dev.epilogueBackward(g) })
}

// epilogueBackward sums DGamma, DBeta and DBias by blocks of rows. A block's partial sums lie one after another.
func (d *Device) epilogueBackward(g *epilogueGrad) {
	rows, cols := g.dh.Rows, g.dh.Cols
	masks := g.drop.masks(d, cols)
	part := workers.Zeros(&d.work.f32, workers.BlockCount(rows)*3*cols)
	room := d.pool.Own(&d.work.row, g.dz.Spare())
	n := d.pool.Blocks(rows, func(w, block, lo, hi int) {
		p := part[block*3*cols:]
		pGamma, pBeta, pBias := p[:cols:cols], p[cols:2*cols:2*cols], p[2*cols:3*cols:3*cols]
		if g.dBias == nil {
			pBias = nil
		}
		for i := lo; i < hi; i++ {
			keep, dz := g.drop.mask(masks, w, i, cols), g.dz.DraftRow(i, room.Of(w))
			if g.norm {
				kernel.NormBackward(dz, g.dh.Row(i), g.x.Row(i), g.gamma, g.beta, g.rstd[i],
					g.relu, keep, g.drop.scale, pGamma, pBeta, pBias, g.output(i))
			} else {
				g.plain(dz, i, keep)
				if pBias != nil {
					kernel.Axpby(pBias, 1, dz, 1)
				}
			}
			g.dz.StoreRow(i, dz)
		}
	})
	if g.norm {
		kernel.AddBlocks(g.dGamma, part, n, 3*cols, 1)
		kernel.AddBlocks(g.dBeta, part[cols:], n, 3*cols, 1)
	}
	if g.dBias != nil {
		kernel.AddBlocks(g.dBias, part[2*cols:], n, 3*cols, 1)
	}
}

// output returns row i of H, nil if it is not wanted.
func (g *epilogueGrad) output(i int) []float32 {
	if g.h.Empty() {
		return nil
	}
	return g.h.Row(i)
}

// plain is the gradient of row i without LayerNorm. H comes first: DZ may take the place of X, and where H does, it is
// positive where X is or the element is dropped.
func (g *epilogueGrad) plain(dz []float32, i int, keep []uint32) {
	var x []float32
	if g.relu {
		x = g.x.Row(i)
	}
	if h := g.output(i); h != nil {
		kernel.PlainForward(h, g.x.Row(i), g.relu, keep, g.drop.scale)
	}
	kernel.PlainBackward(dz, g.dh.Row(i), x, keep, g.drop.scale)
}
