package kernel

import "capgnn/gpu/host/workers"

// tnPlan is how a sum over rows is cut. rows and parts depend on shapes only, because they decide the order of the sum; group and
// flipped do not.
type tnPlan struct {
	rows    int  // rows of A and B per partial sum, a multiple of tnBlock (the last part may be shorter)
	parts   int  // partial sums
	flipped bool // partial sums are those of Bᵀ·A
	m, n    int  // shape of a partial sum
	group   int  // its rows per work item
	width   int  // its columns rounded up to lanes
}

// planTN cuts the sum for a C of m×n. The second factor is packed: where that rounds up little, it is the narrower one, which takes
// less of that and whose panels stay in the L1 cache.
func planTN(kern *tileKernel, m, n, rows, threads int) tnPlan {
	parts := min(tnParts, (rows+tnPartRows-1)/tnPartRows, max(1, tnPartFloats/(m*RoundUp(n, kern.lanes))))
	perPart := RoundUp((rows+parts-1)/parts, tnBlock)
	plan := tnPlan{rows: perPart, parts: (rows + perPart - 1) / perPart, m: m, n: n}
	if plan.flipped = m < n && 10*n*RoundUp(m, kern.lanes) <= 11*m*RoundUp(n, kern.lanes); plan.flipped {
		plan.m, plan.n = n, m
	}
	plan.width = RoundUp(plan.n, kern.lanes)
	group := max(1, tnGroup/plan.width)
	if plan.parts < 2*threads {
		group = min(group, (plan.m*plan.parts+2*threads-1)/(2*threads))
	}
	plan.group = RoundUp(group, kern.mr)
	return plan
}

// PartialLen is how many floats a product Aᵀ·B of rows×m and rows×n matrices takes for partial sums, and for packed blocks.
func PartialLen(rows, m, n, threads int) int {
	if rows == 0 || m == 0 || n == 0 {
		return 0
	}
	plan := planTN(gemmKernel(), m, n, rows, threads)
	return plan.parts*plan.m*plan.width + threads*tnRoom(plan.width)
}

// PackedLen is how many floats a packed k×n matrix takes, either way round.
func PackedLen(k, n int) int {
	lanes := gemmKernel().lanes
	return max(k*RoundUp(n, lanes), RoundUp(k, lanes)*n)
}

// GemmTN computes C = Aᵀ·B + beta·C: a sum over the rows of A and B, which are many. A and B may be bf16: each block of
// rows is widened before it is used, and the result has the bits of that of the widened matrices. Work items are (part of the rows,
// group of a partial sum's rows); each adds blocks of tnBlock rows in order to its place in the part's partial sum. Partial sums are
// then added in part order.
func GemmTN(p *workers.Pool, sc *Scratch, c Dense, a, b Either, beta float32) {
	rows, _ := a.Size()
	if rows == 0 || c.Empty() {
		Scale(p, c, beta)
		return
	}
	kern := gemmKernel()
	plan := planTN(kern, c.Rows, c.Cols, rows, p.Threads)
	if plan.flipped {
		a, b = b, a
	}
	size := plan.m * plan.width
	parts := workers.Aligned(&sc.parts, plan.parts*size)
	rooms := p.Own(&sc.room, tnRoom(plan.width))
	wide := p.Own(&sc.blocks, tnBlock*(a.Spare()+b.Spare()))
	groups := (plan.m + plan.group - 1) / plan.group
	p.Each(plan.parts*groups, func(worker, item int) {
		part, first := item/groups, item%groups*plan.group
		last := min(first+plan.group, plan.m)
		sum := parts[part*size+first*plan.width : (part+1)*size]
		start, strip := part*plan.rows, a.columns(first, last-first)
		for r := start; r < min(start+plan.rows, rows); r += tnBlock {
			end, room := min(r+tnBlock, rows), wide.Of(worker)
			t := tnBlocks{kern, strip.block(r, end, room), b.block(r, end, room[tnBlock*strip.Spare():])}
			t.add(sum, plan.width, rooms.Of(worker), r > start)
		}
	})
	sumParts(p, c, parts, plan, beta)
}

// tnBlocks is a block of rows of A, those columns of it for which sums are wanted, and of B.
type tnBlocks struct {
	kern *tileKernel
	a, b Dense
}

// tnStrip is how many columns of A are packed at a time, a multiple of the rows of every tile: what tiles read then lies in the L1
// cache in the order in which it is read. With 48 each row of a strip is three to four cache lines: measured 1.25 times as fast as 24 where
// B has 64 columns.
const tnStrip = 48

// tnRoom returns how many floats of scratch a block needs for a B of so many columns, rounded up to lanes.
func tnRoom(width int) int { return tnBlock * (width + tnStrip) }

// add adds or assigns Aᵀ·B to a partial sum of the given width, whose columns behind those of B are undefined.
func (t *tnBlocks) add(sum []float32, width int, room []float32, add bool) {
	panels, strip := room[:tnBlock*width], room[tnBlock*width:]
	packPanels(t.kern, panels, t.b)
	depth := t.a.Rows
	for i := 0; i < t.a.Cols; i += tnStrip {
		w, tile := min(tnStrip, t.a.Cols-i), 0
		a := t.a.columns(i, w)
		if !packBlock(strip, a.V, depth, w, a.LD) {
			packRows(strip, a, 0, depth, 0, w, w, w)
		}
		for j := 0; j < t.b.Cols; {
			n, rows := t.kern.panel(t.b.Cols - j)
			full := RoundUp(n, t.kern.lanes)
			for r := 0; r < w; r += rows {
				t.kern.tile(min(rows, w-r), full, depth, strip[r:], 1, w, panels[j*depth:], full, sum[(i+r)*width+j:], width, add, t.coming(i, tile))
				tile++
			}
			j += n
		}
	}
}

// coming is what the tiles of a strip prefetch: the first ones the next strip, a column of cache lines each; behind the last strip
// those of the next block of rows, and the other tiles B's.
func (t *tnBlocks) coming(i, tile int) hint {
	const lines = tnStrip/line + 1
	a, rows := t.a, t.a.Rows
	switch last := i+tnStrip >= a.Cols; {
	case tile < lines && !last:
		return soon(a.V, min(i+tnStrip+tile*line, a.Cols-1), a.LD)
	case tile < lines:
		return soon(a.V, rows*a.LD+min(tile*line, a.Cols-1), a.LD)
	case last:
		return soon(t.b.V, rows*t.b.LD+min((tile-lines)*line, t.b.Cols-1), t.b.LD)
	}
	return soon(a.V, 0, 0)
}

// packPanels copies b into panels. What is behind the last column is undefined.
func packPanels(kern *tileKernel, dst []float32, b Dense) {
	for j := 0; j < b.Cols; {
		n, _ := kern.panel(b.Cols - j)
		full := RoundUp(n, kern.lanes)
		if !packBlock(dst[j*b.Rows:], b.V[j:], b.Rows, full, b.LD) {
			packRows(dst[j*b.Rows:], b, 0, b.Rows, j, n, full, full)
		}
		j += n
	}
}

// sumRows is how many rows of partial sums are added at a time: a cache line of C's, where they are its columns.
const sumRows = line

// sumParts sets C to the sum of the partial sums in order, plus beta·C.
func sumParts(p *workers.Pool, c Dense, parts []float32, plan tnPlan, beta float32) {
	size := plan.m * plan.width
	p.Each((plan.m+sumRows-1)/sumRows, func(_, item int) {
		lo, hi := item*sumRows, min((item+1)*sumRows, plan.m)
		for i := lo; i < hi; i++ {
			sum := parts[i*plan.width : i*plan.width+plan.n]
			for q := 1; q < plan.parts; q++ {
				at := q*size + i*plan.width
				Axpby(sum, 1, parts[at:at+plan.n], 1)
			}
		}
		sums := Dense{parts[lo*plan.width:], hi - lo, plan.n, plan.width}
		if plan.flipped {
			addColumns(c.columns(lo, hi-lo), sums, beta)
		} else {
			addRows(c.RowRange(lo, hi), sums, beta)
		}
	})
}

// addRows sets c to s + beta·c. With beta 0, c is not read.
func addRows(c, s Dense, beta float32) {
	for i := range c.Rows {
		row, sum := c.Row(i), s.Row(i)
		if beta == 0 {
			copy(row, sum)
			continue
		}
		for j, v := range sum {
			row[j] = v + beta*row[j]
		}
	}
}

// addColumns sets c to sᵀ + beta·c. With beta 0, c is not read.
func addColumns(c, s Dense, beta float32) {
	for i := range c.Rows {
		row := c.Row(i)
		for j := range row {
			v := s.V[j*s.LD+i]
			if beta != 0 {
				v += beta * row[j]
			}
			row[j] = v
		}
	}
}
