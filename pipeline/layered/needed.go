package layered

import (
	"math"
	"slices"

	"capgnn/gpu"
	"capgnn/graph"
	"capgnn/internal/learn"
	"capgnn/minibatch/sample"
)

// needed says which rows each layer has to compute, and what of which vertices it reads for them.
type needed struct {
	p      *learn.Problem
	level  []graph.Level   // by vertex: the last layer that computes its row, -1: none does. nil: all compute all
	count  []int           // by layer: rows of all parts
	edges  []int64         // and the in-neighbours that they read
	blocks []*sample.Block // by layer: of a sample, whose indices are vertices; nil: every in-neighbour is read
	number []int32         // by vertex: its row of the blocks that have it
	taken  gpu.Bytes       // of the heap, by what a sample took
}

// neededOf returns the rows that those that are wanted need: the last layer computes these, each other one what the
// layer above it reads.
func neededOf(p *learn.Problem, o *Options) *needed {
	n := o.Model.Layers
	x := &needed{p: p, count: make([]int, n), edges: make([]int64, n), blocks: make([]*sample.Block, n)}
	if o.Fanout != nil {
		x.draw(o)
		return x
	}
	if o.Rows == nil {
		for l := range x.count {
			x.count[l], x.edges[l] = p.Vertices(), p.Graph.Edges()
		}
		return x
	}
	x.level = graph.Needed(p.Graph, o.Rows, o.Model.Layers-1, nil)
	for v, level := range x.level {
		for l := range int(level) + 1 {
			x.count[l]++
			x.edges[l] += int64(len(p.Graph.Row(v)))
		}
	}
	return x
}

// sampleStep is the step of training whose samples an evaluation would share: no run gets there.
const sampleStep = math.MaxUint32

// draw samples what the rows that are wanted read, as if they were the roots of a step.
func (x *needed) draw(o *Options) {
	var roots []graph.NodeID
	for v := range graph.NodeID(x.p.Vertices()) {
		if o.Rows == nil || o.Rows[v] {
			roots = append(roots, v)
		}
	}
	top := sample.Topology{Graph: x.p.Graph, Loops: x.p.Loops}
	rules := sample.Rules{Seed: o.Model.Seed, Fanout: o.Fanout, AddLoops: x.p.Loops == graph.LoopsAdded}
	if o.Precomputed {
		rules.Fanout = rules.Fanout[:o.Model.Layers-1]
	}
	var s sample.Stack
	sample.New(top, rules).Draw(&s, sampleStep, roots)
	x.level, x.number = slices.Repeat([]graph.Level{-1}, x.p.Vertices()), make([]int32, x.p.Vertices())
	for i, v := range s.IDs {
		x.number[v] = int32(i)
	}
	most := 0
	for l := range x.count {
		x.count[l] = len(s.IDs)
		if hop := o.Model.Layers - 1 - l; hop < len(s.Blocks) {
			b := &s.Blocks[hop]
			x.blocks[l], x.count[l], x.edges[l], most = b, b.Rows, int64(len(b.Indices)), max(most, len(b.Indices))
			for e, c := range b.Indices {
				b.Indices[e] = s.IDs[c]
			}
			x.taken += gpu.Bytes(8*cap(b.Begin) + 4*cap(b.Indices) + 4*cap(b.Ratio))
		}
		for _, v := range s.IDs[:x.count[l]] {
			x.level[v] = graph.Level(l)
		}
	}
	x.taken += 4 * gpu.Bytes(len(x.number)+cap(s.IDs)+cap(roots))
	x.taken += gpu.Bytes(sample.Bytes(top, rules, len(s.IDs), most, 0))
}

// neighbours returns what the row of a vertex reads in a layer, as graph.Loops.Split does. A loop in a sample is an
// entry as others.
func (x *needed) neighbours(l int, v graph.NodeID) (before, behind []graph.NodeID, loop bool) {
	b := x.block(l)
	if b == nil {
		return x.p.Loops.Split(x.p.Graph, v)
	}
	at := x.number[v]
	return b.Indices[b.Begin[at]:b.Begin[at+1]], nil, false
}

// block returns what is sampled for a layer (-1: ÂX); nil: nothing is.
func (x *needed) block(l int) *sample.Block {
	if l < 0 {
		return nil
	}
	return x.blocks[l]
}

// scaled reports whether rows of a layer read fewer neighbours than there are.
func (x *needed) scaled(l int) bool { return x.block(l) != nil && x.blocks[l].Ratio != nil }

// ratios returns, in dst's place, by how much the sums of rows are multiplied for the neighbours that they do not
// read, where the layer is scaled.
func (x *needed) ratios(dst []float32, l int, ids []graph.NodeID) []float32 {
	dst = resized(dst, len(ids))
	for i, v := range ids {
		dst[i] = x.blocks[l].Ratio[x.number[v]]
	}
	return dst
}

// of returns how many rows a layer computes, and of how many in-neighbours.
func (x *needed) of(l int) (rows, edges float64) { return float64(x.count[l]), float64(x.edges[l]) }

// has reports whether a layer computes the row of a vertex.
func (x *needed) has(l int, v graph.NodeID) bool { return x.level == nil || int(x.level[v]) >= l }

// rows returns the vertices of a part that each task computes. Lists of as many are one.
func (x *needed) rows(tasks []task, inner []graph.NodeID) [][]graph.NodeID {
	out, last := make([][]graph.NodeID, len(tasks)), inner
	for i := range tasks {
		n := 0
		for _, v := range last { // of each layer those of the one below it
			if x.has(tasks[i].layer, v) {
				n++
			}
		}
		if n < len(last) {
			list := make([]graph.NodeID, 0, n)
			for _, v := range last {
				if x.has(tasks[i].layer, v) {
					list = append(list, v)
				}
			}
			last = list
		}
		out[i] = last
	}
	return out
}

// bytes is what the lists of a part take of the heap, and what is known of vertices.
func (d *partition) bytes() gpu.Bytes {
	n, last := len(d.inner), len(d.inner)
	for _, list := range d.rows {
		if len(list) < last {
			n, last = n+len(list), len(list)
		}
	}
	return 4 * gpu.Bytes(n)
}
