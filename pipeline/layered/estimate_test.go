package layered

import (
	"math/rand/v2"
	"slices"
	"testing"

	"capgnn/gnn"
	"capgnn/graph"
	"capgnn/internal/learn"
	"capgnn/minibatch/sample"
)

// With fan-outs that keep every neighbour, logits are exact ones: of all vertices, and of those that are wanted.
func TestWholeSample(t *testing.T) {
	for k := range 100 {
		d := draw(t, k)
		want := evaluated(t, d.p, d.o, d.w)
		d.o.Fanout = slices.Repeat([]int{sample.All}, d.o.Model.Layers)
		if k%2 == 0 {
			d.o.Rows = make([]bool, d.p.Vertices())
			for v := range d.o.Rows {
				d.o.Rows[v] = v%7 == 0
			}
		}
		got := evaluated(t, d.p, d.o, d.w)
		for v, classes := 0, d.o.Model.Out; v < d.p.Vertices(); v++ {
			if d.o.Rows != nil && !d.o.Rows[v] {
				copy(want[v*classes:][:classes], got[v*classes:])
			}
		}
		if far := away(got, want); !(far <= 1e-5) && !slices.Equal(want, make([]float32, len(want))) {
			t.Errorf("%s: %.2g of the logits away", d.names, far)
		}
		for _, dev := range d.o.Devices {
			dev.Close()
		}
	}
}

// An estimate of one layer is the exact evaluation of the graph that was drawn, whose rows, without their loops, weigh what is left out. Layers differ in what they draw alone.
func TestSampleOfOneLayer(t *testing.T) {
	for k := range 120 {
		d := draw(t, k)
		d.m.Layers, d.m.Residual, d.o.Precomputed, d.o.Fanout = 1, false, false, []int{1 + k%4}
		m := netOf(d.m)
		d.o.Model = m
		w := gnn.NewWeights(m)
		w.Init(1)
		got := evaluated(t, d.p, d.o, w)
		x := neededOf(d.p, &d.o)
		q, o := *d.p, d.o
		scale := scalingOf(d.p, m)
		scale.Row = slices.Clone(scale.Row)
		q.Graph = drawnGraph(x, &scale, m, d.p)
		o.Fanout, o.Scaling = nil, &scale
		want := evaluated(t, &q, o, w)
		if far := away(got, want); !(far <= 1e-5) && !slices.Equal(want, make([]float32, len(want))) {
			t.Errorf("%s, fan-out %v: %.2g of the logits away", d.names, d.o.Fanout, far)
		}
		for _, dev := range d.o.Devices {
			dev.Close()
		}
	}
}

// drawnGraph returns the graph of what the last layer draws. What is left out of a row weighs in its edges, or in its scale where that is 1 / their number.
func drawnGraph(x *needed, scale *gnn.Scaling, m gnn.Config, p *learn.Problem) *graph.CSR {
	n := p.Vertices()
	g := &graph.CSR{Indptr: make([]int64, n+1), Cols: n}
	weigh := m.Rescales()
	for v := range graph.NodeID(n) {
		list, _, _ := x.neighbours(0, v)
		ratio := float32(1)
		if x.scaled(0) {
			ratio = x.ratios(nil, 0, []graph.NodeID{v})[0]
		}
		for _, u := range slices.Sorted(slices.Values(list)) {
			if u == v && p.Loops == graph.LoopsAdded {
				continue
			}
			g.Indices = append(g.Indices, u)
			if weigh {
				g.Weights = append(g.Weights, ratio)
			}
		}
		g.Indptr[v+1] = int64(len(g.Indices))
		if !weigh && scale.Row != nil {
			scale.Row[v] *= ratio
		}
	}
	return g
}

// Estimates are the same in every evaluation and with any chunks and parts; another seed draws others.
func TestSamplesRepeat(t *testing.T) {
	d := draw(t, 8)
	for k := 9; d.p.Graph.Edges() < 900 || d.o.Model.Layers < 2; k++ {
		d = draw(t, k)
	}
	d.o.Fanout, d.o.AggregateFirst = slices.Repeat([]int{2}, d.o.Model.Layers), true
	want := evaluated(t, d.p, d.o, d.w)
	o := d.o
	o.Devices, o.Part, o.ChunkBytes = cpus(t, 2), nil, 1<<rand.IntN(20)
	if got := evaluated(t, d.p, o, d.w); !slices.Equal(got, want) {
		t.Errorf("%s: other bits on one device", d.names)
	}
	o.Model.Seed++
	if got := evaluated(t, d.p, o, d.w); slices.Equal(got, want) {
		t.Errorf("%s: the same bits by another seed", d.names)
	}
}
