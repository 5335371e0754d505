package host

import (
	"capgnn/gpu"
	"capgnn/gpu/host/kernel"
)

// DotAggregate: sum over in-edges weighted by attention to products of rows.
func (q *Queue) DotAggregate(a gpu.DotArgs) {
	q.check("DotAggregate").DotAggregate(a)
	if a.O.Empty() {
		return
	}
	g := &kernel.DotForward{O: denseOf(a.O), LSE: denseOf(a.LSE), Q: denseOf(a.Q), Drop: edgeDropOf(a.Drop, false),
		Inner: gatSourceOf(a.Inner, a.K, a.V, a.O.Rows, a.Drop.Inner), Halo: gatSourceOf(a.Halo, a.KHalo, a.VHalo,
			a.O.Rows, a.Drop.Halo)}
	q.compute("DotAggregate", gpu.PhaseAggregation, func() {
		kernel.DotAggregate(q.dev.pool, &q.dev.scratch, g)
		q.count(gpu.Usage{SpMM: (g.Inner.A.Entries + g.Halo.A.Entries) * int64(g.O.Cols)})
	})
}

// DotBackwardDst: gradient of the destination rows.
func (q *Queue) DotBackwardDst(a gpu.DotGradDst) {
	q.check("DotBackwardDst").DotBackwardDst(a)
	if a.DO.Empty() {
		return
	}
	g := &kernel.DotGradDst{DQ: denseOf(a.DQ), G: denseOf(a.G), DO: denseOf(a.DO), O: denseOf(a.O),
		LSE: denseOf(a.LSE), Q: denseOf(a.Q),
		Inner: gatSourceOf(a.Inner, a.K, a.V, a.DO.Rows, a.Drop.Inner), Halo: gatSourceOf(a.Halo, a.KHalo, a.VHalo,
			a.DO.Rows, a.Drop.Halo),
		Drop: edgeDropOf(a.Drop, false)}
	q.compute("DotBackwardDst", gpu.PhaseAggregation, func() {
		kernel.DotBackwardDst(q.dev.pool, &q.dev.scratch, g)
		q.count(gpu.Usage{SpMM: (g.Inner.A.Entries + g.Halo.A.Entries) * int64(g.DQ.Cols)})
	})
}

// DotBackwardSrc: gradient of the source rows.
func (q *Queue) DotBackwardSrc(a gpu.DotGradSrc) {
	q.check("DotBackwardSrc").DotBackwardSrc(a)
	if a.DK.Empty() {
		return
	}
	rows := a.DK.Rows
	g := &kernel.DotGradSrc{DK: denseOf(a.DK), DV: denseOf(a.DV), K: denseOf(a.K), V: denseOf(a.V), Heads: a.Heads,
		Drop:  edgeDropOf(a.Drop, true),
		Inner: gatTargetOf(a.Inner, a.DO, a.Q, a.LSE, a.G, rows, a.Drop.Inner),
		Halo:  gatTargetOf(a.Halo, a.DOHalo, a.QHalo, a.LSEHalo, a.GHalo, rows, a.Drop.Halo)}
	q.compute("DotBackwardSrc", gpu.PhaseAggregation, func() {
		kernel.DotBackwardSrc(q.dev.pool, &q.dev.scratch, g)
		q.count(gpu.Usage{SpMM: (g.Inner.A.Entries + g.Halo.A.Entries) * int64(g.DK.Cols)})
	})
}
