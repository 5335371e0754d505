package interpreter

import (
	"math"
	"slices"

	"capgnn/model"
)

// Run is a program on a graph. The fields are set by the caller.
type Run struct {
	Program *model.Program
	Graph   Graph
	X       []float64            // Vertices × Features
	Params  map[string][]float64 // by name of the tensor
	Part    []int                // of every vertex; nil: one part
	Targets []int                // vertices whose logits are wanted; nil: all
	// Keep says which elements dropout keeps, by the vertex or the number of the edge in its graph; nil: evaluation,
	// in which BatchNorm takes running statistics if it has them.
	Keep func(n *model.Node, row, col int) bool
	// Count says how often the sums behind Src nodes of a depth count an edge; 0 leaves it out of maxima and softmax,
	// too. Constants know nothing of it. nil: once.
	Count func(depth int, graph string, edge int) float64

	Sent int // elements that parts have sent to each other

	graphs map[string]Graph
	owner  []int // of every vertex
	local  []int // a vertex's number among those of its part
	parts  []part
	top    int   // hops to the farthest vertices that are needed, and one more for all
	hops   []int // of every value: its reach, at most top
	depth  []int
	val    [][]array // by node and part
	stats  map[int]stat
	grad   [][]array
}

// array is a value's rows; of Global there is one.
type array struct {
	rows, cols int
	v          []float64
}

func (a array) row(i int) []float64 { return a.v[i*a.cols:][:a.cols] }

func newArray(rows, cols int) array { return array{rows, cols, make([]float64, rows*cols)} }

// part is the vertices of a part, nearest to targets first, and the edges that lead to them, likewise.
type part struct {
	vertices []int
	count    []int // vertices by hops
	edges    map[string][]int
	edgesTo  map[string][]int // numbers of edges by hops of their target
}

func (r *Run) node(i int) *model.Node { return &r.Program.Nodes[i] }

// Ends returns the source and the target of an edge of a graph, in a function that the run calls.
func (r *Run) Ends(graph string, edge int) (source, target int) {
	g := r.graphs[graph]
	return g.Src[edge], g.Dst[edge]
}

// prepare finds out which rows of which value each part computes.
func (r *Run) prepare() {
	n := r.Graph.Vertices
	r.graphs, r.val, r.stats = map[string]Graph{}, make([][]array, len(r.Program.Nodes)), map[int]stat{}
	for _, g := range r.Program.Graphs {
		from := r.Graph
		if g.Of != "" {
			from = r.graphs[g.Of]
		}
		r.graphs[g.Name] = from.made(g)
	}
	r.depth = r.Program.Depth()
	reach := r.Program.Reach()
	deepest := 0
	for _, k := range reach {
		if k != model.All {
			deepest = max(deepest, k)
		}
	}
	r.top = deepest + 1
	r.hops = nil
	for _, k := range reach {
		r.hops = append(r.hops, min(k, r.top))
	}
	far := r.far(deepest)
	if r.owner = r.Part; r.owner == nil {
		r.owner = make([]int, n)
	}
	r.local = make([]int, n)
	r.parts = make([]part, slices.Max(r.owner)+1)
	order := make([]int, n)
	for v := range order {
		order[v] = v
	}
	slices.SortStableFunc(order, func(a, b int) int { return far[a] - far[b] })
	for _, v := range order {
		p := &r.parts[r.owner[v]]
		r.local[v] = len(p.vertices)
		p.vertices = append(p.vertices, v)
	}
	for i := range r.parts {
		p := &r.parts[i]
		p.count = counts(p.vertices, r.top, func(v int) int { return far[v] })
		p.edges, p.edgesTo = map[string][]int{}, map[string][]int{}
		for name, g := range r.graphs {
			var es []int
			for e, d := range g.Dst {
				if r.owner[d] == i {
					es = append(es, e)
				}
			}
			slices.SortStableFunc(es, func(a, b int) int { return far[g.Dst[a]] - far[g.Dst[b]] })
			p.edges[name], p.edgesTo[name] = es, counts(es, r.top, func(e int) int { return far[g.Dst[e]] })
		}
	}
}

// far returns how many hops every vertex is away from a target, against all edges that some Src reads; deepest + 1 if
// more than deepest.
func (r *Run) far(deepest int) []int {
	far := make([]int, r.Graph.Vertices)
	for v := range far {
		far[v] = deepest + 1
		if r.Targets == nil || slices.Contains(r.Targets, v) {
			far[v] = 0
		}
	}
	for k := range deepest {
		for i := range r.Program.Nodes {
			if r.node(i).Op != model.Src {
				continue
			}
			g := r.graphs[r.node(i).Graph]
			for e, s := range g.Src {
				if far[g.Dst[e]] <= k {
					far[s] = min(far[s], k+1)
				}
			}
		}
	}
	return far
}

// counts returns how many of a list are at most 0, 1, … top hops away.
func counts(list []int, top int, far func(int) int) []int {
	out := make([]int, top+1)
	for _, x := range list {
		for k := far(x); k <= top; k++ {
			out[k]++
		}
	}
	return out
}

// rows returns how many rows a part has of a space within some hops.
func (p *part) rows(s model.Space, hops int) int {
	switch {
	case s == model.Global:
		return 1
	case s == model.Vertices:
		return p.count[hops]
	}
	return p.edgesTo[s.Graph()][hops]
}

// Forward returns the logits, Vertices × Outputs; NaN of vertices that are no targets.
func (r *Run) Forward() []float64 {
	r.prepare()
	for i := 0; i <= r.Program.Logits; i++ {
		n := r.node(i)
		if r.hops[i] < 0 {
			continue
		}
		r.val[i] = make([]array, len(r.parts))
		switch n.Op {
		case model.Src:
			r.exchange(i)
			continue
		case model.BatchNorm:
			r.batchNorm(i)
			continue
		}
		for k := range r.parts {
			r.val[i][k] = r.forward(i, k)
		}
		if r.Program.Reduces(i) {
			r.addParts(r.val[i])
		}
	}
	out := slices.Repeat([]float64{math.NaN()}, r.Graph.Vertices*r.Program.Outputs)
	for k, a := range r.val[r.Program.Logits] {
		for i := range a.rows {
			copy(out[r.parts[k].vertices[i]*a.cols:], a.row(i))
		}
	}
	return out
}

// addParts replaces the values of all parts by their sum.
func (r *Run) addParts(as []array) {
	sum := newArray(as[0].rows, as[0].cols)
	for _, a := range as {
		for i, x := range a.v {
			sum.v[i] += x
		}
	}
	for k := range as {
		as[k] = array{sum.rows, sum.cols, slices.Clone(sum.v)}
	}
	if len(as) > 1 {
		r.Sent += len(as) * len(sum.v)
	}
}

// exchange gives every edge the row of its source: of the part itself, or once for each part that needs it from its
// owner.
func (r *Run) exchange(i int) {
	n := r.node(i)
	x, g := r.val[n.In[0]], r.graphs[n.Graph]
	for k := range r.parts {
		p, got := &r.parts[k], map[int]bool{}
		y := newArray(p.rows(n.Space, r.hops[i]), n.Columns())
		for j := range y.rows {
			s := g.Src[p.edges[n.Graph][j]]
			if o := r.owner[s]; o != k && !got[s] {
				got[s] = true
				r.Sent += y.cols
			}
			copy(y.row(j), x[r.owner[s]].row(r.local[s])) // beyond the rows that its owner has this panics
		}
		r.val[i][k] = y
	}
}
