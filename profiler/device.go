package profiler

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"time"

	"capgnn/gpu"
	"capgnn/hostmem"
)

// describe returns the row of a device without measurements.
func describe(dev gpu.Device) DeviceProfile {
	info, mem := dev.Info(), dev.Memory()
	d := DeviceProfile{
		Name: info.Name, Kind: info.Kind, Model: info.Model, UUID: info.UUID, Variant: info.Variant, Threads: info.Threads,
		TotalBytes: info.Total, FreeBytes: mem.Budget - mem.Used, Peak: peakOf(info.Model),
	}
	if l, ok := dev.(Linked); ok {
		d.Link = l.Link()
	}
	return d
}

// tableRow is a quantity of the paper's Table 1.
type tableRow struct {
	name    string
	crosses bool // the link, so that it is the device's own; else it is its kind's
	pinned  bool // the host's side is page-locked
	op      func(o *operands, host []byte) error
	seconds func(p pace, n int) float64 // of one run
}

var tableRows = []tableRow{
	{name: "MM", op: func(o *operands, _ []byte) error { return o.mm() },
		seconds: func(p pace, n int) float64 { return 2 * float64(n) * float64(n) * float64(n) / p.flops }},
	{name: "SpMM", op: func(o *operands, _ []byte) error { return o.spmm() },
		seconds: func(p pace, n int) float64 { return sparseFlops * 2 * float64(entries(n)) * float64(n) / p.flops }},
	{name: "IDT", op: func(o *operands, _ []byte) error { return o.idt() },
		seconds: func(p pace, n int) float64 { return 2 * 4 * float64(n) * float64(n) / p.bytes }},
	{name: "H2D", crosses: true, op: func(o *operands, host []byte) error { return o.h2d(host)() }, seconds: pace.crossing},
	{name: "D2H", crosses: true, op: func(o *operands, host []byte) error { return o.d2h(host)() }, seconds: pace.crossing},
	{name: "H2D page-locked", crosses: true, pinned: true, op: func(o *operands, host []byte) error { return o.h2d(host)() }, seconds: pace.crossing},
	{name: "D2H page-locked", crosses: true, pinned: true, op: func(o *operands, host []byte) error { return o.d2h(host)() }, seconds: pace.crossing},
}

// crossing returns the seconds of copying an n×n matrix.
func (p pace) crossing(n int) float64 { return 4 * float64(n) * float64(n) / p.link }

// pinned reports whether copies of dev are measured with page-locked memory too.
func (m *meter) pinned(dev gpu.Device) bool { return m.Pinned != nil && dev.Info().Kind == gpu.CUDA }

// source returns where a quantity of device i comes from.
func (m *meter) source(i int, crosses bool) source {
	if crosses {
		return m.crossing[i]
	}
	return m.compute[i]
}

func (m *meter) tableKey(r *tableRow, i, n int) string {
	return fmt.Sprintf("%s %d %s", r.name, n, m.devices[m.source(i, r.crosses).device].Info().UUID)
}

// tableTasks measure Table 1.
func (m *meter) tableTasks(n int) []task {
	var tasks []task
	for i, dev := range m.devices {
		for j := range tableRows {
			r := &tableRows[j]
			if r.pinned && !m.pinned(dev) || m.source(i, r.crosses).device != i {
				continue
			}
			seconds := r.seconds(m.paces[i], n)
			tasks = append(tasks, task{
				what: m.tableKey(r, i, n), stage: r.name + " on " + dev.Info().Name, needed: true, cost: float64(m.Warmups+m.Runs) * seconds,
				measure: func(ctx context.Context, patience time.Duration) ([]Timing, error) {
					return m.row(ctx, patience, dev, n, r)
				},
			})
		}
	}
	return tasks
}

// row measures one quantity.
func (m *meter) row(ctx context.Context, patience time.Duration, dev gpu.Device, n int, r *tableRow) ([]Timing, error) {
	o, err := m.operands(dev, n)
	if err != nil {
		return nil, err
	}
	host := hostmem.Bytes(m.values)
	if r.pinned {
		block, release, err := m.Pinned(gpu.Bytes(len(host)))
		if err != nil {
			return nil, fmt.Errorf("page-locked memory: %w", err)
		}
		defer release()
		copy(block, host)
		host = block
	}
	return m.time(ctx, patience, func() error { return r.op(o, host) })
}

// operands returns filled operands on a device. They are held for the next quantity of that device.
func (m *meter) operands(dev gpu.Device, n int) (*operands, error) {
	if m.held != nil && m.held.dev == dev {
		return m.held, nil
	}
	if err := m.release(); err != nil {
		return nil, err
	}
	if m.values == nil {
		m.values = randomValues(n * n)
	}
	m.held = &operands{dev: dev, n: n}
	if err := m.held.dense(); err != nil {
		return nil, err
	}
	return m.held, m.held.load(m.values)
}

// release frees the operands that are held.
func (m *meter) release() error {
	if m.held == nil {
		return nil
	}
	o := m.held
	m.held = nil
	return o.free()
}

// fillTable fills in the quantities of device i.
func (m *meter) fillTable(d *DeviceProfile, i, n int) {
	to := map[string]*Timing{"MM": &d.MM, "SpMM": &d.SpMM, "IDT": &d.IDT, "H2D": &d.H2D, "D2H": &d.D2H}
	if m.pinned(m.devices[i]) {
		d.Pinned, d.PageableH2D, d.PageableD2H = true, new(Timing), new(Timing)
		to["H2D"], to["D2H"], to["H2D page-locked"], to["D2H page-locked"] = d.PageableH2D, d.PageableD2H, &d.H2D, &d.D2H
	}
	for j := range tableRows {
		r := &tableRows[j]
		if t := to[r.name]; t != nil {
			*t = m.Notes.get(m.tableKey(r, i, n))[0].times(m.source(i, r.crosses).factor)
		}
	}
}

func (m *meter) pairKey(from, to, n int) string {
	return fmt.Sprintf("pair %d %s %s", n, m.devices[from].Info().UUID, m.devices[to].Info().UUID)
}

// pairTasks measure copies between devices.
func (m *meter) pairTasks(n int) []task {
	var tasks []task
	for i, from := range m.devices {
		for j, to := range m.devices {
			if i == j {
				continue
			}
			seconds := m.paces[i].crossing(n) + m.paces[j].crossing(n)
			tasks = append(tasks, task{
				what: m.pairKey(i, j, n), stage: from.Info().Name + " to " + to.Info().Name, needed: true, cost: float64(m.Warmups+m.Runs) * seconds,
				measure: func(ctx context.Context, patience time.Duration) ([]Timing, error) {
					return m.pair(ctx, patience, from, to, n)
				},
			})
		}
	}
	return tasks
}

// fillPairs fills in the copies between devices.
func (m *meter) fillPairs(p *Profile) {
	for j, to := range m.devices {
		peer, ok := to.NewQueue("profile").(gpu.PeerCopier)
		for i, from := range m.devices {
			if i != j {
				p.Pairs = append(p.Pairs, Pair{From: i, To: j, Peer: ok && peer.CanCopyFrom(from), Copy: m.Notes.get(m.pairKey(i, j, p.N))[0]})
			}
		}
	}
	slices.SortStableFunc(p.Pairs, func(a, b Pair) int { return a.From - b.From })
}

// pair measures the copy of one dense operand from one device to another: straight where the target's queue can, else
// through pageable host memory, one copy after the other.
func (m *meter) pair(ctx context.Context, patience time.Duration, from, to gpu.Device, n int) (t []Timing, err error) {
	if err := m.release(); err != nil {
		return nil, err
	}
	src, dst := &operands{dev: from, n: n}, &operands{dev: to, n: n}
	defer func() { err = cmp.Or(err, src.free(), dst.free()) }()
	host := hostmem.Bytes(make([]float32, n*n))
	for _, o := range []*operands{src, dst} {
		o.q = o.dev.NewQueue("profile")
		buf, err := o.alloc(4 * n * n)
		if err != nil {
			return nil, err
		}
		o.a = gpu.Matrix{Buf: buf, Rows: n, Cols: n, LD: n}
		o.q.Upload(buf, 0, host)
		if err := o.q.Sync(); err != nil {
			return nil, err
		}
	}
	copyOnce := func() error {
		if err := src.d2h(host)(); err != nil {
			return err
		}
		return dst.h2d(host)()
	}
	if peer, ok := dst.q.(gpu.PeerCopier); ok && peer.CanCopyFrom(from) {
		copyOnce = func() error {
			peer.CopyFrom(dst.a, src.a)
			return dst.q.Sync()
		}
	}
	return m.time(ctx, patience, copyOnce)
}
