package pipeline

import (
	"context"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"

	"capgnn/gnn"
	"capgnn/gpu"
	"capgnn/graph"
	"capgnn/internal/interpreter"
	"capgnn/internal/learn"
	"capgnn/internal/meet"
	"capgnn/model"
)

// proveVertices is the size of the graph that Prove draws.
const proveVertices = 24

// differently begins the errors of Prove.
const differently = "capgnn does not compute what the program says"

// Prove trains one step of a model that is a program on a small random directed graph, in one part for each device,
// and compares loss and gradients, dropout included, with the definition of the program in float64. sparse says
// whether features are. The error names the tensor whose gradient differs by more than a hundredth, or what the
// program makes impossible. It changes nothing of m and closes no device.
func Prove(ctx context.Context, m gnn.Config, sparse bool, devices []gpu.Device) error {
	return prove(ctx, m, m.Program, sparse, devices)
}

// prove is Prove with a definition.
func prove(ctx context.Context, m gnn.Config, program *model.Program, sparse bool, devices []gpu.Device) error {
	p := proveProblem(m, sparse)
	made, err := p.For(m)
	if err != nil {
		return err
	}
	p.Problem = made
	weights := gnn.NewWeights(m)
	weights.Init(m.Seed)
	r := rand.New(rand.NewPCG(23, 5))
	for i := range weights.Flat {
		weights.Flat[i] += float32(0.1 * r.NormFloat64())
	}
	got, loss, err := p.derived(ctx, m, weights, devices)
	if err != nil {
		return fmt.Errorf("the program fails on a small graph: %w: please report it", err)
	}
	// Rows that grow from layer to layer may leave float32, and say nothing then.
	want, wantLoss := p.definition(m, program, weights)
	if !(wantLoss < 1e20) {
		return nil
	}
	if !(math.Abs(loss-wantLoss) <= 1e-3*max(1, wantLoss)) {
		return fmt.Errorf("%s: its loss on a small graph is %.4g, and %.4g by definition: please report it",
			differently, loss, wantLoss)
	}
	all := distance64(want, nil)
	for _, x := range weights.Tensors {
		a, b := got[x.Off:][:len(x.Data)], want[x.Off:][:len(x.Data)]
		if d := distance64(a, b); !(d <= 1e-2*max(distance64(b, nil), 1e-2*all)) {
			return fmt.Errorf("%s: on a small graph the gradient of %s differs by %.2g of %.2g: please report it",
				differently, x.Name, d, distance64(b, nil))
		}
	}
	return nil
}

// distance64 is the norm of a − b, or of a where b is nil.
func distance64(a, b []float64) float64 {
	s := 0.0
	for i, x := range a {
		if b != nil {
			x -= b[i]
		}
		s += x * x
	}
	return math.Sqrt(s)
}

// proof is the problem of Prove, and its graph edge by edge.
type proof struct {
	*learn.Problem
	edges interpreter.Graph
	x     []float64
}

// proveProblem draws a directed graph with loops and isolated vertices, features, and labels of a third of the
// vertices.
func proveProblem(m gnn.Config, sparse bool) proof {
	r := rand.New(rand.NewPCG(17, 3))
	p := proof{
		Problem: &learn.Problem{Classes: m.Out, Features: learn.Features{Cols: m.In}},
		edges:   interpreter.Graph{Vertices: proveVertices},
	}
	var edges []graph.Edge
	for v := range graph.NodeID(proveVertices - 2) {
		for range r.IntN(4) {
			edges = append(edges, graph.Edge{From: graph.NodeID(r.IntN(proveVertices - 1)), To: v})
		}
	}
	g, err := graph.FromEdges(proveVertices, edges)
	if err != nil {
		panic(err) // vertices are below proveVertices
	}
	switch m.Loops() {
	case model.FullLoops:
		g = g.WithLoops()
	case model.NoLoops:
		g = g.WithoutLoops()
	}
	p.Graph = g
	f := &p.Features
	if sparse {
		f.Indptr = []int64{0}
	}
	for v := range proveVertices {
		for _, u := range g.Row(v) {
			p.edges.Src, p.edges.Dst = append(p.edges.Src, int(u)), append(p.edges.Dst, v)
		}
		for c := range m.In {
			x := float32(r.NormFloat64())
			switch {
			case !sparse:
				f.Dense = append(f.Dense, x)
			case r.IntN(3) == 0 || c == v%m.In:
				f.Indices, f.Data = append(f.Indices, int32(c)), append(f.Data, x)
			default:
				x = 0
			}
			p.x = append(p.x, float64(x))
		}
		if sparse {
			f.Indptr = append(f.Indptr, int64(len(f.Data)))
		}
		if !m.Multi {
			p.Labels = append(p.Labels, int32(r.IntN(m.Out)))
		}
		for m.Multi && len(p.Targets) < (v+1)*m.Out {
			p.Targets = append(p.Targets, uint8(r.IntN(2)))
		}
		p.Train = append(p.Train, v%3 == 1)
	}
	return p
}

// definition returns gradients in the layout of the weights, and the loss, as the interpreter makes them.
func (p proof) definition(m gnn.Config, program *model.Program, w *gnn.Weights) (grad []float64, loss float64) {
	run := &interpreter.Run{Program: program, Graph: p.edges, X: p.x, Params: map[string][]float64{}}
	for _, x := range w.Tensors {
		for _, v := range x.Data {
			run.Params[x.Name] = append(run.Params[x.Name], float64(v))
		}
	}
	run.Keep = keeps(run, m, p.Features.Sparse(), 0)
	logits := run.Forward()
	d := make([]float64, len(logits))
	for v := range proveVertices {
		if p.Train[v] {
			loss += p.loss(v, logits[v*m.Out:][:m.Out], d[v*m.Out:])
		}
	}
	grad = make([]float64, len(w.Flat))
	for name, g := range run.Backward(d) {
		copy(grad[w.Tensor(name).Off:], g)
	}
	return grad, loss
}

// keeps returns what the dropout of an epoch keeps (docs/mathematics.md, "Random numbers"), as the interpreter asks for
// it.
func keeps(run *interpreter.Run, m gnn.Config, sparse bool, epoch uint32) func(n *model.Node, row, col int) bool {
	return func(n *model.Node, row, col int) bool {
		counter := [4]uint32{uint32(col / 4), uint32(row), uint32(n.Counter), epoch}
		switch {
		case n.Space != model.Vertices: // a weight of attention
			u, v := run.Ends(n.Space.Graph(), row)
			counter[0], counter[1], counter[2] = uint32(u), uint32(v), gpu.EdgeStream(counter[2], col)
		case sparse && run.Program.Nodes[n.In[0]].Op == model.Input: // each entry has a counter of its own
			counter[0], counter[1], col = 0, uint32(row*m.In+col), 0
		}
		return gpu.Philox(counter, gpu.SeedKey(m.Seed))[col%4] >= gpu.DropoutThreshold(n.P)
	}
}

// loss returns the share of a vertex with logits x in the loss, and writes its gradient to d: cross-entropy of a
// softmax or, with several labels, of sigmoids.
func (p proof) loss(v int, x, d []float64) (loss float64) {
	terms := p.TrainingVertices()
	if p.Targets != nil {
		terms *= len(x)
	}
	scale, top, sum := 1/float64(terms), slices.Max(x), 0.0
	for k, z := range x {
		if p.Targets != nil {
			y := float64(p.Targets[v*len(x)+k])
			loss += scale * (max(z, 0) - z*y + math.Log1p(math.Exp(-math.Abs(z))))
			d[k] = scale * (1/(1+math.Exp(-z)) - y)
		}
		sum += math.Exp(z - top)
	}
	if p.Targets != nil {
		return loss
	}
	for k, z := range x {
		d[k] = scale * math.Exp(z-top) / sum
	}
	label := p.Labels[v]
	d[label] -= scale
	return scale * (math.Log(sum) + top - x[label])
}

// derived returns what devices compute in place of definition: gradients, added over parts, and the loss.
func (p proof) derived(ctx context.Context, m gnn.Config, w *gnn.Weights, devices []gpu.Device) (
	grad []float64, loss float64, err error,
) {
	part := make([]int32, proveVertices)
	for v := range part {
		part[v] = int32((v*7 + v/3) % len(devices))
	}
	o := Options{Training: Training{Model: m, Optimizer: gnn.Optimizer{Kind: gnn.SGD, LR: 1}, Epochs: 1}}
	o.Devices, o.Part, o.Init = devices, part, w.StateDict()
	t, err := New(ctx, p.Problem, o)
	if err != nil {
		return nil, 0, err
	}
	defer t.Close()
	err = t.each(func(w *worker) error {
		if err := meet.Guard(func() { w.runTrain(0, 1/t.terms, nil) }); err != nil {
			return err
		}
		return w.Sync()
	})
	grad = make([]float64, len(w.Flat))
	for _, w := range t.workers {
		if err != nil {
			return nil, 0, err
		}
		loss += w.lossValue()
		var part []float32
		part, err = w.Download(w.Grads.Flat)
		for i, x := range part {
			grad[i] += float64(x)
		}
	}
	return grad, loss, err
}
