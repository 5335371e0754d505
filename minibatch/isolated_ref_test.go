package minibatch

import (
	"math"
	"slices"

	"capgnn/gnn"
	"capgnn/graph"
	"capgnn/internal/learn"
	"capgnn/internal/named"
	"capgnn/minibatch/sample"
	"capgnn/pipeline/chunks"
)

// isolatedRef is a run on samples of isolated parts in float64, by the definitions of package chunks without its code.
// Networks have two layers, without LayerNorm and dropout. Gradients are central differences.
type isolatedRef struct {
	p       *learn.Problem
	m       named.Model
	how     Isolated
	fanout  []int
	chunks  int
	widths  [2][2]int // of a layer's input and output
	in, out []float64 // degrees by vertex, with the loops of GCN
	w       map[string][]float64
}

func newIsolatedRef(p *learn.Problem, m named.Model, how Isolated, fanout []int, first *gnn.Weights) *isolatedRef {
	n := p.Vertices()
	r := &isolatedRef{p: p, m: m, how: how, fanout: fanout, chunks: int(slices.Max(how.Of)) + 1,
		in: make([]float64, n), out: make([]float64, n), w: map[string][]float64{}}
	for l := range r.widths {
		r.widths[l][0], r.widths[l][1] = netOf(m).Width(l)
	}
	for v := range p.Vertices() {
		if m.Kind == named.GCN {
			r.in[v]++
			r.out[v]++
		}
		for _, u := range p.Graph.Row(v) {
			if int(u) != v {
				r.in[v]++
				r.out[u]++
			}
		}
	}
	for _, e := range first.Tensors {
		for _, x := range e.Data {
			r.w[e.Name] = append(r.w[e.Name], float64(x))
		}
	}
	return r
}

// heldChunks is two chunks, and what of the graph lies within them.
type heldChunks struct {
	base, added int32
	graph       *graph.CSR
}

func (r *isolatedRef) holds(base, added int) heldChunks {
	h := heldChunks{int32(base), int32(added), &graph.CSR{Indptr: []int64{0}, Cols: r.p.Vertices()}}
	for v := range r.p.Vertices() {
		for _, u := range r.p.Graph.Row(v) {
			if h.has(r, int32(v)) && h.has(r, u) {
				h.graph.Indices = append(h.graph.Indices, u)
			}
		}
		h.graph.Indptr = append(h.graph.Indptr, int64(len(h.graph.Indices)))
	}
	return h
}

func (h heldChunks) has(r *isolatedRef, v int32) bool {
	return r.how.Of[v] == h.base || r.how.Of[v] == h.added
}

// local and all count neighbours.
func (r *isolatedRef) local(v int32, has func(u int32) bool) (n float64) {
	for _, u := range r.p.Graph.Row(int(v)) {
		if u != v && has(u) {
			n++
		}
	}
	return n
}

func (r *isolatedRef) all(v int32) float64 { return r.local(v, func(int32) bool { return true }) }

// message is what a row sums up: a vertex, and its weight.
type message struct {
	of     int32
	weight float64
}

// messages returns those of a vertex from neighbours that were drawn; cut says that they are of the pair.
func (r *isolatedRef) messages(h heldChunks, v int32, drawn []int32, cut bool) (out []message) {
	inside := func(u int32) bool { return h.has(r, u) }
	stands := r.all(v)
	if cut && r.how.Correction.EdgeWeights() {
		stands = r.local(v, inside)
	}
	for _, u := range drawn {
		w := stands / float64(len(drawn))
		switch {
		case !cut:
		case r.how.Correction.EdgeWeights() && r.how.Of[u] != r.how.Of[v]:
			w *= float64(r.chunks - 1)
		case r.how.Correction == chunks.LongRun:
			inverse := 0.0
			for other := range int32(r.chunks) {
				if other != r.how.Of[v] {
					both := func(x int32) bool { return r.how.Of[x] == r.how.Of[v] || r.how.Of[x] == other }
					inverse += 1 / r.local(v, both)
				}
			}
			w *= float64(r.chunks-1) / inverse / r.local(v, inside)
		}
		out = append(out, message{u, w * r.entry(v, u)})
	}
	if r.m.Kind == named.GCN {
		out = append(out, message{v, r.entry(v, v)})
	}
	return out
}

// entry is the weight of an edge in the graph.
func (r *isolatedRef) entry(v, u int32) float64 {
	if r.m.Kind == named.GCN {
		return 1 / math.Sqrt(r.in[v]*r.out[u])
	}
	return 1 / r.in[v]
}

// share is the roots of a part in a step, with what they read and weigh.
type share struct {
	roots  []int32
	weight []float64
	read   [2]map[int32][]message // by hop
}

// draw returns that of a part.
func (r *isolatedRef) draw(h heldChunks, step int, roots []int32) *share {
	s := &share{roots: roots, weight: r.weights(h, roots), read: [2]map[int32][]message{{}, {}}}
	rules := sample.Rules{Seed: r.m.Seed, Fanout: r.fanout}
	sampler := sample.New(sample.Topology{Graph: h.graph, Loops: graph.LoopsRemoved}, rules)
	var st sample.Stack
	sampler.Draw(&st, uint32(step), roots)
	for hop, b := range st.Blocks {
		for row := range b.Rows {
			v, drawn := st.IDs[row], []int32{}
			for _, c := range b.Indices[b.Begin[row]:b.Begin[row+1]] {
				drawn = append(drawn, st.IDs[c])
			}
			cut := hop == 0 || r.how.AllLayers
			if !cut { // its fan-out is all
				drawn = slices.DeleteFunc(slices.Clone(r.p.Graph.Row(int(v))), func(u int32) bool { return u == v })
			}
			s.read[hop][v] = r.messages(h, v, drawn, cut)
		}
	}
	return s
}

// weights are what the correction makes of the losses of roots.
func (r *isolatedRef) weights(h heldChunks, roots []int32) []float64 {
	out := make([]float64, len(roots))
	covered, resampled := 0.0, 0.0
	for i, v := range roots {
		local, all := r.local(v, func(u int32) bool { return h.has(r, u) }), r.all(v)
		if out[i] = 1; all > 0 {
			out[i] = local / all
		}
		covered += out[i] / float64(len(roots))
		if local > 0 {
			resampled += (all/local - 1) * min(local, float64(r.fanout[0]))
		}
	}
	for i := range out {
		switch r.how.Correction {
		case chunks.Node:
		case chunks.Uniform:
			out[i] = covered
		case chunks.Resampling:
			out[i] = 1 / max(1, resampled)
		default:
			out[i] = 1
		}
	}
	return out
}

// layer returns a row of the output of a layer.
func (r *isolatedRef) layer(l int, s *share, v int32) []float64 {
	input := func(u int32) []float64 {
		if l > 0 {
			return r.layer(l-1, s, u)
		}
		var x []float64
		for _, y := range r.p.Features.Dense[int(u)*r.m.In:][:r.m.In] {
			x = append(x, float64(y))
		}
		return x
	}
	in, out := r.widths[l][0], r.widths[l][1]
	sum := make([]float64, in)
	for _, msg := range s.read[1-l][v] {
		for j, x := range input(msg.of) {
			sum[j] += msg.weight * x
		}
	}
	name := map[named.Kind][2]string{named.GCN: {".lin.weight", ".bias"}, named.SAGE: {".lin_l.weight", ".lin_l.bias"}}[r.m.Kind]
	conv := "convs." + string(rune('0'+l))
	z := slices.Clone(r.w[conv+name[1]])
	add := func(w []float64, x []float64) {
		for i := range out {
			for j := range in {
				z[i] += w[i*in+j] * x[j]
			}
		}
	}
	add(r.w[conv+name[0]], sum)
	if r.m.Kind == named.SAGE {
		add(r.w[conv+".lin_r.weight"], input(v))
	}
	if l == 0 {
		for i, x := range z {
			z[i] = math.Tanh(x)
		}
	}
	return z
}

// loss is that of a step, each root's weighed.
func (r *isolatedRef) loss(all []*share) (loss float64) {
	n := 0
	for _, s := range all {
		n += len(s.roots)
		for i, v := range s.roots {
			z := r.layer(1, s, v)
			sum := 0.0
			for _, x := range z {
				sum += math.Exp(x)
			}
			loss += s.weight[i] * (math.Log(sum) - z[r.p.Labels[v]])
		}
	}
	return loss / float64(max(1, n))
}

// descend makes a step of plain descent.
func (r *isolatedRef) descend(all []*share, rate float64) {
	const eps = 1e-5
	grads := map[string][]float64{}
	for name, w := range r.w {
		for i, x := range w {
			w[i] = x + eps
			up := r.loss(all)
			w[i] = x - eps
			grads[name] = append(grads[name], (up-r.loss(all))/(2*eps))
			w[i] = x
		}
	}
	for name, w := range r.w {
		for i, g := range grads[name] {
			w[i] -= rate * g
		}
	}
}
