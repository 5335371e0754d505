package chunks

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"capgnn/graph"
)

// sweepMeans returns, for every vertex, the mean over a sweep of its loss where the message of u is x[u], messages are
// averaged over neighbours, and the loss is what arrives: what the package's contract makes of weights, and the factor of its part besides. Targets are
// all vertices.
func sweepMeans(g *graph.CSR, cut *Cut, k Correction, which Targets, x []float64) []float64 {
	n, r := g.Rows(), Rotation{cut.Chunks()}
	train, out := every(n, 1), make([]float64, n)
	for shift := 1; shift <= r.Shifts(); shift++ {
		for part := range cut.Chunks() {
			v := cut.View(g, r.Pair(part, shift))
			w := v.Weights(k, which, train)
			v.targets(which, train, func(i int) {
				loss := w.Factor * arriving(v, w, k, i, x)
				if w.Loss != nil {
					loss *= w.Loss[i]
				}
				out[v.IDs[i]] += loss / float64(r.Shifts())
			})
		}
	}
	return out
}

// arriving is the mean message of vertex i of a view, as the contract has it.
func arriving(v *View, w Weights, k Correction, i int, x []float64) float64 {
	id, sum := v.IDs[i], 0.0
	for _, u := range v.graph.Row(int(id)) {
		home := int(v.cut.Of[u])
		if u == id || home != v.Pair.Base && home != v.Pair.Added {
			continue
		}
		weight := 1 / float64(v.All[i])
		switch {
		case !k.EdgeWeights():
			weight *= float64(v.All[i]) / float64(v.Local[i])
		case v.cut.Of[u] != v.cut.Of[id]:
			weight *= w.Cross
		case w.Own != nil:
			weight *= w.Own[i]
		}
		sum += weight * x[u]
	}
	return sum
}

// fullMeans returns the mean message of every vertex in the graph, and that of the messages' magnitudes.
func fullMeans(g *graph.CSR, x []float64) (mean, size []float64) {
	mean, size = make([]float64, g.Rows()), make([]float64, g.Rows())
	for v := range g.Rows() {
		n := 0.0
		for _, u := range g.Row(v) {
			if int(u) != v {
				mean[v], size[v], n = mean[v]+x[u], size[v]+math.Abs(x[u]), n+1
			}
		}
		mean[v], size[v] = mean[v]/max(1, n), size[v]/max(1, n)
	}
	return mean, size
}

// TestSweepReproducesFullMean: over a sweep, inclusion and longrun give every vertex the mean of all its messages; the other
// corrections do not. Messages of chunk 0 are larger, so that bias shows.
func TestSweepReproducesFullMean(t *testing.T) {
	const n, c = 240, 6
	for seed := uint64(1); seed <= 3; seed++ {
		g, cut := randomGraph(t, n, 10, seed), randomCut(t, n, c, seed)
		r := rand.New(rand.NewPCG(seed, 1))
		x := make([]float64, n)
		for u := range x {
			x[u] = 1 + r.NormFloat64()
			if cut.Of[u] == 0 {
				x[u] += 5
			}
		}
		mean, _ := fullMeans(g, x)
		for _, which := range AllTargets {
			bias := map[Correction]float64{}
			for _, k := range Corrections {
				bias[k] = total(sweepMeans(g, cut, k, which, x))/total(mean) - 1
				t.Logf("seed %d, targets %s, %-10s: %+.3g of the full mean", seed, which, k, bias[k])
			}
			for _, k := range []Correction{Inclusion, LongRun} {
				checkExact(t, g, cut, k, which, x)
			}
			for k, least := range map[Correction]float64{None: 1e-3, Uniform: 0.5, Node: 0.5, Resampling: 0.9} {
				if math.Abs(bias[k]) < least {
					t.Errorf("seed %d, targets %s, %s: bias %g, expected at least %g", seed, which, k, bias[k], least)
				}
			}
		}
	}
}

func total(x []float64) (sum float64) {
	for _, v := range x {
		sum += v
	}
	return sum
}

// checkExact compares the mean over a sweep with the full mean, vertex by vertex. Rounding: a sum of at most 2c·d terms, none larger than
// (c-1)·|x|, in float64.
func checkExact(t *testing.T, g *graph.CSR, cut *Cut, k Correction, which Targets, x []float64) {
	t.Helper()
	got := sweepMeans(g, cut, k, which, x)
	want, size := fullMeans(g, x)
	for v := range want {
		if math.Abs(got[v]-want[v]) > 1e-12*max(1, size[v]) {
			t.Errorf("%s, targets %s, %d chunks, vertex %d: %.17g, want %.17g", k, which, cut.Chunks(), v, got[v], want[v])
		}
	}
}

// TestExactOnEdgeCases: isolated vertices, two chunks, a vertex per chunk, hubs, directed rings.
func TestExactOnEdgeCases(t *testing.T) {
	ring, star, none := make([]graph.Edge, 9), []graph.Edge{}, []graph.Edge{}
	for v := range graph.NodeID(9) {
		ring[v] = graph.Edge{From: v, To: (v + 1) % 9}
		star = append(star, graph.Edge{From: v, To: 0}, graph.Edge{From: 0, To: v})
	}
	x := []float64{1, -2, 3, 5, -7, 11, 13, -17, 19}
	for name, edges := range map[string][]graph.Edge{"ring": ring, "star": star, "no edge": none} {
		g, err := graph.FromEdges(9, edges)
		if err != nil {
			t.Fatal(err)
		}
		for _, c := range []int{2, 3, 8, 9} {
			t.Run(fmt.Sprint(name, " ", c), func(t *testing.T) {
				cut := randomCut(t, 9, c, 5)
				for _, which := range AllTargets {
					checkExact(t, g, cut, Inclusion, which, x)
					checkExact(t, g, cut, LongRun, which, x)
				}
			})
		}
	}
}

// TestFullCoverageIsUncorrected: where nothing is missing, no correction changes anything.
func TestFullCoverageIsUncorrected(t *testing.T) {
	g, cut := randomGraph(t, 60, 5, 4), randomCut(t, 60, 2, 4)
	v := cut.View(g, Pair{0, 1})
	for _, k := range Corrections {
		w := v.Weights(k, Base, every(60, 2))
		ones := func(x []float64) bool {
			return !slices.ContainsFunc(x, func(y float64) bool { return math.Abs(y-1) > 1e-15 })
		}
		if w.Factor != 1 || w.Cross != 1 || !ones(w.Loss) || !ones(w.Own) {
			t.Errorf("%s: %+v", k, w)
		}
		if half := v.Weights(k, Both, every(60, 2)); half.Factor != 0.5 {
			t.Errorf("%s: factor %g with both chunks' targets, want 0.5", k, half.Factor)
		}
	}
}

// TestFactorsByHand: chunks {0,1}, {2,3}, {4,5}; part 0 with chunk 1.
func TestFactorsByHand(t *testing.T) {
	g, err := graph.FromEdges(6, []graph.Edge{
		{From: 1, To: 0}, {From: 2, To: 0}, {From: 4, To: 0}, {From: 5, To: 0}, // 2 of 4 local
		{From: 4, To: 1}, {From: 5, To: 1}, // 0 of 2
		{From: 0, To: 2}, {From: 3, To: 2}, {From: 4, To: 2}, // 2 of 3
	})
	if err != nil {
		t.Fatal(err)
	}
	cut, err := New([]int32{0, 0, 1, 1, 2, 2}, 3)
	if err != nil {
		t.Fatal(err)
	}
	v, all := cut.View(g, Pair{0, 1}), every(6, 1)
	for _, tc := range []struct {
		k          Correction
		base, both float64
	}{
		{None, 1, 0.5},
		{Uniform, (0.5 + 0) / 2, (0.5 + 0 + 2.0/3 + 1) / 4 / 2},
		{Resampling, 1.0 / 2, 1.0 / 3 / 2}, // 0 misses two edges, 1 is left out, 2 misses one
		{Node, 1, 0.5},
		{Inclusion, 1, 0.5},
		{LongRun, 1, 0.5},
	} {
		if got := v.Weights(tc.k, Base, all).Factor; math.Abs(got-tc.base) > 1e-15 {
			t.Errorf("%s: factor %g, want %g", tc.k, got, tc.base)
		}
		if got := v.Weights(tc.k, Both, all).Factor; math.Abs(got-tc.both) > 1e-15 {
			t.Errorf("%s with both chunks' targets: factor %g, want %g", tc.k, got, tc.both)
		}
	}
	if got, want := v.Weights(Node, Base, all).Loss, []float64{0.5, 0, 2.0 / 3, 1}; !slices.Equal(got, want) {
		t.Errorf("node: %g, want %g", got, want)
	}
	// Vertex 0: one neighbour in its own chunk, one in chunk 1, two in chunk 2, so 2 and 3 are local by turns: harmonic mean 2/(1/2+1/3).
	// Vertex 2: 3 in its own chunk, 0 in chunk 0 and 4 in chunk 2: 2 local in both.
	if got, want := v.Weights(LongRun, Base, all).Own, []float64{2.4 / 2, 1, 1, 1}; !closeTo(got, want) {
		t.Errorf("longrun: %g, want %g", got, want)
	}
}

func closeTo(a, b []float64) bool {
	return slices.EqualFunc(a, b, func(x, y float64) bool { return math.Abs(x-y) <= 1e-15*max(1, math.Abs(y)) })
}

// FuzzSweep draws graphs, cuts and messages from bytes.
func FuzzSweep(f *testing.F) {
	f.Add([]byte{0, 1, 1, 2, 2, 0}, uint8(2), uint64(1))
	f.Add([]byte{3, 3, 3, 4, 5, 4, 4, 3}, uint8(9), uint64(2))
	f.Add([]byte{}, uint8(30), uint64(3))
	f.Fuzz(func(t *testing.T, ends []byte, chunks uint8, seed uint64) {
		const n = 12
		var edges []graph.Edge
		for i := 1; i < len(ends); i += 2 {
			edges = append(edges, graph.Edge{From: graph.NodeID(ends[i-1] % n), To: graph.NodeID(ends[i] % n)})
		}
		g, err := graph.FromEdges(n, edges)
		if err != nil {
			t.Fatal(err)
		}
		cut := randomCut(t, n, 2+int(chunks)%(n-1), seed)
		r := rand.New(rand.NewPCG(seed, 2))
		x := make([]float64, n)
		for u := range x {
			x[u] = r.NormFloat64()
		}
		for _, which := range AllTargets {
			checkExact(t, g, cut, Inclusion, which, x)
			checkExact(t, g, cut, LongRun, which, x)
		}
		for part := range cut.Chunks() {
			checkView(t, g, cut, Rotation{cut.Chunks()}.Pair(part, 1), every(n, 2))
		}
	})
}
