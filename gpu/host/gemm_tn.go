package host

// tnPlan is how a sum over rows is cut. rows and parts depend on shapes only, because they decide the order of the sum;
// group does not.
type tnPlan struct {
	rows  int // rows of A and B per partial sum, a multiple of tnBlock (the last part may be shorter)
	parts int // partial sums
	group int // rows of C per work item
	width int // columns of a partial sum: C's, rounded up to lanes
}

func planTN(kern *tileKernel, m, n, rows, threads int) tnPlan {
	width := roundUp(n, kern.lanes)
	parts := min(tnParts, (rows+tnPartRows-1)/tnPartRows, max(1, tnPartFloats/(m*width)))
	perPart := roundUp((rows+parts-1)/parts, tnBlock)
	parts = (rows + perPart - 1) / perPart
	group := max(1, tnGroup/width)
	if parts < 2*threads {
		group = min(group, (m*parts+2*threads-1)/(2*threads))
	}
	return tnPlan{perPart, parts, roundUp(group, kern.mr), width}
}

// gemmTN computes C = Aᵀ·B + beta·C: a sum over the rows of A and B, which are many. Work items are (part of the rows,
// group of C's rows); each adds blocks of tnBlock rows in order to its place in the part's partial sum. Partial sums are
// then added in part order. Neither A nor B is packed but for B's last columns, which would be read past their end.
func gemmTN(p *pool, sc *scratch, c, a, b dense, beta float32) {
	kern := gemmKernel()
	plan := planTN(kern, c.rows, c.cols, a.rows, p.threads)
	size := c.rows * plan.width
	parts := grow(&sc.parts, plan.parts*size)
	tails := grow(&sc.tails, p.threads*tnBlock*kern.nr)
	groups := (c.rows + plan.group - 1) / plan.group
	p.each(plan.parts*groups, func(worker, item int) {
		part, first := item/groups, item%groups*plan.group
		last := min(first+plan.group, c.rows)
		tail := tails[worker*tnBlock*kern.nr : (worker+1)*tnBlock*kern.nr]
		sum := parts[part*size : (part+1)*size]
		start := part * plan.rows
		for r := start; r < min(start+plan.rows, a.rows); r += tnBlock {
			rows := min(tnBlock, a.rows-r)
			tnRows(kern, sum, plan.width, a, b, r, rows, first, last, tail, r > start)
		}
	})
	sumParts(p, c, parts, plan, beta)
}

// tnRows adds or assigns rows r to r+rows of Aᵀ·B to rows first to last of a partial sum.
func tnRows(kern *tileKernel, sum []float32, width int, a, b dense, r, rows, first, last int, tail []float32, add bool) {
	for j := 0; j < b.cols; j += kern.nr {
		n := min(kern.nr, b.cols-j)
		src, stride := b.v[r*b.ld+j:], b.ld
		if n%kern.lanes != 0 {
			packRows(tail, b, r, rows, j, n, roundUp(n, kern.lanes))
			n = roundUp(n, kern.lanes)
			src, stride = tail, n
		}
		for i := first; i < last; i += kern.mr {
			m := min(kern.mr, last-i)
			kern.tile(m, n, rows, a.v[r*a.ld+i:], 1, a.ld, src, stride, sum[i*width+j:], width, add,
				nextRows(a, b, r, rows, i, j, i-first < kern.mr))
		}
	}
}

// nextRows shares out the prefetch of the next row block: the first panel's tiles take their columns of A, the first tile
// of each other panel its columns of B.
func nextRows(a, b dense, r, rows, i, j int, firstTile bool) hint {
	switch {
	case j == 0:
		return soon(a.v, (r+rows)*a.ld+i, a.ld)
	case firstTile:
		return soon(b.v, (r+rows)*b.ld+j, b.ld)
	}
	return soon(a.v, r*a.ld+i, 0)
}

// sumParts sets C to the sum of the partial sums in order, plus beta·C.
func sumParts(p *pool, c dense, parts []float32, plan tnPlan, beta float32) {
	const rows = 8
	size := c.rows * plan.width
	p.each((c.rows+rows-1)/rows, func(_, item int) {
		for i := item * rows; i < min((item+1)*rows, c.rows); i++ {
			sum := parts[i*plan.width : i*plan.width+c.cols]
			for q := 1; q < plan.parts; q++ {
				at := q*size + i*plan.width
				for j, v := range parts[at : at+c.cols] {
					sum[j] += v
				}
			}
			row := c.v[i*c.ld : i*c.ld+c.cols]
			if beta == 0 {
				copy(row, sum)
				continue
			}
			for j, v := range sum {
				row[j] = v + beta*row[j]
			}
		}
	})
}
