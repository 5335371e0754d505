package gnn

import (
	"errors"
	"reflect"
	"slices"
	"testing"

	"capgnn/gpu"
	"capgnn/gpu/ledger"
	"capgnn/internal/named"
)

// boundModels are models with every buffer that a pass can have: each order of operations, ÂX given or not, sparse features,
// replicated rows, BF16, LayerNorm apart from ReLU, and residuals.
func boundModels(t *testing.T, f func(c named.Model, p Plan, in Input)) {
	t.Helper()
	orders := []LayerPlan{{}, {AggregateFirst: true}, {AggregateFirst: true, KeepAggregate: true}, aggregateIn}
	for _, kind := range named.Kinds {
		c := named.Model{Kind: kind, Layers: 3, Hidden: 16, In: 12, Out: 5, Heads: 4, Dropout: 0.5, Alpha: 0.3, Theta: 0.7}
		for _, order := range orders {
			if kind == named.GIN && order.AggregateFirst && !order.BackwardIn || !netOf(c).Chooses(0) && order.AggregateFirst {
				continue
			}
			for k, input := range []InputMode{Precomputed, Replicated, Exchanged} {
				if input == Precomputed && !kind.Precomputes() || input == Replicated && kind.KeepsOrigin() {
					continue
				}
				for i, storage := range []gpu.DType{gpu.FP32, gpu.BF16, gpu.FP32, gpu.BF16} {
					if c.NoNorm = i > 1; c.NoNorm && !kind.Norms() {
						break
					}
					c.Jumping = kind.Norms() && (i+k)%2 == 1
					p := Plan{Input: input, Layers: slices.Repeat([]LayerPlan{order}, 3), Storage: storage}
					switch input {
					case Precomputed:
						p.Layers[0] = aggregateIn
					case Replicated:
						p.Layers[0] = LayerPlan{}
					}
					for l := range p.Layers {
						if !netOf(c).Chooses(l) {
							p.Layers[l] = LayerPlan{}
						}
					}
					f(c, p, Input{})
					if c.Residual = kind.Norms(); c.Residual {
						f(c, p, Input{})
						c.Residual = false
					}
					if !p.Layers[0].AggregateFirst {
						f(c, p, Input{X: Features{Sparse: gpu.CSR{Cols: 12}}})
					}
				}
			}
		}
	}
}

// sizes returns blocks of which only the sizes are read.
func sizes(rows ...int) []LayerGraph {
	g := make([]LayerGraph, len(rows)-1)
	for l := range g {
		g[l] = LayerGraph{Src: rows[l], Rows: rows[l+1], HaloRows: rows[l] / 3}
	}
	return g
}

// viewsOf returns the size and place of every buffer that a pass looks at.
func viewsOf(p *Pass) []any {
	var out []any
	for _, v := range p.views {
		if v.m != nil {
			out = append(out, [4]int{v.m.Rows, v.m.Cols, v.m.LD, v.m.Off})
		} else {
			out = append(out, v.v.Len)
		}
	}
	return out
}

// After Bind, every buffer has the rows that it has in a pass made for these blocks: larger, smaller, none.
func TestBindFitsEveryView(t *testing.T) {
	large, small, none := sizes(90, 60, 30, 9), sizes(50, 31, 17, 9), sizes(0, 0, 0, 0)
	boundModels(t, func(c named.Model, plan Plan, in Input) {
		w := NewWeights(netOf(c))
		params := Bind(w, gpu.Vec{Len: len(w.Flat)})
		p := NewPass(netOf(c), plan, large, in, params, params, NewWorkspace(gpu.Info{}))
		for _, layers := range [][]LayerGraph{small, none, large} {
			if err := p.Bind(layers, in); err != nil {
				t.Fatal(err)
			}
			want := viewsOf(NewPass(netOf(c), plan, layers, in, params, params, NewWorkspace(gpu.Info{})))
			if got := viewsOf(p); !reflect.DeepEqual(got, want) {
				t.Fatalf("%s, %+v, %d rows: %v, want %v", c.Kind, plan, layers[0].Rows, got, want)
			}
		}
	})
}

// A block that is too large for one slab is an error that names it, and changes nothing; Grow makes this slab larger by an eighth
// at least, leaves the others alone, and all views of it, those of other passes too, look at the new one.
func TestGrow(t *testing.T) {
	boundModels(t, func(c named.Model, plan Plan, in Input) {
		w := NewWeights(netOf(c))
		params := Bind(w, gpu.Vec{Len: len(w.Flat)})
		ws := NewWorkspace(gpu.Info{})
		planned := sizes(900, 600, 300, 90)
		p := NewPass(netOf(c), plan, planned, in, params, params, ws)
		other := NewPass(netOf(c), plan, planned, in, params, nil, ws)
		dev := ledger.New(gpu.Info{Name: "ledger:0"})
		if err := ws.Alloc(dev); err != nil {
			t.Fatal(err)
		}
		before, slabs := viewsOf(p), ws.Slabs()
		larger := sizes(900, 601, 300, 90)
		err := p.Bind(larger, in)
		var e *Exceeds
		if !errors.As(err, &e) || e.Need <= e.Have || ws.index[e.Slab] >= len(slabs) || slabs[ws.index[e.Slab]].Size != e.Have {
			t.Fatalf("%s, %+v: %v", c.Kind, plan, err)
		}
		if !reflect.DeepEqual(viewsOf(p), before) {
			t.Fatal("a refused block changed the pass")
		}
		if err := p.Grow(dev, larger); err != nil {
			t.Fatal(err)
		}
		needs := map[int]gpu.Bytes{}
		for _, v := range p.views {
			needs[v.slab] = max(needs[v.slab], v.row*gpu.Bytes(v.count.in(larger)))
		}
		grown := 0
		for i, s := range ws.Slabs() {
			need := needs[i]
			switch {
			case need <= slabs[i].Size && s != slabs[i]:
				t.Errorf("%s: %v became %v, %d bytes are needed", c.Kind, slabs[i], s, need)
			case need > slabs[i].Size && (s.Size < need || s.Size < slabs[i].Size+slabs[i].Size/8):
				t.Errorf("%s: %v became %v, %d bytes are needed", c.Kind, slabs[i], s, need)
			case need > slabs[i].Size:
				grown++
			}
		}
		if grown == 0 {
			t.Errorf("%s, %+v: no slab grew", c.Kind, plan)
		}
		for _, pass := range []*Pass{p, other} {
			if err := pass.Bind(larger, in); err != nil && pass == p {
				t.Error(err)
			}
			for _, v := range pass.views {
				buf := ws.slabs[v.slab].buf
				if v.m != nil && v.m.Buf != buf || v.v != nil && v.v.Buf != buf {
					t.Errorf("a view of %s looks at an old block", ws.slabs[v.slab].Name)
				}
			}
		}
		ws.Free()
		if used := dev.Memory().Used; used != 0 {
			t.Errorf("%d bytes left", used)
		}
	})
}

// Where an eighth more cannot be had, what is needed is taken; where that cannot be had, it is an error and nothing leaks.
func TestGrowOutOfMemory(t *testing.T) {
	c := named.Model{Kind: named.GCN, Layers: 1, In: 4, Out: 16}
	plan := Plan{Input: Exchanged, Layers: []LayerPlan{{}}}
	w := NewWeights(netOf(c))
	params := Bind(w, gpu.Vec{Len: len(w.Flat)})
	for _, x := range []struct {
		rows int
		fits bool
	}{{1001, true}, {1100, false}} {
		ws := NewWorkspace(gpu.Info{})
		p := NewPass(netOf(c), plan, sizes(1000, 1000), Input{}, params, nil, ws)
		dev := ledger.New(gpu.Info{Budget: 2*64*1000 + 64})
		if err := ws.Alloc(dev); err != nil {
			t.Fatal(err)
		}
		larger := sizes(x.rows, 1000)
		err := p.Grow(dev, larger)
		var oom *gpu.OutOfMemory
		if x.fits && (err != nil || p.Bind(larger, Input{}) != nil) || !x.fits && !errors.As(err, &oom) {
			t.Errorf("%d rows: %v", x.rows, err)
		}
		ws.Free()
		if used := dev.Memory().Used; used != 0 {
			t.Errorf("%d rows: %d bytes left", x.rows, used)
		}
	}
}

// Bind allocates nothing. A step allocates the same few values whatever its blocks: one for each of its two ways through the
// layers, and the epilogues, which the queue keeps until it has run them: one behind each convolution that makes no logits, one inside
// each of named.GIN's.
func TestStepAllocations(t *testing.T) {
	boundModels(t, func(c named.Model, plan Plan, in Input) {
		if in.X.sparse() { // of which only the shape is there
			return
		}
		in.X.Dense, in.AX, in.IDs = gpu.Matrix{Rows: 90, Cols: 12, LD: 12}, gpu.Matrix{Rows: 90, Cols: 12, LD: 12}, gpu.Ints{Len: 90}
		w := NewWeights(netOf(c))
		params := Bind(w, gpu.Vec{Len: len(w.Flat)})
		planned, other := sizes(90, 60, 30, 9), sizes(60, 41, 12, 3)
		p := NewPass(netOf(c), plan, planned, in, params, params, NewWorkspace(gpu.Info{}))
		q := ledger.New(gpu.Info{}).NewQueue("compute")
		bind := func() {
			planned, other = other, planned
			if err := p.Bind(planned, in); err != nil {
				t.Fatal(err)
			}
		}
		if n := testing.AllocsPerRun(10, bind); n > 0 {
			t.Errorf("%s, %+v: Bind allocates %g times", c.Kind, plan, n)
		}
		n := testing.AllocsPerRun(10, func() {
			bind()
			p.Forward(q, nil, 1)
			p.Backward(q, nil, 1, nil)
		})
		most := 2 + netOf(c).HiddenLayers()
		switch c.Kind { // of what follows products inside layers
		case named.GIN, named.GCNII:
			most += c.Layers
		case named.APPNP:
			most++
		}
		if n > float64(most) {
			t.Errorf("%s, %+v: a step allocates %g times, want at most %d", c.Kind, plan, n, most)
		}
	})
}
