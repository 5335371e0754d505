package host

// gemmTNEither: C = Aᵀ·B + beta·C, where A and B may be bf16: each block of rows is widened before it is used. The result has
// the bits of gemmTN of the widened matrices.
func gemmTNEither(p *pool, sc *scratch, c dense, a, b either, beta float32) {
	if !a.half && !b.half {
		gemm(p, sc, c, a.d32, b.d32, true, false, beta)
		return
	}
	rows, _ := a.size()
	if rows == 0 {
		scale(p, c, beta)
		return
	}
	kern := gemmKernel()
	plan := planTN(kern, c.rows, c.cols, rows, p.threads)
	size := c.rows * plan.width
	parts := grow(&sc.parts, plan.parts*size)
	rooms := grow(&sc.room, p.threads*plan.room())
	room := p.own(&sc.blocks, tnBlock*(a.spare()+b.spare()))
	groups := (c.rows + plan.group - 1) / plan.group
	p.each(plan.parts*groups, func(worker, item int) {
		part, first := item/groups, item%groups*plan.group
		last := min(first+plan.group, c.rows)
		packing := rooms[worker*plan.room() : (worker+1)*plan.room()]
		sum := parts[part*size : (part+1)*size]
		start := part * plan.rows
		for r := start; r < min(start+plan.rows, rows); r += tnBlock {
			end := min(r+tnBlock, rows)
			wide := room.of(worker)
			wa, wb := a.widened(r, end, wide), b.widened(r, end, wide[tnBlock*a.spare():])
			tnRows(kern, sum, plan.width, wa, wb, 0, end-r, first, last, packing, r > start)
		}
	})
	sumParts(p, c, parts, plan, beta)
}
