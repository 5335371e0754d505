package minibatch

import (
	"slices"

	"capgnn/gpu"
	"capgnn/graph"
	"capgnn/hostmem"
	"capgnn/internal/learn"
	"capgnn/pipeline/layered"
)

// resident is the rows that a device with memory of its own keeps there for a part, packed as its tables are: those
// of the part, ascending, and then those of other parts. A step uploads the numbers of the rows that it reads, and
// those rows that are not among them; the device gathers both. Which rows are kept changes no bit: they are copies.
type resident struct {
	rows   int          // that are kept
	area   int          // rows behind them, through which others come; 0: all are kept
	row    []int32      // by vertex: which of them it is, -1: none; nil: that of its number
	tables []gpu.Matrix // as stage.tables: rows+area; of who has a device
}

// all reports whether every row is there.
func (r *resident) all() bool { return r != nil && r.area == 0 }

// keep decides which rows devices keep beside steps and evaluation. A quarter of what steps take is left, for steps
// that are larger than all before.
func (d *design) keep(p *learn.Problem, o *Options, steps int) error {
	d.residents = make([]*resident, len(o.Devices))
	if d.sparse || o.Isolated != nil || !slices.ContainsFunc(o.Devices, apart) {
		return nil
	}
	exact, err := d.bounds(p, o)
	if err != nil {
		return err
	}
	x := newSizing(p, o, d)
	taken, parts := map[gpu.Device]gpu.Bytes{}, map[gpu.Device]gpu.Bytes{}
	for part, dev := range o.Devices {
		if apart(dev) {
			m, _ := x.part(part, steps)
			taken[dev] += m.Bound*5/4 + exact.Devices[part]
			parts[dev]++
		}
	}
	for part, dev := range o.Devices {
		if !apart(dev) {
			continue
		}
		m := dev.Memory()
		d.residents[part] = d.resident(p, o, part, (m.Budget-m.Used-taken[dev])/parts[dev])
		if d.residents[part].all() { // nothing is fetched, of what was counted
			all, own := &d.epoch, &d.work[part]
			all.Rows.Hit, all.Rows.Fetched = all.Rows.Hit+own.Rows.Fetched, all.Rows.Fetched-own.Rows.Fetched
			all.Requests -= own.Requests
			all.Bytes.Rows, all.Bytes.IDs = all.Bytes.Rows-own.Bytes.Rows, all.Bytes.IDs-own.Bytes.IDs
		}
	}
	return nil
}

// apart reports whether a device has memory of its own, apart from that of the host that samples for it. One of
// another process (nil) is not asked.
func apart(dev gpu.Device) bool {
	if dev == nil {
		return false
	}
	r, ok := dev.(gpu.Resident)
	return dev.Info().Kind != gpu.CPU && !(ok && r.Linked())
}

// resident returns what a part keeps in so much memory; nil: nothing. It keeps its own rows, or as many of them as
// there is memory for, those of the vertices with the most neighbours. Rows of other parts that are read as own
// ones are kept too, if there is memory for all of them.
func (d *design) resident(p *learn.Problem, o *Options, part int, room gpu.Bytes) *resident {
	var own, others []graph.NodeID
	for v := range p.Vertices() {
		if o.Part == nil || int(o.Part[v]) == part {
			own = append(own, graph.NodeID(v))
		} else {
			others = append(others, graph.NodeID(v))
		}
	}
	row := gpu.Bytes(0)
	for _, t := range d.tables(p, o.Model) {
		row += 4 * gpu.Bytes(t.cols)
	}
	missing := func(of func(e *extent) int) int {
		for _, e := range d.bounding(part) {
			e.missing = of(e)
		}
		return max(1, min(d.extents[part].missing, int(mostArea/row)))
	}
	size, fit, all := o.Sampling.Resident, int(room/row), p.Vertices()
	near := len(others) == 0 || !o.fetches() && size.Unit != CacheShare
	if near && fit >= all && size.of(all, row) == all {
		missing(func(*extent) int { return 0 })
		return residentRows(all, 0, append(own, others...))
	}
	want := size.of(len(own), row)
	area := missing(func(e *extent) int { return e.missing })
	if min(want, fit-area) < len(own) { // then any row may be missing
		area = missing(func(e *extent) int { return e.ids })
		own = hottest(p.Graph, own, max(0, min(want, fit-area)))
	}
	if len(own) == 0 {
		return nil
	}
	return residentRows(all, area, own)
}

// hottest returns the n vertices of a list that have the most neighbours, of equal ones the first, in the order of
// the list.
func hottest(g *graph.CSR, list []graph.NodeID, n int) []graph.NodeID {
	degree := func(v graph.NodeID) int { return len(g.Row(int(v))) }
	most := 0
	for _, v := range list {
		most = max(most, degree(v))
	}
	with := make([]int, most+1) // vertices by degree
	for _, v := range list {
		with[degree(v)]++
	}
	least := most
	for ; least > 0 && with[least] <= n; least-- {
		n -= with[least]
	}
	var out []graph.NodeID
	for _, v := range list {
		switch d := degree(v); {
		case d > least:
			out = append(out, v)
		case d == least && n > 0:
			out = append(out, v)
			n--
		}
	}
	return out
}

// residentRows returns rows that are kept, of so many vertices, in the order of a list.
func residentRows(vertices, area int, list []graph.NodeID) *resident {
	r := &resident{rows: len(list), area: area}
	if area == 0 && slices.IsSorted(list) {
		return r
	}
	r.row = slices.Repeat([]int32{-1}, vertices)
	for k, v := range list {
		r.row[v] = int32(k)
	}
	return r
}

// bounding returns the extents that memory of a part is planned by.
func (d *design) bounding(part int) []*extent {
	list := []*extent{&d.extents[part], &d.seen[part]}
	for unit := range d.units[part] {
		list = append(list, &d.units[part][unit])
	}
	return list
}

// bytes is what the rows take of the device.
func (r *resident) bytes(tables []table) (n gpu.Bytes) {
	for i := range tables {
		n += 4 * gpu.Bytes(r.rows+r.area) * gpu.Bytes(tables[i].cols)
	}
	return n
}

func (r *resident) alloc(w *worker) (err error) {
	for i := range w.stage.tables {
		cols := w.stage.tables[i].cols
		b := w.Alloc(4*gpu.Bytes(r.rows+r.area)*gpu.Bytes(cols), "resident rows")
		if b == nil {
			for _, m := range r.tables {
				w.Free(m.Buf)
			}
			err, w.Failed = w.Failed, nil
			return err
		}
		r.tables = append(r.tables, gpu.Matrix{Buf: b, Rows: r.rows + r.area, Cols: cols, LD: cols})
	}
	return nil
}

// load copies the rows that the worker's device keeps to it.
func (w *worker) load() error {
	r := w.stage.resident
	if r == nil {
		return nil
	}
	ids := make([]graph.NodeID, r.rows)
	for v := range w.stage.p.Vertices() {
		if r.row == nil {
			ids[v] = graph.NodeID(v)
		} else if k := r.row[v]; k >= 0 {
			ids[k] = graph.NodeID(v)
		}
	}
	for k, to := range r.tables {
		t, rows := &w.stage.tables[k], max(1, pieceOf/4/to.Cols)
		for lo := 0; lo < r.rows; lo += rows {
			piece := ids[lo:min(r.rows, lo+rows)]
			if t.of == nil && t.place == nil {
				w.prefetch.UploadRows(to.RowRange(lo, lo+len(piece)), hostmem.Bytes(t.data), piece)
			} else {
				made := make([]float32, len(piece)*t.cols)
				for i, v := range piece {
					t.row(made[i*t.cols:][:t.cols], v)
				}
				w.prefetch.Upload(to.Buf, 4*gpu.Bytes(lo*t.cols), hostmem.Bytes(made))
			}
			if err := w.Waits.Settle(w.prefetch); err != nil {
				return err
			}
		}
	}
	return nil
}

// kept is the same rows as evaluation reads them: those of the part, all of which are there.
func (r *resident) kept(g *stage) (k layered.Kept) {
	if g.sums {
		k.AX = r.tables[0]
	}
	if len(r.tables) == 2 || !g.sums {
		k.X = r.tables[len(r.tables)-1]
	}
	return k
}

// pieceOf is how many bytes are copied before anybody waits for them: the deadline of a wait is for these, from a
// slow disk too.
const pieceOf = 64 << 20

// find lists the rows of a sampledUnit that the device does not keep.
func (r *resident) find(d *sampledUnit) {
	if d.missing = d.missing[:0]; !r.all() {
		for i, v := range d.ids() {
			if r.row[v] < 0 {
				d.missing = append(d.missing, int32(i))
			}
		}
	}
	d.extent.missing = len(d.missing)
}

// number writes which rows of the tables a sampledUnit reads: a row that is not kept is in the area when its round
// has come.
func (r *resident) number(rows []int32, ids []graph.NodeID) {
	others := 0
	for i, v := range ids {
		if rows[i] = r.row[v]; rows[i] < 0 {
			rows[i] = int32(r.rows + others%r.area)
			others++
		}
	}
}

// upload enqueues the way of a sampledUnit's rows to its input, which has their numbers. Rows that are not kept
// come in rounds of as many as the area has room for.
func (r *resident) upload(q gpu.Queue, n *input, d *sampledUnit) {
	mem, rows := d.host, n.in.IDs
	if r.row != nil {
		rows = n.rows
	}
	for lo, come := 0, 0; lo < rows.Len; {
		hi, next := rows.Len, min(len(d.missing), come+r.area)
		if next < len(d.missing) {
			hi = int(d.missing[next])
		}
		for k, from := range r.tables {
			if size := 4 * gpu.Bytes(from.Cols); next > come {
				rows := mem[4*n.missing[k].Off:][size*gpu.Bytes(come) : size*gpu.Bytes(next)]
				q.Upload(from.Buf, size*gpu.Bytes(r.rows), rows)
			}
			q.Gather(rowsIn(n.tables[k], from.Cols).RowRange(lo, hi), from, rows.Slice(lo, hi))
		}
		lo, come = hi, next
	}
}
