package kernel

import "capgnn/gpu/host/workers"

// GemmTN: C = Aᵀ·B + beta·C, where A and B may be bf16: each block of rows is widened before it is used. The result has
// the bits of gemmTN of the widened matrices.
func GemmTN(p *workers.Pool, sc *Scratch, c Dense, a, b Either, beta float32) {
	if !a.Half && !b.Half {
		gemm(p, sc, c, a.D32, b.D32, true, false, beta)
		return
	}
	rows, _ := a.Size()
	if rows == 0 {
		Scale(p, c, beta)
		return
	}
	kern := gemmKernel()
	plan := planTN(kern, c.Rows, c.Cols, rows, p.Threads)
	size := c.Rows * plan.width
	parts := workers.Aligned(&sc.parts, plan.parts*size)
	rooms := workers.Aligned(&sc.room, p.Threads*plan.room())
	room := p.Own(&sc.blocks, tnBlock*(a.Spare()+b.Spare()))
	groups := (c.Rows + plan.group - 1) / plan.group
	p.Each(plan.parts*groups, func(worker, item int) {
		part, first := item/groups, item%groups*plan.group
		last := min(first+plan.group, c.Rows)
		packing := rooms[worker*plan.room() : (worker+1)*plan.room()]
		sum := parts[part*size : (part+1)*size]
		start := part * plan.rows
		for r := start; r < min(start+plan.rows, rows); r += tnBlock {
			end := min(r+tnBlock, rows)
			wide := room.Of(worker)
			wa, wb := a.Widened(r, end, wide), b.Widened(r, end, wide[tnBlock*a.Spare():])
			tnRows(kern, sum, plan.width, wa, wb, 0, end-r, first, last, packing, r > start)
		}
	})
	sumParts(p, c, parts, plan, beta)
}
