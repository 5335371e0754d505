package gnn

import (
	"fmt"

	"capgnn/gpu"
)

// Workspace plans the device buffers of passes. Buffers are requested by slab name while passes are made; a slab is as
// large as its largest request, so requests of one name share memory (saving 7). Alloc then makes every slab at once.
//
// A request names what it counts, such as the rows of a layer. So a pass can go through other blocks than those that it was made
// for, as far as its slabs reach (Pass.Bind), and slabs can become larger (Pass.Grow).
type Workspace struct {
	device gpu.Info // that it is laid out for
	slabs  []slab
	index  map[string]int // of a slab, by name
	views  []view         // in the order of requests: those of one pass lie together
}

// Slab is one planned buffer.
type Slab struct {
	Name string
	Size gpu.Bytes
}

// slab is a Slab with its memory, nil before Alloc and after Free.
type slab struct {
	Slab
	buf gpu.Buffer
}

// view is a request: the first rows or elements of a slab, as many as its count says.
type view struct {
	slab  int
	count count
	row   gpu.Bytes   // of one of what is counted
	m     *gpu.Matrix // one of the two
	v     *gpu.Vec
}

// count says how many rows or elements a request has: those of a layer that rows names, which may differ from block to block, or,
// if rows is nil, a number.
type count struct {
	layer int
	rows  func(*LayerGraph) int
	n     int
}

func number(n int) count { return count{n: n} }

// in returns the count in a pass's layers.
func (c count) in(layers []LayerGraph) int {
	if c.rows == nil {
		return c.n
	}
	return c.rows(&layers[c.layer])
}

// NewWorkspace returns an empty plan, laid out for a device. Rows longer than its RowAlign begin at multiples of it; for the zero Info there are no gaps
// between rows. If its products round their operands (HalfProducts), rows that only these read are stored rounded.
func NewWorkspace(device gpu.Info) *Workspace {
	return &Workspace{device: device, index: map[string]int{}}
}

// stride returns the elements from one row of a matrix to the next.
func (w *Workspace) stride(cols int, t gpu.DType) int {
	size, align := gpu.Bytes(t.Size()), w.device.RowAlign
	if row := gpu.Bytes(cols) * size; align > 0 && row > align {
		return int((row + align - 1) / align * align / size)
	}
	return cols
}

func (w *Workspace) request(name string, v view) {
	i, ok := w.index[name]
	if !ok {
		i = len(w.slabs)
		w.index[name] = i
		w.slabs = append(w.slabs, slab{Slab: Slab{Name: name}})
	}
	v.slab = i
	w.views = append(w.views, v)
}

// typed requests rows of cols elements of a slab.
func (w *Workspace) typed(name string, rows count, cols int, t gpu.DType) *gpu.Matrix {
	m := &gpu.Matrix{Cols: cols, LD: w.stride(cols, t), Type: t}
	w.request(name, view{count: rows, row: gpu.Bytes(t.Size()) * gpu.Bytes(m.LD), m: m})
	return m
}

// vec requests n float32 of a slab.
func (w *Workspace) vec(name string, n count) *gpu.Vec {
	v := &gpu.Vec{}
	w.request(name, view{count: n, row: 4, v: v})
	return v
}

// plan makes slabs large enough for the views of a pass, and the views those of its layers.
func (w *Workspace) plan(views []view, layers []LayerGraph) {
	for i := range views {
		v := &views[i]
		s := &w.slabs[v.slab]
		s.Size = max(s.Size, v.size(layers))
	}
	fit(views, layers)
}

func (v *view) size(layers []LayerGraph) gpu.Bytes { return v.row * gpu.Bytes(v.count.in(layers)) }

// fit gives every view the rows or elements that it has in layers.
func fit(views []view, layers []LayerGraph) {
	for i := range views {
		v := &views[i]
		if n := v.count.in(layers); v.m != nil {
			v.m.Rows = n
		} else {
			v.v.Len = n
		}
	}
}

// bind makes a slab what its views look at.
func (w *Workspace) bind(slab int, b gpu.Buffer) {
	w.slabs[slab].buf = b
	for i := range w.views {
		switch v := &w.views[i]; {
		case v.slab != slab:
		case v.m != nil:
			v.m.Buf = b
		default:
			v.v.Buf = b
		}
	}
}

// Slabs returns the planned buffers in the order of their first request.
func (w *Workspace) Slabs() []Slab {
	s := make([]Slab, len(w.slabs))
	for i := range w.slabs {
		s[i] = w.slabs[i].Slab
	}
	return s
}

// ClearGaps fills all slabs whose rows have gaps between them with zeros, by enqueuing it. Loads of several elements read the gaps too, though what
// they find there is not used.
func (w *Workspace) ClearGaps(q gpu.Queue) {
	const row = 1 << 10 // a slab is filled as a matrix with rows of so many elements, and what is left as one row
	cleared := map[int]bool{}
	for i := range w.views {
		v := &w.views[i]
		if v.m == nil || v.m.LD == v.m.Cols || cleared[v.slab] {
			continue
		}
		cleared[v.slab] = true
		s := &w.slabs[v.slab]
		n := int(s.Size / 4)
		q.Fill(gpu.Matrix{Buf: s.buf, Rows: n / row, Cols: row, LD: row}, 0)
		q.Fill(gpu.Matrix{Buf: s.buf, Off: n / row * row, Rows: 1, Cols: n % row, LD: n % row}, 0)
	}
}

// Alloc makes all slabs on dev. On error nothing stays allocated.
func (w *Workspace) Alloc(dev gpu.Device) error {
	for i, s := range w.slabs {
		b, err := dev.Alloc(s.Size, s.Name)
		if err != nil {
			w.Free()
			return err
		}
		w.bind(i, b)
	}
	return nil
}

// Free returns all slabs. The device's queues must be synchronised.
func (w *Workspace) Free() {
	for i := range w.slabs {
		if s := &w.slabs[i]; s.buf != nil {
			s.buf.Free()
			s.buf = nil
		}
	}
}

// Exceeds is the error of Pass.Bind where a block does not fit into what was planned.
type Exceeds struct {
	Slab       string // the first that is too small
	Need, Have gpu.Bytes
}

func (e *Exceeds) Error() string {
	return fmt.Sprintf("bind a block: %q needs %d bytes, %d are planned: a larger slab or a smaller block is needed", e.Slab, e.Need, e.Have)
}

// exceeds returns the first view that layers make larger than its slab, nil if there is none.
func (w *Workspace) exceeds(views []view, layers []LayerGraph) *Exceeds {
	for i := range views {
		v := &views[i]
		if need, s := v.size(layers), &w.slabs[v.slab]; need > s.Size {
			return &Exceeds{s.Name, need, s.Size}
		}
	}
	return nil
}

// growth is the least part of a slab's size by which it grows, so that blocks that become larger step by step make few new slabs.
const growth = 8

// grow makes slabs that are too small for the views of a pass larger. What was in them is lost; others stay what they are.
func (w *Workspace) grow(dev gpu.Device, views []view, layers []LayerGraph) error {
	needs := make([]gpu.Bytes, len(w.slabs))
	for i := range views {
		v := &views[i]
		needs[v.slab] = max(needs[v.slab], v.size(layers))
	}
	for i, need := range needs {
		s := &w.slabs[i]
		if need <= s.Size {
			continue
		}
		s.buf.Free()
		s.buf = nil
		size := max(need, s.Size+(s.Size+growth-1)/growth)
		b, err := dev.Alloc(size, s.Name)
		if err != nil && size > need {
			size = need
			b, err = dev.Alloc(size, s.Name)
		}
		if err != nil {
			return err
		}
		s.Size = size
		w.bind(i, b)
	}
	return nil
}
