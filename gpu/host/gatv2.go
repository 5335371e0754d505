package host

import (
	"capgnn/gpu"
	"capgnn/gpu/host/kernel"
)

// GATv2Aggregate: sum over in-edges weighted by attention to sums of rows.
func (q *Queue) GATv2Aggregate(a gpu.GATv2Args) {
	q.check("GATv2Aggregate").GATv2Aggregate(a)
	rows, cols := a.O.Rows, a.O.Cols
	if a.Lo == a.Hi || cols == 0 {
		return
	}
	g := &kernel.GATv2Forward{
		O: denseOf(a.O), LSE: denseOf(a.LSE), R: denseOf(a.R), Att: values(a.Att), Slope: a.Slope, Lo: a.Lo, Hi: a.Hi,
		Drop:  edgeDropOf(a.Drop, false),
		Inner: gatSourceOf(a.Inner, a.T, gpu.Matrix{}, rows, a.Drop.Inner), Halo: gatSourceOf(a.Halo, a.THalo, gpu.Matrix{}, rows, a.Drop.Halo),
	}
	q.compute("GATv2Aggregate", gpu.PhaseAggregation, func() {
		kernel.GATv2Aggregate(q.dev.pool, &q.dev.scratch, g)
		q.count(gpu.Usage{SpMM: (g.Inner.A.Between(g.Lo, g.Hi) + g.Halo.A.Between(g.Lo, g.Hi)) * int64(cols)})
	})
}

// GATv2BackwardDst: gradient of the destination rows and of the attention vector.
func (q *Queue) GATv2BackwardDst(a gpu.GATv2GradDst) {
	q.check("GATv2BackwardDst").GATv2BackwardDst(a)
	rows, cols := a.DO.Rows, a.DO.Cols
	if a.DO.Empty() {
		return
	}
	g := &kernel.GATv2GradDst{
		DR: denseOf(a.DR), DA: denseOf(a.DA), G: denseOf(a.G), DO: denseOf(a.DO), O: denseOf(a.O), LSE: denseOf(a.LSE), R: denseOf(a.R),
		Inner: gatSourceOf(a.Inner, a.T, gpu.Matrix{}, rows, a.Drop.Inner), Halo: gatSourceOf(a.Halo, a.THalo, gpu.Matrix{}, rows, a.Drop.Halo),
		Att: values(a.Att), Slope: a.Slope, Drop: edgeDropOf(a.Drop, false),
	}
	q.compute("GATv2BackwardDst", gpu.PhaseAggregation, func() {
		kernel.GATv2BackwardDst(q.dev.pool, &q.dev.scratch, g)
		q.count(gpu.Usage{SpMM: (g.Inner.A.Entries + g.Halo.A.Entries) * int64(cols)})
	})
}

// GATv2BackwardSrc: gradient of the source rows.
func (q *Queue) GATv2BackwardSrc(a gpu.GATv2GradSrc) {
	q.check("GATv2BackwardSrc").GATv2BackwardSrc(a)
	if a.DT.Empty() {
		return
	}
	to := gatTargetOf(a.A, a.DO, a.R, a.LSE, a.G, a.DT.Rows, a.Drop.Inner)
	g := &kernel.GATv2GradSrc{
		DT: denseOf(a.DT), T: denseOf(a.T), A: to.A, DO: to.DO, R: to.D, LSE: to.LSE, G: to.G, Att: values(a.Att), Slope: a.Slope, Heads: a.LSE.Cols,
		IDs: to.IDs, Drop: edgeDropOf(a.Drop, true),
	}
	q.compute("GATv2BackwardSrc", gpu.PhaseAggregation, func() {
		kernel.GATv2BackwardSrc(q.dev.pool, &q.dev.scratch, g)
		q.count(gpu.Usage{SpMM: g.A.Entries * int64(a.DT.Cols)})
	})
}
