package kernel

import "capgnn/gpu/host/workers"

// gatReach is panelReach for GAT operations, whose numbers per head take room too. Measured with 16.5 million entries on
// 46,600 rows: 1.4 times as fast with 28.7 MB of rows in reach (4 heads of 41), 1.6 times with 45 MB (4 of 64).
const gatReach = 24 << 20

// headsAtOnce returns how many of an operation's heads, of c columns each, are computed together, and whether their rows are
// to be packed first. In the case in which SpMM works in panels (spmm_panels.go), a panel holds the columns of a few heads, and
// the numbers per head that belong to them. The columns of inner and halo are rows of x and y; entries are those of inner that
// the operation uses. Shapes and indices decide.
func headsAtOnce(sc *Scratch, inner Sparse, entries int64, x, y Dense, heads, c int) (n int, packed bool) {
	n = min(max(panelRow/(4*c), 1), gatHeads, heads)
	inner.Entries = entries
	args := spmmArgs{y: x, a: inner, x: x}
	if n < heads && 4*(x.Rows+y.Rows)*RoundUp(n*c, gatLanes) <= panelBytes && args.reaches(gatReach, &sc.spmm) {
		return n, true
	}
	return min(gatHeads, heads), false
}

// copyPanels copies matrices to scratch memory, one after the other, and makes them the copies. Rows of more than a cache line
// begin with one.
func copyPanels(p *workers.Pool, sc *Scratch, matrices ...*Dense) {
	size, stride := 0, func(m *Dense) int {
		if m.Cols <= gatLanes {
			return m.Cols
		}
		return RoundUp(m.Cols, gatLanes)
	}
	for _, m := range matrices {
		size += RoundUp(m.Rows*stride(m), gatLanes)
	}
	room := workers.Grown(&sc.spmm.panel, size)
	for _, m := range matrices {
		if m.V == nil {
			continue
		}
		panel := Dense{room[:m.Rows*stride(m)], m.Rows, m.Cols, stride(m)}
		p.Rows(m.Rows, m.Cols, func(_, lo, hi int) {
			for i := lo; i < hi; i++ {
				copy(panel.V[i*panel.LD:], m.V[i*m.LD:][:m.Cols])
			}
		})
		room, *m = room[RoundUp(len(panel.V), gatLanes):], panel
	}
}
