package chunks

import (
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"capgnn/graph"
)

// random returns a directed graph with loops, vertices without neighbours and a hub, and a cut of it.
func random(t *testing.T, seed uint64, n, chunks int, density float64) (*graph.CSR, *Cut) {
	t.Helper()
	r := rand.New(rand.NewPCG(seed, 1))
	var edges []graph.Edge
	for v := range n {
		p := density
		switch {
		case v%7 == 3:
			continue
		case v == 0:
			p = 0.9
		}
		for u := range n {
			if r.Float64() < p {
				edges = append(edges, graph.Edge{From: graph.NodeID(u), To: graph.NodeID(v)})
			}
		}
	}
	g, err := graph.FromEdges(n, edges)
	if err != nil {
		t.Fatal(err)
	}
	of := make([]int32, n)
	for v, k := range r.Perm(n) {
		of[v] = int32(k % chunks)
	}
	cut, err := New(of, chunks)
	if err != nil {
		t.Fatal(err)
	}
	return g, cut
}

// estimates returns, by vertex, what a correction makes of the sum of messages over neighbours, as the mean of a sweep: over the parts of which the vertex is
// a target. Vertices without a neighbour are NaN.
func estimates(g *graph.CSR, cut *Cut, k Correction, t Targets, message []float64) []float64 {
	n, turn := g.Rows(), Rotation{cut.Chunks()}
	train := slices.Repeat([]bool{true}, n)
	sum, times := make([]float64, n), make([]float64, n)
	for shift := 1; shift <= turn.Shifts(); shift++ {
		for part := range cut.Chunks() {
			v := cut.View(g, turn.Pair(part, shift))
			w := v.Weights(k, t, train)
			v.targets(t, train, func(i int) {
				times[v.IDs[i]]++
				share := estimate(v, w, k, i, message)
				if k == Uniform {
					share *= w.Factor
					if t == Both { // whose ½ is in the mean
						share *= 2
					}
				}
				sum[v.IDs[i]] += share
			})
		}
	}
	for i := range sum {
		sum[i] /= times[i]
		if !slices.ContainsFunc(g.Row(i), func(u graph.NodeID) bool { return u != graph.NodeID(i) }) {
			sum[i] = math.NaN()
		}
	}
	return sum
}

// estimate is what row i of a view makes of the sum of messages, by the contract of the package, times the weight of its loss.
func estimate(v *View, w Weights, k Correction, i int, message []float64) float64 {
	id, sum := v.IDs[i], 0.0
	home := v.cut.Of[id]
	for _, u := range v.graph.Row(int(id)) {
		c := v.cut.Of[u]
		if u == id || int(c) != v.Pair.Base && int(c) != v.Pair.Added {
			continue
		}
		weight := w.Cross
		if c == home {
			weight = 1
			if w.Own != nil {
				weight = w.Own[i]
			}
		}
		sum += weight * message[u]
	}
	if !k.EdgeWeights() && v.Local[i] > 0 {
		sum *= float64(v.All[i]) / float64(v.Local[i])
	}
	if w.Loss != nil {
		sum *= w.Loss[i]
	}
	return sum
}

// worst returns the largest error of estimates of sums, relative to the sum of the messages' sizes.
func worst(g *graph.CSR, got, message []float64) float64 {
	worst := 0.0
	for v, x := range got {
		want, size := 0.0, 0.0
		for _, u := range g.Row(v) {
			if int(u) != v {
				want += message[u]
				size += math.Abs(message[u])
			}
		}
		if !math.IsNaN(x) {
			worst = max(worst, math.Abs(x-want)/size)
		}
	}
	return worst
}

// Inclusion and long-run weights give the sum over all neighbours as the mean of a sweep. Without them, and with factors of parts or losses, it is
// off by far, unless every part holds the whole graph.
func TestSweepsReproduceSums(t *testing.T) {
	for _, c := range []struct {
		name      string
		n, chunks int
		density   float64
	}{{"few", 60, 3, 0.2}, {"many", 80, 9, 0.1}, {"one vertex each", 12, 12, 0.4}, {"whole", 40, 2, 0.2}} {
		for _, targets := range AllTargets {
			for seed := range uint64(4) {
				g, cut := random(t, seed, c.n, c.chunks, c.density)
				r := rand.New(rand.NewPCG(seed, 2))
				message := make([]float64, c.n)
				for i := range message {
					message[i] = r.NormFloat64()
				}
				for _, k := range Corrections {
					off := worst(g, estimates(g, cut, k, targets, message), message)
					t.Logf("%s, %s, %s: off by %.2g", c.name, targets, k, off)
					if exact := k.EdgeWeights() || c.chunks == 2; exact && off > 1e-12 || !exact && off < 0.05 {
						t.Errorf("%s, %s, seed %d, %s: off by %g", c.name, targets, seed, k, off)
					}
				}
			}
		}
	}
}

// Views count what loops over all edges count.
func TestViewsCount(t *testing.T) {
	for seed := range uint64(3) {
		g, cut := random(t, seed, 50, 5, 0.15)
		train := make([]bool, 50)
		for v := range train {
			train[v] = v%2 == 0
		}
		for shift := 1; shift < 5; shift++ {
			var parts []Coverage
			targets, ratio := 0, 0.0
			for part := range 5 {
				v := cut.View(g, Rotation{5}.Pair(part, shift))
				parts = append(parts, v.Coverage(Base, train))
				if n := len(cut.Members[part]); v.Own != n || len(v.IDs) != n+len(cut.Members[v.Pair.Added]) {
					t.Fatalf("part %d has %d of %d vertices", part, v.Own, len(v.IDs))
				}
				for i, id := range v.IDs {
					all, local := int32(0), int32(0)
					for _, u := range g.Row(int(id)) {
						if u != id {
							all++
							if slices.Contains(v.IDs, u) {
								local++
							}
						}
					}
					if v.All[i] != all || v.Local[i] != local {
						t.Errorf("vertex %d has %d of %d neighbours, want %d of %d", id, v.Local[i], v.All[i], local, all)
					}
					if i < v.Own && train[id] {
						targets++
						ratio += v.Ratio(i)
					}
				}
			}
			if all := Total(parts); all.Targets != targets || math.Abs(all.Ratio-ratio/float64(targets)) > 1e-12 || all.Kept > all.All || all.All == 0 {
				t.Errorf("coverage %+v, want %d targets and %g", all, targets, ratio/float64(targets))
			}
		}
	}
}

// path is the graph u → u+1 of n vertices, each a chunk.
func path(t *testing.T, n int) (*graph.CSR, *Cut) {
	t.Helper()
	var edges []graph.Edge
	of := make([]int32, n)
	for v := range n {
		of[v] = int32(v)
		if v > 0 {
			edges = append(edges, graph.Edge{From: graph.NodeID(v - 1), To: graph.NodeID(v)})
		}
	}
	g, err := graph.FromEdges(n, edges)
	if err != nil {
		t.Fatal(err)
	}
	cut, err := New(of, n)
	if err != nil {
		t.Fatal(err)
	}
	return g, cut
}

// What the paper's formulas leave undefined: vertices without neighbours, targets that see none, parts without targets, parts that miss nothing.
func TestEdgesOfFormulas(t *testing.T) {
	g, cut := path(t, 4)
	all, none := []bool{true, true, true, true}, make([]bool, 4)
	sees := cut.View(g, Pair{Base: 1, Added: 0})
	blind := cut.View(g, Pair{Base: 1, Added: 2})
	root := cut.View(g, Pair{Base: 0, Added: 3})
	for _, c := range []struct {
		name    string
		v       *View
		k       Correction
		targets Targets
		train   []bool
		want    float64
	}{
		{"all is seen", sees, Uniform, Base, all, 1},
		{"all is seen", sees, Resampling, Base, all, 1},
		{"nothing is seen", blind, Uniform, Base, all, 0},
		{"nothing is seen", blind, Resampling, Base, all, 1},
		{"no neighbours", root, Uniform, Base, all, 1},
		{"no targets", blind, Uniform, Base, none, 1},
		{"no targets", blind, Resampling, Both, none, 0.5},
		{"both", blind, Uniform, Both, all, 0.25},
		{"both", blind, None, Both, all, 0.5},
	} {
		if got := c.v.Weights(c.k, c.targets, c.train).Factor; got != c.want {
			t.Errorf("%s, %s: factor %g, want %g", c.name, c.k, got, c.want)
		}
	}
	if c := blind.Coverage(Base, all); c != (Coverage{Targets: 1, All: 1, Alone: 1}) {
		t.Errorf("coverage of one that sees nothing: %+v", c)
	}
	if c := root.Coverage(Base, none); c != (Coverage{Ratio: 1}) {
		t.Errorf("coverage without targets: %+v", c)
	}
	if c := Total(nil); c != (Coverage{Ratio: 1}) {
		t.Errorf("coverage without parts: %+v", c)
	}
}

// Eq. 12 counts the edges that targets miss, of those that see some.
func TestResamplingCountsMissingEdges(t *testing.T) {
	g, err := graph.FromEdges(5, []graph.Edge{{From: 1, To: 0}, {From: 2, To: 0}, {From: 3, To: 0}, {From: 0, To: 0}, {From: 4, To: 1}})
	if err != nil {
		t.Fatal(err)
	}
	cut, err := New([]int32{0, 0, 1, 2, 2}, 3)
	if err != nil {
		t.Fatal(err)
	}
	v := cut.View(g, Pair{Base: 0, Added: 1})
	if got := v.Weights(Resampling, Base, []bool{true, false, false, false, false}).Factor; got != 1 {
		t.Errorf("one edge is missing: factor %g", got)
	}
	v = cut.View(g, Pair{Base: 0, Added: 2})
	if w := v.Weights(Node, Base, nil).Loss; !slices.Equal(w, []float64{2. / 3, 1, 1, 1}) {
		t.Errorf("loss weights %v", w)
	}
}
