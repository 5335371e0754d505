package multilevel

import (
	"slices"
	"testing"

	"capgnn/graph"
	"capgnn/graph/synth"
)

// TestCoarsen wants every level to weigh what the one before weighs, clusters within their bound and labels, and a partition to cut the
// same on each.
func TestCoarsen(t *testing.T) {
	r := random{3}
	for _, free := range []bool{true, false} {
		g := weighted(must(t)(synth.RMAT(11, 8, 4)), &r)
		g.weight = g.weight[:1]
		var within []int32
		if !free {
			for range g.n {
				within = append(within, int32(r.below(3)))
			}
		}
		total := g.total()[0]
		c := &crew{t.Context(), 2}
		levels := c.coarsen(g, within, 100, 4, 1, newTallies(2, g.n))
		if len(levels) < 3 {
			t.Fatalf("%d levels", len(levels))
		}
		for i, coarse := range levels[1:] {
			checkLevel(t, levels[i], coarse, within)
			if got := coarse.total()[0]; got != total {
				t.Errorf("level %d weighs %d, want %d", i+1, got, total)
			}
			if within != nil {
				next := make([]int32, coarse.n)
				for v, a := range levels[i].coarse {
					next[a] = within[v]
				}
				within = next
			}
		}
		last := levels[len(levels)-1]
		part := make([]int32, last.n)
		for v := range part {
			part[v] = int32(r.below(4))
		}
		cut := cutBy(last, part)
		for i := len(levels) - 2; i >= 0; i-- {
			if part = project(levels[i].coarse, part); cutBy(levels[i], part) != cut {
				t.Errorf("cut %d on level %d, %d on the last", cutBy(levels[i], part), i, cut)
			}
		}
	}
}

// checkLevel compares coarse with what fine and its labels make it.
func checkLevel(t *testing.T, fine, coarse *level, within []int32) {
	heaviestVertex := slices.Max(fine.weight[0])
	limit := int32(heaviest * float64(fine.total()[0]) / 100)
	weight, members := make([]int32, coarse.n), make([]int32, coarse.n)
	label := make(map[int32]int32)
	for v, a := range fine.coarse {
		weight[a] += fine.weight[0][v]
		members[a] += int32(fine.holds(int32(v)))
		if within == nil {
			continue
		}
		if l, ok := label[a]; ok && l != within[v] {
			t.Fatalf("cluster %d crosses labels", a)
		}
		label[a] = within[v]
	}
	if !slices.Equal(weight, coarse.weight[0]) || !slices.Equal(members, coarse.members) {
		t.Error("clusters do not weigh or hold what their vertices do")
	}
	if most := slices.Max(weight); most > max(limit, heaviestVertex) {
		t.Errorf("a cluster weighs %d, more than %d", most, limit)
	}
	for a := range int32(coarse.n) {
		adj, _ := coarse.row(a)
		if slices.Contains(adj, a) {
			t.Fatalf("cluster %d is its own neighbour", a)
		}
		sorted := slices.Clone(adj)
		if slices.Sort(sorted); len(slices.Compact(sorted)) != len(adj) {
			t.Fatalf("cluster %d has a neighbour twice", a)
		}
	}
}

// TestExtract takes one side of a graph.
func TestExtract(t *testing.T) {
	r := random{4}
	g := weighted(must(t)(synth.Random(60, 200, false, 2)), &r)
	side := make([]int32, g.n)
	for v := range side {
		side[v] = int32(r.below(2))
	}
	for want := range int32(2) {
		sub, ids := g.extract(side, want)
		for i, v := range ids {
			if side[v] != want || sub.of(1, int32(i)) != g.of(1, v) {
				t.Fatalf("vertex %d is %d: side %d, weight %d of %d", i, v, side[v], sub.of(1, int32(i)), g.of(1, v))
			}
			inside := int32(0)
			adj, edge := g.row(v)
			for j, u := range adj {
				if side[u] == want {
					inside += edge[j]
				}
			}
			if got := sub.strength(int32(i)); got != inside {
				t.Errorf("vertex %d has edges of weight %d, want %d", v, got, inside)
			}
		}
	}
}

// TestComponents finds components, the heaviest first, and changes the places of those of about equal weight.
func TestComponents(t *testing.T) {
	var edges []graph.Edge
	first, sizes := int32(0), []int32{3, 90, 80, 100, 3}
	for _, n := range sizes {
		for v := first + 1; v < first+n; v++ {
			edges = append(edges, graph.Edge{From: v - 1, To: v})
		}
		first += n
	}
	g := newLevel(must(t)(graph.FromEdges(int(first), edges)), []Constraint{{}})
	all := g.components()
	length := func(all [][]int32) (n []int) {
		for _, members := range all {
			n = append(n, len(members))
		}
		return n
	}
	if got := length(all); !slices.Equal(got, []int{100, 90, 80, 3, 3}) {
		t.Errorf("components of %d vertices", got)
	}
	r, heads := random{1}, map[int]int{}
	for range 60 {
		got := length(g.jumble(all, &r))
		heads[got[0]]++
		if crumbs := got[3:]; crumbs[0] != 3 || crumbs[1] != 3 {
			t.Fatalf("components in the order %d, want those of three last", got)
		}
	}
	if heads[100] < 10 || heads[90] < 10 || heads[80] < 5 {
		t.Errorf("first of 60 orders by size: %v", heads)
	}
}

// TestHalves divides four parts of unequal targets and bounds.
func TestHalves(t *testing.T) {
	g := newLevel(must(t)(synth.Random(100, 300, false, 2)), []Constraint{{}})
	bound := vertexBounds([]float64{0.4, 0.3, 0.2, 0.1}, 100) // 42, 31, 21, 11: 105
	a := goal{targets: []float64{0.4, 0.3, 0.2, 0.1}, lim: newLimits(4, []Constraint{{Bound: bound, Hard: true}})}
	whole := a.halves(g, 0, 2, 4)
	if share := whole.targets[0]; share < 0.699 || share > 0.701 {
		t.Errorf("the first half aims at %g", share)
	}
	// 105 of 100 in two steps: √1.05 = 1.0247 in the first.
	if got := whole.lim.bound; !slices.Equal(got, []int64{72, 32}) {
		t.Errorf("bounds %d, want 72 and 32", got)
	}
	if last := a.halves(g, 2, 3, 4).lim.bound; !slices.Equal(last, []int64{21, 11}) {
		t.Errorf("bounds %d of the last step, want all the room", last)
	}
}

// TestKept holds the drafts that are finished, and when combining goes on.
func TestKept(t *testing.T) {
	for _, tc := range []struct {
		effort    int
		objective Objective
		want      int
	}{{8, Cut, 8}, {5, Cut, 5}, {4, Cut, 1}, {3, Cut, 1}, {2, Cut, 1}, {1, Cut, 1}, {3, Volume, 3}} {
		d := &driver{o: Options{Effort: tc.effort, Objective: tc.objective}}
		if got := d.kept(); got != tc.want {
			t.Errorf("effort %d, objective %d: %d are finished, want %d", tc.effort, tc.objective, got, tc.want)
		}
	}
	for _, tc := range []struct {
		objective   Objective
		before, now int64
		i           int
		want        bool
	}{{Cut, 1000, 980, 0, true}, {Cut, 1000, 990, 0, false}, {Cut, 0, 0, 0, false}, {Volume, 1000, 1000, 0, true}, {Volume, 1000, 1000, 1, false}} {
		d := &driver{o: Options{Objective: tc.objective}}
		if got := d.pays(tc.before, tc.now, tc.i); got != tc.want {
			t.Errorf("objective %d, cycle %d from %d to %d: %t", tc.objective, tc.i, tc.before, tc.now, got)
		}
	}
}
