package host

import (
	"capgnn/gpu"
	"capgnn/gpu/host/kernel"
)

// Messages: sums, or largest, of functions of both ends of edges.
func (q *Queue) Messages(a gpu.MessageArgs) {
	q.check("Messages").Messages(a)
	if a.Y.Empty() {
		return
	}
	m := kernel.Messages{
		Y: denseOf(a.Y), R: denseOf(a.R), Max: a.Max, Accumulate: a.Accumulate, F: kernel.Map{F: a.F, A: a.A, B: a.B, Slope: a.Slope},
		Inner: gatSourceOf(a.Inner, a.C, a.X, a.Y.Rows, gpu.Ints{}), Halo: gatSourceOf(a.Halo, a.CHalo, a.XHalo, a.Y.Rows, gpu.Ints{}),
	}
	q.compute("Messages", gpu.PhaseAggregation, func() {
		entries := m.Inner.A.Entries + m.Halo.A.Entries
		room := q.dev.pool.Own(&q.dev.work.row, m.Y.Cols)
		q.dev.pool.Rows(m.Y.Rows, m.Y.Cols*(1+int(entries/int64(m.Y.Rows))), func(w, lo, hi int) { m.Rows(lo, hi, room.Of(w)) })
		q.count(gpu.Usage{SpMM: entries * int64(m.Y.Cols)})
	})
}
