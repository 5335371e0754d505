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
	norm                 bool
	act                  gpu.Activation
	gamma, beta, rstd    []float32
	drop                 dropout
	dGamma, dBeta, dBias []float32
}

// EpilogueBackward: gradient through an Epilogue.
func (q *Queue) EpilogueBackward(e gpu.EpilogueGrad) {
	q.check("EpilogueBackward").EpilogueBackward(e)
	g := &epilogueGrad{
		dh: denseOf(e.DH), dz: eitherOf(e.DZ),
		norm: e.Norm, act: e.Act, drop: dropoutOf(e.Dropout), dBias: values(e.DBias),
	}
	if e.Norm || e.Act != gpu.NoActivation || !e.H.Empty() {
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
	curve := d.pool.Own(&d.work.curve, g.curveRoom(cols))
	n := d.pool.Blocks(rows, func(w, block, lo, hi int) {
		p := part[block*3*cols:]
		pGamma, pBeta, pBias := p[:cols:cols], p[cols:2*cols:2*cols], p[2*cols:3*cols:3*cols]
		if g.dBias == nil {
			pBias = nil
		}
		for i := lo; i < hi; i++ {
			keep, dz := g.drop.mask(masks, w, i, cols), g.dz.DraftRow(i, room.Of(w))
			switch {
			case g.act.Curved():
				g.curved(dz, i, keep, curve.Of(w), pGamma, pBeta, pBias)
			case g.norm:
				kernel.NormBackward(dz, g.dh.Row(i), g.x.Row(i), g.gamma, g.beta, g.rstd[i],
					g.act == gpu.ReLU, keep, g.drop.scale, pGamma, pBeta, pBias, g.output(i))
			default:
				g.plain(dz, i, keep)
				g.addBias(pBias, dz)
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
	if g.act == gpu.ReLU {
		x = g.x.Row(i)
	}
	if h := g.output(i); h != nil {
		kernel.PlainForward(h, g.x.Row(i), g.act == gpu.ReLU, keep, g.drop.scale)
	}
	kernel.PlainBackward(dz, g.dh.Row(i), x, keep, g.drop.scale)
}

// addBias adds the gradient of a row to the sum for the bias, if it is wanted.
func (g *epilogueGrad) addBias(sum, dz []float32) {
	if sum != nil {
		kernel.Axpby(sum, 1, dz, 1)
	}
}

// curveRoom is how many floats curved takes for itself: an output and, with LayerNorm, the gradient behind it.
func (g *epilogueGrad) curveRoom(cols int) int {
	switch {
	case !g.act.Curved() || !g.norm && g.h.Empty():
		return 0
	case g.norm:
		return 2 * cols
	}
	return cols
}

// curved is the gradient of row i with a curved activation, whose derivative is made of the output. Without LayerNorm and H that is X. Otherwise it is made again in
// room, since H may be X.
func (g *epilogueGrad) curved(dz []float32, i int, keep []uint32, room, pGamma, pBeta, pBias []float32) {
	dh, x, out := g.dh.Row(i), g.x.Row(i), g.output(i)
	n := len(x)
	switch {
	case g.norm:
		h, grad := room[:n], room[n:2*n]
		kernel.Affine(h, x, g.gamma, g.beta)
		kernel.Activate(g.act, h, h, keep, g.drop.scale)
		kernel.ActivateBackward(g.act, grad, dh, h, keep, g.drop.scale)
		kernel.NormBackward(dz, grad, x, g.gamma, g.beta, g.rstd[i], false, nil, 1, pGamma, pBeta, pBias, nil)
		copy(out, h)
		return
	case out != nil:
		h := room[:n]
		kernel.Activate(g.act, h, x, keep, g.drop.scale)
		kernel.ActivateBackward(g.act, dz, dh, h, keep, g.drop.scale)
		copy(out, h)
	default:
		kernel.ActivateBackward(g.act, dz, dh, x, keep, g.drop.scale)
	}
	g.addBias(pBias, dz)
}
