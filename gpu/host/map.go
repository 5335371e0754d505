package host

import (
	"capgnn/gpu"
	"capgnn/gpu/host/kernel"
)

// Map: dst[i][j] = f(src[i][j])·by[i][j] + beta·dst[i][j].
func (q *Queue) Map(a gpu.MapArgs) {
	q.check("Map").Map(a)
	m := kernel.Map{Dst: denseOf(a.Dst), Src: denseOf(a.Src), By: denseOf(a.By), F: a.F, A: a.A, B: a.B, Slope: a.Slope, Beta: a.Beta}
	if m.Dst.Empty() {
		return
	}
	q.compute("Map", gpu.PhaseOther, func() {
		room := q.dev.pool.Own(&q.dev.work.row, m.Dst.Cols)
		q.dev.pool.Rows(m.Dst.Rows, m.Dst.Cols, func(w, lo, hi int) {
			for i := lo; i < hi; i++ {
				m.Row(i, room.Of(w))
			}
		})
	})
}
