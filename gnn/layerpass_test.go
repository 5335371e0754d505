package gnn

import (
	"slices"
	"testing"

	"capgnn/gpu"
	"capgnn/hostmem"
	"capgnn/internal/named"
)

// Layer by layer, each in chunks of full one-hop blocks that read the table of the layer before, gives the logits of a whole
// evaluation, whatever the size of a chunk.
func TestLayerPass(t *testing.T) {
	for _, kind := range named.Kinds {
		c := named.Model{Kind: kind, Layers: 3, Hidden: 16, In: 12, Out: 5, Heads: 4, Dropout: 0.5, Seed: 7, Alpha: 0.3, Theta: 0.7}
		u := newTask(netOf(c), 160, 1)
		i := 0
		blockPlans(c, func(c named.Model, p Plan) {
			c.NoNorm, c.Jumping = c.Kind.Norms() && i%3 == 0, c.Kind.Norms() && i%2 == 0
			i++
			w := NewWeights(netOf(c))
			w.Init(3)
			for _, storage := range []gpu.DType{gpu.FP32, gpu.BF16} {
				p.Storage = storage
				want := evaluated(newDesk(t), c, p, w, u)
				for _, chunk := range []int{160, 64, 9} {
					if got := layered(t, newDesk(t), c, p, w, u, chunk); !slices.Equal(got, want) {
						t.Errorf("%s: chunks of %d: other logits than those of a whole evaluation", name(c, p), chunk)
					}
				}
			}
		})
	}
}

func everyVertex(u *task) []int32 {
	all := make([]int32, u.g.Rows())
	for v := range all {
		all[v] = int32(v)
	}
	return all
}

// evaluated returns the logits of one pass through the whole graph.
func evaluated(d *desk, c named.Model, p Plan, w *Weights, u *task) []float32 {
	hops := c.Layers
	if p.Input == Precomputed {
		hops--
	}
	s := d.step(netOf(c), p, u, u.stack(everyVertex(u), hops, everyone))
	ws := NewWorkspace(gpu.Info{})
	pass := NewPass(netOf(c), p, s.layers, s.in, Bind(w, d.vec(w.Flat)), nil, ws)
	if err := ws.Alloc(d.dev); err != nil {
		panic(err)
	}
	return d.values(pass.Forward(d.q, nil, 0))
}

// values returns what a matrix without gaps holds.
func (d *desk) values(m gpu.Matrix) []float32 {
	out := make([]float32, m.Rows*m.Cols)
	full := d.matrix(make([]float32, len(out)), m.Cols)
	d.q.Copy(full, m)
	d.q.Download(hostmem.Bytes(out), full.Buf, 0)
	if err := d.q.Sync(); err != nil {
		panic(err)
	}
	return out
}

// layered is evaluated, layer by layer in chunks of so many rows. All layers share a workspace, planned for one row and grown.
func layered(t *testing.T, d *desk, c named.Model, p Plan, w *Weights, u *task, chunk int) []float32 {
	t.Helper()
	scale := ScalingOf(netOf(c), u.g.InDegree(), u.g.OutDegree())
	ws, params := NewWorkspace(gpu.Info{}), Bind(w, d.vec(w.Flat))
	var passes []*Pass
	for l := range c.Layers {
		passes = append(passes, NewLayerPass(netOf(c), p, l, LayerGraph{Rows: 1, Src: 1}, Input{}, params, ws))
	}
	if err := ws.Alloc(d.dev); err != nil {
		t.Fatal(err)
	}
	table := u.x
	for l, pass := range passes {
		_, width := netOf(c).RowWidth(l)
		next := make([]float32, 0, u.g.Rows()*width)
		for ids := range slices.Chunk(everyVertex(u), chunk) {
			g, in := d.chunk(c, p, u, scale, l, ids, table)
			layers := []LayerGraph{g}
			if pass.Bind(layers, in) != nil {
				if err := pass.Grow(d.dev, layers); err != nil {
					t.Fatal(err)
				}
				if err := pass.Bind(layers, in); err != nil {
					t.Fatal(err)
				}
			}
			next = append(next, d.values(pass.Forward(d.q, nil, 0))...)
		}
		table = next
	}
	return table
}

// chunk puts the full one-hop block of some vertices on the device, with the rows of the table that layer l reads.
func (d *desk) chunk(c named.Model, p Plan, u *task, scale Scaling, l int, ids []int32, table []float32) (LayerGraph, Input) {
	cols, _ := netOf(c).RowWidth(l)
	if l == 0 && p.Input == Precomputed {
		in := Input{AX: d.rows(u.aggregated(scale, cols), ids, cols)}
		if netOf(c).ReadsOwn() {
			in.X.Dense = d.rows(table, ids, cols)
		}
		return LayerGraph{Rows: len(ids), Src: len(ids)}, in
	}
	s := u.stack(ids, 1, everyone)
	return d.graph(netOf(c), scale, s.ids, &s.blocks[0]), Input{X: Features{Dense: d.rows(table, s.ids, cols)}}
}
