package gnn

import (
	"capgnn/internal/named"
	"math/rand/v2"
	"slices"

	"capgnn/graph"
)

// netOf returns a model of settings that are right.
func netOf(m named.Model) Config { return named.Config(m, NewModel) }

// task is a small problem: what a model is trained on, whole or block by block.
type task struct {
	g       *graph.CSR // with the loops that the model adds
	x       []float32  // Vertices × in
	labels  []int32
	targets []uint8 // Vertices × out; nil: one label per vertex
	roots   []int32 // training vertices
	loops   bool
	sparse  bool // features
}

// newTask draws a graph with a hub, vertices without neighbours, and edges in one direction.
func newTask(c Config, n int, seed uint64) *task {
	r := rand.New(rand.NewPCG(seed, 1))
	var edges []graph.Edge
	for range 6 * n {
		edges = append(edges, graph.Edge{From: int32(r.IntN(n - 9)),
			To: int32(r.IntN(n-9)) * int32(r.IntN(20)) % int32(n-9)})
	}
	g, err := graph.FromEdges(n, edges)
	if err != nil {
		panic(err)
	}
	t := &task{g: g.WithoutLoops(), loops: c.Symmetric() || c.Attends()}
	if t.loops {
		t.g = t.g.WithLoops()
	}
	for range n * c.In {
		t.x = append(t.x, float32(r.NormFloat64()))
	}
	for range n {
		t.labels = append(t.labels, int32(r.IntN(c.Out)))
	}
	if c.Multi {
		for range n * c.Out {
			t.targets = append(t.targets, uint8(r.IntN(2)))
		}
	}
	for _, v := range r.Perm(n)[:n/8] {
		t.roots = append(t.roots, int32(v))
	}
	return t
}

// renumbered returns the task with vertex v as perm[v].
func (t *task) renumbered(perm []int) *task {
	u := &task{loops: t.loops, sparse: t.sparse, x: make([]float32, len(t.x)), labels: make([]int32, len(t.labels)),
		targets: make([]uint8, len(t.targets))}
	in, out := len(t.x)/len(perm), len(t.targets)/len(perm)
	var edges []graph.Edge
	for v, w := range perm {
		for _, x := range t.g.Row(v) {
			edges = append(edges, graph.Edge{From: int32(perm[x]), To: int32(w)})
		}
		copy(u.x[w*in:], t.x[v*in:][:in])
		copy(u.targets[w*out:], t.targets[v*out:][:out])
		u.labels[w] = t.labels[v]
	}
	var err error
	if u.g, err = graph.FromEdges(len(perm), edges); err != nil {
		panic(err)
	}
	for _, v := range t.roots {
		u.roots = append(u.roots, int32(perm[v]))
	}
	return u
}

// block is one hop's rows over its columns; ratio is n/k by row, nil: all 1.
type block struct {
	cols    int
	begin   []int64
	indices []int32
	ratio   []float32
}

func (b *block) rows() int { return len(b.begin) - 1 }

// stack is the blocks of some roots, nearest to them first. Rows of a hop are the first ids, columns more of them.
type stack struct {
	roots  int
	ids    []int32
	blocks []block
}

// draw says which neighbours of v a hop keeps, and n/k.
type draw func(hop int, v int32, neighbours []int32) (kept []int32, ratio float32)

func everyone(_ int, _ int32, neighbours []int32) ([]int32, float32) { return neighbours, 1 }

// some keeps up to k neighbours, and v itself where loops are added.
func (t *task) some(k int, r *rand.Rand) draw {
	return func(_ int, v int32, neighbours []int32) ([]int32, float32) {
		var others, kept []int32
		for _, u := range neighbours {
			if t.loops && u == v {
				kept = append(kept, u)
				continue
			}
			others = append(others, u)
		}
		n := len(others)
		r.Shuffle(n, func(i, j int) { others[i], others[j] = others[j], others[i] })
		if n <= k {
			return append(kept, others...), 1
		}
		return append(kept, others[:k]...), float32(n) / float32(k)
	}
}

func (t *task) stack(roots []int32, hops int, keep draw) *stack {
	s := &stack{roots: len(roots), ids: slices.Clone(roots)}
	at := map[int32]int32{}
	for i, v := range s.ids {
		at[v] = int32(i)
	}
	for h := range hops {
		b := block{begin: []int64{0}}
		for _, v := range slices.Clone(s.ids) {
			kept, ratio := keep(h, v, t.g.Row(int(v)))
			for _, u := range kept {
				if _, ok := at[u]; !ok {
					at[u] = int32(len(s.ids))
					s.ids = append(s.ids, u)
				}
				b.indices = append(b.indices, at[u])
			}
			b.begin, b.ratio = append(b.begin, int64(len(b.indices))), append(b.ratio, ratio)
		}
		b.cols = len(s.ids)
		if !slices.ContainsFunc(b.ratio, func(x float32) bool { return x != 1 }) {
			b.ratio = nil
		}
		s.blocks = append(s.blocks, b)
	}
	return s
}

func (b *block) transposed() block {
	t := block{cols: b.rows(), begin: make([]int64, b.cols+1), indices: make([]int32, len(b.indices))}
	for _, c := range b.indices {
		t.begin[c+1]++
	}
	for c := range b.cols {
		t.begin[c+1] += t.begin[c]
	}
	next := slices.Clone(t.begin)
	for r := range b.rows() {
		for e := b.begin[r]; e < b.begin[r+1]; e++ {
			c := b.indices[e]
			t.indices[next[c]] = int32(r)
			next[c]++
		}
	}
	return t
}
