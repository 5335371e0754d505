package pipeline

import (
	"slices"

	"capgnn/gnn"
	"capgnn/graph"
	"capgnn/internal/interpreter"
	"capgnn/internal/learn"
	"capgnn/internal/named"
	"capgnn/internal/ref"
	"capgnn/model"
)

// refModel is a model in float64 on one device: every layer sums over edges of its own, and every row is computed.
type refModel struct {
	p *learn.Problem
	m named.Model
	g interpreter.Graph // edges in the order of p.Graph
	x []float64
	// counts says by layer how often each edge counts: not at all where it is left out.
	counts [][]float64
	// weight is what the loss of every vertex is multiplied by; nil: 1 for training vertices, 0 for the others.
	weight []float64
}

// newRefModel returns the model on A_eff of each layer: all edges in layer 0, else those that part does not drop.
func newRefModel(p *learn.Problem, m named.Model, part []int32, dropped [][]graph.NodeID) *refModel {
	r := &refModel{p: p, m: m, g: interpreter.Graph{Vertices: p.Vertices()}}
	var kept []float64
	for v := range p.Vertices() {
		for _, u := range p.Graph.Row(v) {
			r.g.Src, r.g.Dst = append(r.g.Src, int(u)), append(r.g.Dst, v)
			r.g.Weight = append(r.g.Weight, float64(p.Graph.Weight(u, graph.NodeID(v))))
			once := 1.0
			if dropped != nil && slices.Contains(dropped[part[v]], u) {
				once = 0
			}
			kept = append(kept, once)
		}
		row := make([]float32, p.Features.Cols)
		p.Features.Fill(row, graph.NodeID(v))
		for _, x := range row {
			r.x = append(r.x, float64(x))
		}
	}
	r.counts = append(r.counts, slices.Repeat([]float64{1}, len(kept)))
	for len(r.counts) < m.Layers {
		r.counts = append(r.counts, kept)
	}
	return r
}

// effective returns A_eff of a layer with the model's weights by degrees of the whole graph.
func effective(p *learn.Problem, kind named.Kind, part []int32, dropped [][]graph.NodeID, layer int) ref.CSR {
	r := newRefModel(p, named.Model{Kind: kind, Layers: layer + 1}, part, dropped)
	a := ref.CSR{Rows: r.g.Vertices, Cols: r.g.Vertices}
	weights := r.g.Weight
	if kind.Symmetric() {
		weights = r.g.Constant(&model.Node{Space: model.Edges("g"), Attr: model.Attr{What: model.Sym}})
	}
	in := r.g.Constant(&model.Node{Space: model.Vertices, Attr: model.Attr{What: model.InCount}})
	for v, e := 0, 0; v < a.Rows; v++ {
		a.Begin = append(a.Begin, int64(len(a.Indices)))
		for ; e < len(r.g.Dst) && r.g.Dst[e] == v; e++ {
			if r.counts[layer][e] == 0 {
				continue
			}
			w := weights[e]
			if kind == named.SAGE {
				w /= in[v]
			}
			a.Indices, a.Val = append(a.Indices, int32(r.g.Src[e])), append(a.Val, w)
		}
		a.End = append(a.End, int64(len(a.Indices)))
	}
	return a
}

// run returns the program with weights and the dropout of an epoch.
func (r *refModel) run(w *refWeights, epoch int) *interpreter.Run {
	run := &interpreter.Run{Program: netOf(r.m).Program, Graph: r.g, X: r.x, Params: map[string][]float64{}}
	for _, n := range run.Program.Params() {
		run.Params[n.Name] = w.at(n.Name)
	}
	run.Keep = keeps(run, netOf(r.m), r.p.Features.Sparse(), uint32(epoch))
	run.Count = func(depth int, graph string, e int) float64 {
		if graph != run.Program.Graphs[0].Name { // made of it, and nothing is left out of it
			return 1
		}
		return r.counts[depth][e]
	}
	return run
}

// gradient returns the training loss with dropout of an epoch, and its derivative by every parameter, in the layout of
// the weights.
func (r *refModel) gradient(w *refWeights, epoch int) (loss float64, grad []float64) {
	run := r.run(w, epoch)
	loss, d := r.score(ref.Matrix{Rows: r.p.Vertices(), Cols: r.m.Out, V: run.Forward()})
	grad = make([]float64, len(w.flat))
	for name, g := range run.Backward(d.V) {
		copy(grad[w.layout.Tensor(name).Off:], g)
	}
	return loss, grad
}

// score is the sum of the losses of all vertices, each times its weight, over the number of training vertices.
func (r *refModel) score(logits ref.Matrix) (loss float64, d ref.Matrix) {
	weight := r.weight
	if weight == nil {
		for _, is := range r.p.Train {
			weight = append(weight, 0)
			if is {
				weight[len(weight)-1] = 1
			}
		}
	}
	d = ref.NewMatrix(logits.Rows, logits.Cols)
	for v, x := range weight {
		if x == 0 {
			continue
		}
		row := ref.Matrix{Rows: 1, Cols: logits.Cols, V: logits.Row(v)}
		scale := x / r.terms()
		var l float64
		var g ref.Matrix
		if r.p.Targets != nil {
			l, g = ref.BCELoss(row, r.p.Targets[v*row.Cols:][:row.Cols], []uint8{1}, scale)
		} else {
			l, g = ref.SoftmaxLoss(row, r.p.Labels[v:v+1], scale)
		}
		loss += l
		copy(d.Row(v), g.V)
	}
	return loss, d
}

// terms is what the loss is the mean over.
func (r *refModel) terms() float64 {
	n := r.p.TrainingVertices()
	if r.p.Targets != nil {
		n *= r.m.Out
	}
	return float64(n)
}

// refWeights are parameters in float64, in the layout of gnn.Weights.
type refWeights struct {
	layout *gnn.Weights
	flat   []float64
}

func newRefWeights(w *gnn.Weights) *refWeights {
	r := &refWeights{w, make([]float64, len(w.Flat))}
	for i, x := range w.Flat {
		r.flat[i] = float64(x)
	}
	return r
}

func (w *refWeights) at(name string) []float64 {
	t := w.layout.Tensor(name)
	return w.flat[t.Off:][:len(t.Data)]
}
