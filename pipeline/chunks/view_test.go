package chunks

import (
	"math/rand/v2"
	"slices"
	"testing"

	"capgnn/graph"
)

// randomGraph returns a directed graph in which some vertices have loops and some no neighbour.
func randomGraph(t testing.TB, n, degree int, seed uint64) *graph.CSR {
	r := rand.New(rand.NewPCG(seed, 7))
	var edges []graph.Edge
	for v := range n {
		if v%11 == 3 {
			continue
		}
		for range degree {
			edges = append(edges, graph.Edge{From: graph.NodeID(r.IntN(n)), To: graph.NodeID(v)})
		}
		if v%5 == 0 {
			edges = append(edges, graph.Edge{From: graph.NodeID(v), To: graph.NodeID(v)})
		}
	}
	g, err := graph.FromEdges(n, edges)
	if err != nil {
		t.Fatal(err)
	}
	return g
}

// randomCut returns a cut into chunks whose sizes differ by one at most.
func randomCut(t testing.TB, n, chunks int, seed uint64) *Cut {
	of := make([]int32, n)
	for i, v := range rand.New(rand.NewPCG(seed, 9)).Perm(n) {
		of[v] = int32(i % chunks)
	}
	c, err := New(of, chunks)
	if err != nil {
		t.Fatal(err)
	}
	return c
}

// every marks one vertex in k.
func every(n, k int) []bool {
	train := make([]bool, n)
	for v := 0; v < n; v += k {
		train[v] = true
	}
	return train
}

// The graph of a view has the edges among two chunks, loops too; Between counts them.
func TestViewGraph(t *testing.T) {
	for _, c := range []int{2, 3, 7} {
		g, cut := randomGraph(t, 200, 6, uint64(c)), randomCut(t, 200, c, 2)
		between := cut.Between(g)
		for a := range c {
			for b := range c {
				if a == b {
					continue
				}
				got := cut.View(g, Pair{a, b}).Graph()
				if err := got.Validate(); err != nil {
					t.Fatal(err)
				}
				if want := between[a][a] + between[a][b] + between[b][a] + between[b][b]; got.Edges() != want {
					t.Errorf("%d chunks, pair %d, %d: %d edges, want %d", c, a, b, got.Edges(), want)
				}
				for v := range 200 {
					var want []graph.NodeID
					for _, u := range g.Row(v) {
						if in := func(x int) bool { return int(cut.Of[x]) == a || int(cut.Of[x]) == b }; in(v) && in(int(u)) {
							want = append(want, u)
						}
					}
					if !slices.Equal(got.Row(v), want) {
						t.Fatalf("%d chunks, pair %d, %d: row %d is %d, want %d", c, a, b, v, got.Row(v), want)
					}
				}
			}
		}
	}
}

func TestViewCounts(t *testing.T) {
	n := 3 * rowBlock / 2 // rows of two blocks
	g, cut := randomGraph(t, n, 4, 1), randomCut(t, n, 2, 1)
	checkView(t, g, cut, Pair{1, 0}, every(n, 3))
	for _, c := range []int{3, 7, 40} {
		g, cut := randomGraph(t, 40, 6, uint64(c)), randomCut(t, 40, c, 2)
		for part := range c {
			checkView(t, g, cut, Rotation{c}.Pair(part, 1+part%(c-1)), every(40, 2))
		}
	}
}

// checkView compares a view, and its coverage, with membership tests of every edge.
func checkView(t *testing.T, g *graph.CSR, cut *Cut, p Pair, train []bool) {
	t.Helper()
	v := cut.View(g, p)
	if !slices.Equal(v.IDs, slices.Concat(cut.Members[p.Base], cut.Members[p.Added])) || v.Own != len(cut.Members[p.Base]) {
		t.Fatalf("pair %+v: %d vertices, %d own", p, len(v.IDs), v.Own)
	}
	want := map[Targets]*Coverage{Base: {}, Both: {}}
	sum := map[Targets]float64{}
	for i, id := range v.IDs {
		local, all := 0, 0
		for _, u := range g.Row(int(id)) {
			if u != id {
				all++
				if slices.Contains(v.IDs, u) {
					local++
				}
			}
		}
		if int(v.Local[i]) != local || int(v.All[i]) != all {
			t.Fatalf("pair %+v, vertex %d: degrees %d of %d, want %d of %d", p, id, v.Local[i], v.All[i], local, all)
		}
		for _, which := range AllTargets {
			if !train[id] || which == Base && int(cut.Of[id]) != p.Base {
				continue
			}
			c := want[which]
			c.Targets, c.Kept, c.All = c.Targets+1, c.Kept+int64(local), c.All+int64(all)
			switch {
			case all == 0:
				sum[which]++
			case local == 0:
				c.Alone++
			default:
				sum[which] += float64(local) / float64(all)
			}
		}
	}
	for which, c := range want {
		c.Ratio = 1
		if c.Targets > 0 {
			c.Ratio = sum[which] / float64(c.Targets)
		}
		if got := v.Coverage(which, train); got != *c {
			t.Errorf("pair %+v, targets %s: %+v, want %+v", p, which, got, *c)
		}
	}
}

// TestTwoChunksSeeAll: with two chunks both parts hold the whole graph.
func TestTwoChunksSeeAll(t *testing.T) {
	g, cut := randomGraph(t, 50, 5, 3), randomCut(t, 50, 2, 3)
	for part := range 2 {
		v := cut.View(g, Rotation{2}.Pair(part, 1))
		if c := v.Coverage(Both, every(50, 1)); c.Ratio != 1 || c.Kept != c.All || c.Alone != 0 || c.Targets != 50 {
			t.Errorf("part %d: %+v", part, c)
		}
	}
}

func TestTotalWeighsByTargets(t *testing.T) {
	got := Total([]Coverage{{Targets: 3, Ratio: 0.5, Kept: 2, All: 4, Alone: 1}, {Ratio: 1}, {Targets: 1, Ratio: 0.1, Kept: 1, All: 10}})
	if want := (Coverage{Targets: 4, Ratio: 0.4, Kept: 3, All: 14, Alone: 1}); got != want {
		t.Errorf("%+v, want %+v", got, want)
	}
	if got := Total(nil); got != (Coverage{Ratio: 1}) {
		t.Errorf("of nothing: %+v", got)
	}
}
