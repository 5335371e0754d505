package kernel

import "capgnn/gpu/host/workers"

// tnPlan is how a sum over rows is cut. rows and parts depend on shapes only, because they decide the order of the sum;
// group does not.
type tnPlan struct {
	rows  int // rows of A and B per partial sum, a multiple of tnBlock (the last part may be shorter)
	parts int // partial sums
	group int // rows of C per work item
	width int // columns of a partial sum: C's, rounded up to lanes
}

func planTN(kern *tileKernel, m, n, rows, threads int) tnPlan {
	width := RoundUp(n, kern.lanes)
	parts := min(tnParts, (rows+tnPartRows-1)/tnPartRows, max(1, tnPartFloats/(m*width)))
	perPart := RoundUp((rows+parts-1)/parts, tnBlock)
	parts = (rows + perPart - 1) / perPart
	group := max(1, tnGroup/width)
	if parts < 2*threads {
		group = min(group, (m*parts+2*threads-1)/(2*threads))
	}
	return tnPlan{perPart, parts, RoundUp(group, kern.mr), width}
}

// PartialLen is how many floats a product Aᵀ·B of rows×m and rows×n matrices takes for partial sums, and for packed blocks of B.
func PartialLen(rows, m, n, threads int) int {
	if rows == 0 || m == 0 || n == 0 {
		return 0
	}
	plan := planTN(gemmKernel(), m, n, rows, threads)
	return plan.parts*m*plan.width + threads*plan.room()
}

// PackedLen is how many floats a packed k×n matrix takes, either way round.
func PackedLen(k, n int) int {
	lanes := gemmKernel().lanes
	return max(k*RoundUp(n, lanes), RoundUp(k, lanes)*n)
}

// gemmTN computes C = Aᵀ·B + beta·C: a sum over the rows of A and B, which are many. Work items are (part of the rows,
// group of C's rows); each adds blocks of tnBlock rows in order to its place in the part's partial sum. Partial sums are
// then added in part order.
func gemmTN(p *workers.Pool, sc *Scratch, c, a, b Dense, beta float32) {
	kern := gemmKernel()
	plan := planTN(kern, c.Rows, c.Cols, a.Rows, p.Threads)
	size := c.Rows * plan.width
	parts := workers.Aligned(&sc.parts, plan.parts*size)
	rooms := workers.Aligned(&sc.room, p.Threads*plan.room())
	groups := (c.Rows + plan.group - 1) / plan.group
	p.Each(plan.parts*groups, func(worker, item int) {
		part, first := item/groups, item%groups*plan.group
		last := min(first+plan.group, c.Rows)
		room := rooms[worker*plan.room() : (worker+1)*plan.room()]
		sum := parts[part*size : (part+1)*size]
		start := part * plan.rows
		for r := start; r < min(start+plan.rows, a.Rows); r += tnBlock {
			rows := min(tnBlock, a.Rows-r)
			tnRows(kern, sum, plan.width, a, b, r, rows, first, last, room, r > start)
		}
	})
	sumParts(p, c, parts, plan, beta)
}

// room returns how many floats of scratch tnRows needs.
func (plan tnPlan) room() int { return tnBlock * plan.width }

// tnRows adds or assigns rows r to r+rows ≤ r+tnBlock of Aᵀ·B to rows first to last of a partial sum of the given width.
func tnRows(kern *tileKernel, sum []float32, width int, a, b Dense, r, rows, first, last int, room []float32, add bool) {
	t := tnBlocks{kern, a, b, r, rows, first, last}
	if b.Cols > 3*kern.lanes {
		packPanels(kern, room, b, r, rows)
		t.panels(sum, width, room, add)
	} else {
		t.panel(sum, width, room, add)
	}
}

// tnBlocks is a block of rows of A and of B, and the rows of C that are wanted.
type tnBlocks struct {
	kern        *tileKernel
	a, b        Dense
	r, rows     int
	first, last int
}

// panel multiplies in place, for a B of one panel: packing costs more there than it gives, as each element of B serves a few
// tiles only. The sum's columns behind those of B are undefined.
func (t *tnBlocks) panel(sum []float32, width int, room []float32, add bool) {
	n := RoundUp(t.b.Cols, t.kern.lanes)
	src, stride := t.b.V[t.r*t.b.LD:], t.b.LD
	if (t.rows-1)*stride+n > len(src) { // the last columns would be read past the end
		packRows(room, t.b, t.r, t.rows, 0, t.b.Cols, n, n)
		src, stride = room, n
	}
	_, rows := t.kern.panel(n)
	for i := t.first; i < t.last; i += rows {
		t.kern.tile(min(rows, t.last-i), n, t.rows, t.a.V[t.r*t.a.LD+i:], 1, t.a.LD, src, stride, sum[i*width:], width, add,
			soon(t.a.V, (t.r+t.rows)*t.a.LD+i, t.a.LD))
	}
}

// panels multiplies A in place with B's packed panels.
func (t *tnBlocks) panels(sum []float32, width int, panels []float32, add bool) {
	tile := 0
	for j := 0; j < t.b.Cols; {
		n, rows := t.kern.panel(t.b.Cols - j)
		full := RoundUp(n, t.kern.lanes)
		for i := t.first; i < t.last; i += rows {
			t.kern.tile(min(rows, t.last-i), full, t.rows, t.a.V[t.r*t.a.LD+i:], 1, t.a.LD, panels[j*t.rows:], full,
				sum[i*width+j:], width, add, t.coming(tile))
			tile++
		}
		j += n
	}
}

// coming shares out the prefetch of the next row block among the tiles of this one: a column of cache lines each, first
// those of A, then those of B.
func (t *tnBlocks) coming(tile int) hint {
	ofA := (t.last-t.first)/line + 1
	if tile < ofA {
		return soon(t.a.V, (t.r+t.rows)*t.a.LD+t.first+tile*line, t.a.LD)
	}
	return soon(t.b.V, (t.r+t.rows)*t.b.LD+min((tile-ofA)*line, t.b.Cols-1), t.b.LD)
}

// packPanels copies rows r to r+rows of b into panels: in place, rows as long as a power of two share a few sets of the cache.
// What is behind the last column is undefined.
func packPanels(kern *tileKernel, dst []float32, b Dense, r, rows int) {
	for j := 0; j < b.Cols; {
		n, _ := kern.panel(b.Cols - j)
		full := RoundUp(n, kern.lanes)
		if !packBlock(dst[j*rows:], b.V[r*b.LD+j:], rows, full, b.LD) {
			packRows(dst[j*rows:], b, r, rows, j, n, full, full)
		}
		j += n
	}
}

// sumParts sets C to the sum of the partial sums in order, plus beta·C.
func sumParts(p *workers.Pool, c Dense, parts []float32, plan tnPlan, beta float32) {
	const rows = 8
	size := c.Rows * plan.width
	p.Each((c.Rows+rows-1)/rows, func(_, item int) {
		for i := item * rows; i < min((item+1)*rows, c.Rows); i++ {
			sum := parts[i*plan.width : i*plan.width+c.Cols]
			for q := 1; q < plan.parts; q++ {
				at := q*size + i*plan.width
				for j, v := range parts[at : at+c.Cols] {
					sum[j] += v
				}
			}
			row := c.V[i*c.LD : i*c.LD+c.Cols]
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
