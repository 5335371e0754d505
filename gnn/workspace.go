package gnn

import (
	"fmt"

	"capgnn/gpu"
)

// Workspace plans the device buffers of passes. Buffers are requested by slab name while passes are made; a slab is as
// large as its largest request, so requests of one name share memory (saving 7). Alloc then makes every slab at once.
type Workspace struct {
	reuse  bool
	order  []string
	sizes  map[string]gpu.Bytes
	views  map[string][]func(gpu.Buffer)
	allocs []gpu.Buffer
	serial int
}

// Slab is one planned buffer.
type Slab struct {
	Name string
	Size gpu.Bytes
}

// NewWorkspace returns an empty plan. Without reuse, every request gets memory of its own.
func NewWorkspace(reuse bool) *Workspace {
	return &Workspace{reuse: reuse, sizes: map[string]gpu.Bytes{}, views: map[string][]func(gpu.Buffer){}}
}

func (w *Workspace) request(name string, size gpu.Bytes, bind func(gpu.Buffer)) {
	if !w.reuse {
		w.serial++
		name = fmt.Sprintf("%s#%d", name, w.serial)
	}
	if _, ok := w.sizes[name]; !ok {
		w.order = append(w.order, name)
	}
	w.sizes[name] = max(w.sizes[name], size)
	w.views[name] = append(w.views[name], bind)
}

// matrix requests rows × cols float32 of a slab.
func (w *Workspace) matrix(name string, rows, cols int) *gpu.Matrix {
	return w.typed(name, rows, cols, gpu.FP32)
}

// typed requests rows × cols elements of a slab.
func (w *Workspace) typed(name string, rows, cols int, t gpu.DType) *gpu.Matrix {
	m := &gpu.Matrix{Rows: rows, Cols: cols, LD: cols, Type: t}
	w.request(name, gpu.Bytes(t.Size())*gpu.Bytes(rows)*gpu.Bytes(cols), func(b gpu.Buffer) { m.Buf = b })
	return m
}

// vec requests n float32 of a slab.
func (w *Workspace) vec(name string, n int) *gpu.Vec {
	v := &gpu.Vec{Len: n}
	w.request(name, 4*gpu.Bytes(n), func(b gpu.Buffer) { v.Buf = b })
	return v
}

// Slabs returns the planned buffers in the order of their first request.
func (w *Workspace) Slabs() []Slab {
	s := make([]Slab, len(w.order))
	for i, name := range w.order {
		s[i] = Slab{name, w.sizes[name]}
	}
	return s
}

// Alloc makes all slabs on dev. On error nothing stays allocated.
func (w *Workspace) Alloc(dev gpu.Device) error {
	for _, name := range w.order {
		b, err := dev.Alloc(w.sizes[name], name)
		if err != nil {
			w.Free()
			return err
		}
		w.allocs = append(w.allocs, b)
		for _, bind := range w.views[name] {
			bind(b)
		}
	}
	return nil
}

// Free returns all slabs. The device's queues must be synchronised.
func (w *Workspace) Free() {
	for _, b := range w.allocs {
		b.Free()
	}
	w.allocs = nil
}
