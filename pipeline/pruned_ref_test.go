package pipeline

import (
	"math"
	"slices"

	"capgnn/gnn"
	"capgnn/gpu"
	"capgnn/graph"
	"capgnn/internal/learn"
	"capgnn/internal/ref"
)

// refModel is docs/mathematics.md in float64 on one device: every layer aggregates over an adjacency of its own, given edge by edge,
// and computes every row. Gradients are central differences.
type refModel struct {
	p   *learn.Problem
	m   gnn.Config
	adj []ref.CSR // per layer
	x   ref.Matrix
	// weight is what the loss of every vertex is multiplied by; nil: 1 for training vertices, 0 for the others.
	weight []float64
	masks  map[[2]int][]bool // of layers and epochs: what dropout keeps, row by row
}

// effective returns A_eff of a layer from its definition: the edges that part does not drop, all in layer 0, with the model's
// weights by degrees of the whole graph, times those of edges.
func effective(p *learn.Problem, kind gnn.Kind, part []int32, dropped [][]graph.NodeID, layer int) ref.CSR {
	drops := map[[2]int32]bool{}
	for i, ids := range dropped {
		for _, u := range ids {
			drops[[2]int32{int32(i), u}] = layer > 0
		}
	}
	g := p.Graph
	in := g.InDegree()
	inSum, outSum := make([]float64, g.Rows()), make([]float64, g.Rows()) // of weights
	for v := range g.Rows() {
		for _, u := range g.Row(v) {
			x := float64(g.Weight(u, graph.NodeID(v)))
			inSum[v] += x
			outSum[u] += x
		}
	}
	a := ref.CSR{Rows: g.Rows(), Cols: g.Rows()}
	for v := range g.Rows() {
		a.Begin = append(a.Begin, int64(len(a.Indices)))
		for _, u := range g.Row(v) {
			if drops[[2]int32{part[v], u}] {
				continue
			}
			w := 1.0
			switch {
			case kind.Symmetric():
				w = 1 / math.Sqrt(inSum[v]*outSum[u])
			case kind == gnn.SAGE:
				w = 1 / float64(in[v])
			}
			w *= float64(g.Weight(u, graph.NodeID(v)))
			a.Indices, a.Val = append(a.Indices, u), append(a.Val, w)
		}
		a.End = append(a.End, int64(len(a.Indices)))
	}
	return a
}

func newRefModel(p *learn.Problem, m gnn.Config, part []int32, dropped [][]graph.NodeID) *refModel {
	r := &refModel{p: p, m: m, x: ref.NewMatrix(p.Vertices(), p.Features.Cols), masks: map[[2]int][]bool{}}
	for v := range p.Vertices() {
		row := make([]float32, p.Features.Cols)
		p.Features.Fill(row, graph.NodeID(v))
		for j, x := range row {
			r.x.Row(v)[j] = float64(x)
		}
	}
	for l := range m.Layers {
		r.adj = append(r.adj, effective(p, m.Kind, part, dropped, l))
	}
	return r
}

// sum returns A·h.
func sum(a ref.CSR, h ref.Matrix) ref.Matrix {
	y := ref.NewMatrix(a.Rows, h.Cols)
	for v := range a.Rows {
		row := y.Row(v)
		for e := a.Begin[v]; e < a.End[v]; e++ {
			for j, x := range h.Row(int(a.Indices[e])) {
				row[j] += a.Val[e] * x
			}
		}
	}
	return y
}

// loss returns the training loss with dropout of an epoch.
func (r *refModel) loss(w *refWeights, epoch int) float64 { return r.lossBehind(w, epoch, nil) }

// lossBehind is loss, of which the inputs of the first layers are known. Models of example have none.
func (r *refModel) lossBehind(w *refWeights, epoch int, known []ref.Matrix) float64 {
	if r.byFormula() {
		return r.score(r.example(w, epoch))
	}
	in := r.inputs(w, epoch, known)
	if !r.m.Jumping {
		return r.score(r.conv(w, r.m.Layers-1, in[r.m.Layers-1]))
	}
	x := beside(in[1:])
	return r.score(ref.Linear{X: x, W: ref.Matrix{Rows: r.m.Out, Cols: x.Cols, V: w.at("lin.weight")}, Bias: w.at("lin.bias")}.Run())
}

// byFormula says that example computes the model.
func (r *refModel) byFormula() bool {
	return slices.Contains([]gnn.Kind{gnn.SGC, gnn.APPNP, gnn.GCNII}, r.m.Kind)
}

// inputs returns what every layer reads, behind those that are known, and with jumping knowledge also what the last one returns.
func (r *refModel) inputs(w *refWeights, epoch int, known []ref.Matrix) []ref.Matrix {
	in := slices.Clone(known)
	switch {
	case len(in) > 0:
	case r.m.DropFeatures:
		in = append(in, r.dropped(r.x, r.keepFeature(epoch)))
	default:
		in = append(in, r.x)
	}
	last := r.m.Layers
	if r.m.Jumping {
		last++
	}
	for l := len(in) - 1; len(in) < last; l++ {
		e := ref.Epilogue{Act: r.act(), P: r.m.Dropout, Keep: r.keep(l, epoch)}
		if !r.m.NoNorm {
			e.Norm, e.Eps, e.Gamma, e.Beta = true, 1e-5, w.at("norms.%d.weight", l), w.at("norms.%d.bias", l)
		}
		_, out, _ := e.Forward(r.conv(w, l, in[l]))
		if r.m.Residual && l > 0 {
			for i, x := range in[l].V {
				out.V[i] += x
			}
		}
		in = append(in, out)
	}
	return in
}

// beside returns the columns of matrices side by side.
func beside(ms []ref.Matrix) ref.Matrix {
	out := ref.Matrix{Rows: ms[0].Rows}
	for i := range out.Rows {
		for _, m := range ms {
			out.V = append(out.V, m.Row(i)...)
		}
	}
	out.Cols = len(out.V) / out.Rows
	return out
}

// act is the model's activation.
func (r *refModel) act() ref.Activation {
	return map[gnn.Activation]ref.Activation{"": ref.ReLU, gnn.ReLU: ref.ReLU, gnn.LeakyReLU: ref.LeakyReLU, gnn.ELU: ref.ELU, gnn.Tanh: ref.Tanh}[r.m.Activation]
}

// keep says which elements dropout keeps, by the counters of a layer; nil: all.
func (r *refModel) keep(l, epoch int) func(i, j int) bool {
	if r.m.Dropout == 0 {
		return nil
	}
	return r.once(l, epoch, func(i, j int) bool {
		words := gpu.Philox([4]uint32{uint32(j / 4), uint32(i), uint32(l), uint32(epoch)}, gpu.SeedKey(r.m.Seed))
		return words[j%4] >= gpu.DropoutThreshold(r.m.Dropout)
	})
}

// keepFeature says which features dropout keeps: as layer 65, but of sparse ones each has a counter of its own.
func (r *refModel) keepFeature(epoch int) func(i, j int) bool {
	if !r.p.Features.Sparse() || r.m.Dropout == 0 {
		return r.keep(65, epoch)
	}
	return r.once(65, epoch, func(i, j int) bool {
		words := gpu.Philox([4]uint32{0, uint32(i*r.x.Cols + j), 65, uint32(epoch)}, gpu.SeedKey(r.m.Seed))
		return words[0] >= gpu.DropoutThreshold(r.m.Dropout)
	})
}

// once is keep, asked once for every element: differences want the same masks thousands of times.
func (r *refModel) once(l, epoch int, keep func(i, j int) bool) func(i, j int) bool {
	cols := max(r.x.Cols, r.m.Hidden, r.m.Out)
	mask, ok := r.masks[[2]int{l, epoch}]
	if !ok {
		for i := range r.x.Rows {
			for j := range cols {
				mask = append(mask, keep(i, j))
			}
		}
		r.masks[[2]int{l, epoch}] = mask
	}
	return func(i, j int) bool { return mask[i*cols:][:cols][j] }
}

// dropped is what dropout leaves of x.
func (r *refModel) dropped(x ref.Matrix, keep func(i, j int) bool) ref.Matrix {
	_, h, _ := ref.Epilogue{P: r.m.Dropout, Keep: keep}.Forward(x)
	return h
}

// example returns the logits of SGC, APPNP or GCNII by their papers' formulas.
func (r *refModel) example(w *refWeights, epoch int) ref.Matrix {
	linear := func(name string, x ref.Matrix) ref.Matrix {
		b := w.at("%s.bias", name)
		return ref.Linear{X: x, W: ref.Matrix{Rows: len(b), Cols: x.Cols, V: w.at("%s.weight", name)}, Bias: b}.Run()
	}
	active := func(z ref.Matrix, layer int) ref.Matrix {
		_, h, _ := ref.Epilogue{Act: r.act(), P: r.m.Dropout, Keep: r.keep(layer, epoch)}.Forward(z)
		return h
	}
	// mixed returns (1−α)·Â·h + α·first.
	mixed := func(l int, h, first ref.Matrix) ref.Matrix {
		s := sum(r.adj[l], h)
		for i := range s.V {
			s.V[i] = (1-r.m.Alpha)*s.V[i] + r.m.Alpha*first.V[i]
		}
		return s
	}
	switch r.m.Kind {
	case gnn.SGC:
		h := r.x
		for l := range r.m.Layers {
			h = sum(r.adj[l], h)
		}
		return linear("lin", h)
	case gnn.APPNP:
		first := linear("lin2", active(linear("lin1", r.dropped(r.x, r.keepFeature(epoch))), 64))
		h := first
		for l := range r.m.Layers {
			h = mixed(l, h, first)
		}
		return h
	}
	_, first, _ := ref.Epilogue{Act: r.act()}.Forward(linear("lins.0", r.dropped(r.x, r.keepFeature(epoch))))
	h := r.dropped(first, r.keep(64, epoch))
	for l := range r.m.Layers {
		s := mixed(l, h, first)
		z := ref.NewMatrix(s.Rows, s.Cols)
		beta, weight := math.Log(r.m.Theta/float64(l+1)+1), w.at("convs.%d.weight1", l)
		for i := range s.Rows {
			for j := range s.Cols {
				z.Row(i)[j] = (1 - beta) * s.Row(i)[j]
				for k, x := range s.Row(i) {
					z.Row(i)[j] += beta * x * weight[k*s.Cols+j]
				}
			}
		}
		h = active(z, l)
	}
	return linear("lins.1", h)
}

func (r *refModel) conv(w *refWeights, l int, h ref.Matrix) ref.Matrix {
	in, out := r.m.Width(l)
	mat := func(name string, rows, cols int) ref.Matrix {
		return ref.Matrix{Rows: rows, Cols: cols, V: w.at(name, l)}
	}
	switch r.m.Kind {
	case gnn.GCN:
		return ref.Linear{X: sum(r.adj[l], h), W: mat("convs.%d.lin.weight", out, in), Bias: w.at("convs.%d.bias", l)}.Run()
	case gnn.SAGE:
		return ref.Linear{X: sum(r.adj[l], h), W: mat("convs.%d.lin_l.weight", out, in), Bias: w.at("convs.%d.lin_l.bias", l),
			X2: h, W2: mat("convs.%d.lin_r.weight", out, in)}.Run()
	case gnn.GIN:
		s := ref.AddScaled(sum(r.adj[l], h), h, w.at("convs.%d.eps", l)[0])
		y := ref.Linear{X: s, W: mat("convs.%d.nn.lins.0.weight", out, in), Bias: w.at("convs.%d.nn.lins.0.bias", l)}.Run()
		act := r.act()
		for i, x := range y.V {
			y.V[i], _ = act.At(x)
		}
		return ref.Linear{X: y, W: mat("convs.%d.nn.lins.1.weight", out, out), Bias: w.at("convs.%d.nn.lins.1.bias", l)}.Run()
	}
	return r.attend(w, l, h)
}

// attend is conv of a model with attention.
func (r *refModel) attend(w *refWeights, l int, h ref.Matrix) (o ref.Matrix) {
	in, out := r.m.Width(l)
	last, width := l == r.m.Layers-1 && !r.m.Jumping, out
	if last {
		width *= r.m.Heads
	}
	mat := func(name string, rows, cols int) ref.Matrix {
		return ref.Matrix{Rows: rows, Cols: cols, V: w.at(name, l)}
	}
	if r.m.Kind == gnn.GATv2 {
		o, _ = ref.GATv2{A: r.adj[l], T: ref.Linear{X: h, W: mat("convs.%d.lin_l.weight", width, in), Bias: w.at("convs.%d.lin_l.bias", l)}.Run(),
			R:   ref.Linear{X: h, W: mat("convs.%d.lin_r.weight", width, in), Bias: w.at("convs.%d.lin_r.bias", l)}.Run(),
			Att: w.at("convs.%d.att", l), Heads: r.m.Heads, Slope: 0.2}.Forward()
	} else {
		t := ref.Linear{X: h, W: mat("convs.%d.lin.weight", width, in)}.Run()
		o, _ = ref.GAT{A: r.adj[l], T: t, S: ref.GATScores(t, w.at("convs.%d.att_src", l), r.m.Heads),
			D: ref.GATScores(t, w.at("convs.%d.att_dst", l), r.m.Heads), Slope: 0.2}.Forward()
	}
	if last {
		return ref.HeadMean(o, out, w.at("convs.%d.bias", l))
	}
	return ref.AddBias(o, w.at("convs.%d.bias", l))
}

// score is the sum of the losses of all vertices, each times its weight, over the number of training vertices.
func (r *refModel) score(logits ref.Matrix) float64 {
	if r.weight == nil {
		return r.scoreOf(logits, func(v int) bool { return r.p.Train[v] })
	}
	all := 0.0
	for v, x := range r.weight {
		if x != 0 {
			all += x * r.scoreOf(logits, func(u int) bool { return u == v })
		}
	}
	return all
}

// scoreOf is the sum of the losses of some vertices over the number of training vertices.
func (r *refModel) scoreOf(logits ref.Matrix, counts func(v int) bool) float64 {
	scale := 1 / float64(r.p.LossTerms())
	if r.p.Targets != nil {
		mask := make([]uint8, r.p.Vertices())
		for v := range mask {
			if counts(v) {
				mask[v] = 1
			}
		}
		loss, _ := ref.BCELoss(logits, r.p.Targets, mask, scale)
		return loss
	}
	labels := make([]int32, r.p.Vertices())
	for v := range labels {
		labels[v] = -1
		if counts(v) {
			labels[v] = r.p.Labels[v]
		}
	}
	loss, _ := ref.SoftmaxLoss(logits, labels, scale)
	return loss
}
