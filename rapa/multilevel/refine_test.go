package multilevel

import (
	"fmt"
	"slices"
	"testing"

	"capgnn/graph"
	"capgnn/graph/synth"
)

// weighted returns a level of u in which vertices and edges have random weights, the same in both directions of an edge, and each
// vertex a second weight.
func weighted(u *graph.CSR, r *random) *level {
	g := newLevel(u, []Constraint{{}, {}})
	edge := make([]int32, u.Edges())
	for v := range u.Rows() {
		for i, w := range u.Row(v) {
			edge[u.Indptr[v]+int64(i)] = int32(mix(uint64(min(v, int(w)))<<32|uint64(max(v, int(w))))%9) + 1
		}
	}
	g.edge = [][]int32{edge}
	for c := range g.weight {
		g.weight[c] = make([]int32, g.n)
		for v := range g.weight[c] {
			g.weight[c][v] = int32(r.below(4 + 3*c))
		}
	}
	return g
}

// cutBy counts the weight of the edges of g between parts by definition.
func cutBy(g *level, part []int32) int64 {
	sum := int64(0)
	for v := range int32(g.n) {
		adj, edge := g.row(v)
		for i, u := range adj {
			if part[u] != part[v] {
				if edge == nil {
					sum++
				} else {
					sum += int64(edge[i])
				}
			}
		}
	}
	return sum / 2
}

// consistent compares loads, counts, table and border of s with those counted by definition.
func consistent(s *state) error {
	load, count := make([]int64, len(s.load)), make([]int32, s.k)
	for v := range int32(s.g.n) {
		count[s.part[v]]++
		for c := range s.lim.kinds {
			load[int(s.part[v])*s.lim.kinds+c] += s.g.of(c, v)
		}
		near := make([]int32, s.k)
		s.scan(v, near)
		if got := s.near[int(v)*s.k : (int(v)+1)*s.k]; !slices.Equal(got, near) {
			return fmt.Errorf("row %d of the table is %d, want %d", v, got, near)
		}
		if s.border[v] == 0 && near[s.part[v]] != s.g.strength(v) {
			return fmt.Errorf("vertex %d lies at a border and is not marked", v)
		}
	}
	if !slices.Equal(load, s.load) || !slices.Equal(count, s.count) {
		return fmt.Errorf("loads %d, counts %d, want %d, %d", s.load, s.count, load, count)
	}
	return nil
}

// refiners are the ways to improve a partition; what they return is by how much the cut fell.
var refiners = map[string]func(c *crew, s *state, f *climber) int64{
	"climb":  func(c *crew, s *state, f *climber) int64 { return f.climb(c, s, thorough, 3) },
	"quick":  func(c *crew, s *state, f *climber) int64 { return f.climb(c, s, quick(s.g.n), 3) },
	"prices": func(c *crew, s *state, f *climber) int64 { return f.searchPastBounds(c, s, 3) },
	"sweep":  func(c *crew, s *state, f *climber) int64 { return new(sweeper).sweep(c, s, f) },
}

// TestRefiners runs every refiner on graphs with and without weights, where bounds are wide, tight and exceeded: what it says the cut
// fell by is what it fell by, the excess is not higher than before, and the state agrees with its partition. Started from random
// parts, each halves at least a quarter of what is to be had.
func TestRefiners(t *testing.T) {
	blocks, _, err := synth.Blocks(600, 6, 10, 0.85, 1)
	u := must(t)(blocks, err)
	for name, refine := range refiners {
		for _, k := range []int{2, 6} {
			for _, slack := range []float64{0.95, 1.03, 1.5} {
				for _, plain := range []bool{true, false} {
					t.Run(fmt.Sprintf("%s/%d parts, slack %g, plain %t", name, k, slack, plain), func(t *testing.T) {
						testRefiner(t, u, k, slack, plain, refine)
					})
				}
			}
		}
	}
}

func testRefiner(t *testing.T, u *graph.CSR, k int, slack float64, plain bool, refine func(*crew, *state, *climber) int64) {
	r := random{uint64(k)}
	g := newLevel(u, []Constraint{{}})
	if !plain {
		g = weighted(u, &r)
	}
	var constraints []Constraint
	for c, total := range g.total() {
		x := Constraint{Hard: c == 0}
		for range k {
			x.Bound = append(x.Bound, int64(slack*float64(total)/float64(k)))
		}
		constraints = append(constraints, x)
	}
	part := make([]int32, g.n)
	for v := range part {
		part[v] = int32(r.below(k))
	}
	c, f := &crew{t.Context(), 1}, &climber{}
	s := c.newState(g, newLimits(k, constraints), part)
	c.tabulate(s, nil, &f.table)
	before, over := cutBy(g, s.part), s.over()
	fell := refine(c, s, f)
	after := cutBy(g, s.part)
	if fell != before-after {
		t.Errorf("the cut falls from %d to %d, said by %d", before, after, fell)
	}
	if s.over() > over {
		t.Errorf("the excess rises from %g to %g", over, s.over())
	}
	for range 3 { // from where it ended, where little is to be had: what is worse is undone
		from := cutBy(g, s.part)
		if fell := refine(c, s, f); fell != from-cutBy(g, s.part) {
			t.Errorf("again the cut goes from %d to %d, said to fall by %d", from, cutBy(g, s.part), fell)
		}
	}
	if err := consistent(s); err != nil {
		t.Error(err)
	}
	if most := 0.8; slack > 1 && float64(after) > most*float64(before) {
		t.Errorf("cut %d of %d, want at most %g of it", after, before, most)
	}
}

// TestRebalance has parts that are far too full: they keep their bounds afterwards, and nothing moves where all did before.
func TestRebalance(t *testing.T) {
	u := must(t)(synth.RMAT(9, 6, 2))
	c, f := &crew{t.Context(), 1}, &climber{}
	for _, k := range []int{2, 5} {
		bound := vertexBounds(even(k), u.Rows())
		s := c.newState(newLevel(u, []Constraint{{}}), newLimits(k, []Constraint{{Bound: bound, Hard: true}}), make([]int32, u.Rows()))
		c.tabulate(s, nil, &f.table)
		f.rebalance(c, s)
		if err := s.violation(); err != nil {
			t.Errorf("%d parts: %v", k, err)
		}
		if err := consistent(s); err != nil {
			t.Errorf("%d parts: %v", k, err)
		}
		kept := slices.Clone(s.part)
		if f.rebalance(c, s); !slices.Equal(kept, s.part) {
			t.Errorf("%d parts: vertices move although every bound is kept", k)
		}
	}
}

// TestRebalanceTakesLooseEnds has a path of which one part holds a vertex too many at either end, one of them heavier joined: the lighter
// joined one goes.
func TestRebalanceTakesLooseEnds(t *testing.T) {
	u := must(t)(graph.FromEdges(6, []graph.Edge{{From: 0, To: 1}, {From: 1, To: 2}, {From: 2, To: 3}, {From: 3, To: 0}, {From: 3, To: 4}, {From: 4, To: 5}}))
	c, f := &crew{t.Context(), 1}, &climber{}
	s := c.newState(newLevel(u, []Constraint{{}}), newLimits(2, []Constraint{{Bound: []int64{4, 4}, Hard: true}}), []int32{0, 0, 0, 0, 0, 1})
	c.tabulate(s, nil, &f.table)
	if f.rebalance(c, s); !slices.Equal(s.part, []int32{0, 0, 0, 0, 1, 1}) {
		t.Errorf("parts %d, want the vertex beside the other part gone", s.part)
	}
}

// TestAllowed moves between two parts with a hard and a soft bound.
func TestAllowed(t *testing.T) {
	u := must(t)(graph.FromEdges(5, []graph.Edge{{From: 0, To: 1}, {From: 1, To: 2}, {From: 2, To: 3}, {From: 3, To: 4}}))
	g := newLevel(u, []Constraint{{}, {Weight: []int32{1, 5, 1, 1, 1}}})
	for _, tc := range []struct {
		name       string
		hard, soft []int64
		part       []int32
		v          int32
		want       bool
	}{
		{"room under both", []int64{4, 4}, []int64{9, 9}, []int32{0, 0, 0, 1, 1}, 0, true},
		{"no room under the hard one", []int64{4, 2}, []int64{9, 9}, []int32{0, 0, 0, 1, 1}, 0, false},
		{"no room under the soft one", []int64{4, 4}, []int64{9, 6}, []int32{0, 0, 0, 1, 1}, 1, false},
		{"soft excess goes where it is as high", []int64{4, 4}, []int64{2, 2}, []int32{0, 0, 0, 1, 1}, 1, true},
		{"hard excess falls", []int64{2, 3}, []int64{9, 9}, []int32{0, 0, 0, 1, 1}, 0, true},
		{"hard excess goes elsewhere", []int64{2, 2}, []int64{9, 9}, []int32{0, 0, 0, 1, 1}, 0, false},
		{"the last of its part", []int64{4, 5}, []int64{9, 9}, []int32{0, 1, 1, 1, 1}, 0, false},
	} {
		lim := newLimits(2, []Constraint{{Bound: tc.hard, Hard: true}, {Bound: tc.soft}})
		s := (&crew{t.Context(), 1}).newState(g, lim, tc.part)
		if got := s.allowed(tc.v, 1-tc.part[tc.v]); got != tc.want {
			t.Errorf("%s: %t, want %t", tc.name, got, tc.want)
		}
	}
}

// TestPrices wants excess over a bound to cost what the cheapest vertices of a part lose by leaving it.
func TestPrices(t *testing.T) {
	// Part 0 is a clique of four with a tail of two, part 1 a pair.
	edges := []graph.Edge{{From: 3, To: 4}, {From: 4, To: 5}, {From: 5, To: 6}, {From: 6, To: 7}}
	for v := range int32(4) {
		for w := range v {
			edges = append(edges, graph.Edge{From: v, To: w})
		}
	}
	u := must(t)(graph.FromEdges(8, edges))
	c, f := &crew{t.Context(), 1}, &climber{}
	s := c.newState(newLevel(u, []Constraint{{}}), newLimits(2, []Constraint{{Bound: []int64{5, 3}, Hard: true}}), []int32{0, 0, 0, 0, 0, 0, 1, 1})
	c.tabulate(s, nil, &f.table)
	x := &f.prices
	x.appraise(s, 1)
	// One vertex must leave: 4, which loses 2. The next of the clique loses 3; 5 lies at the border and does not count.
	if next := lossRates[lossBucket(3)]; x.rate[0] != next {
		t.Errorf("rate %g of the part that is too full, want %g", x.rate[0], next)
	}
	if got := x.leave(s, 0); got != x.rate[0] {
		t.Errorf("leaving the full part saves %g, want %g", got, x.rate[0])
	}
	if x.leave(s, 7) != 0 || x.enter(s, 0, 1) != 0 {
		t.Errorf("leaving a part with room saves %g, going there costs %g", x.leave(s, 7), x.enter(s, 0, 1))
	}
	x.appraise(s, 0.5)
	if half := lossRates[lossBucket(3)] / 2; x.leave(s, 0) != half {
		t.Errorf("at half the price leaving saves %g, want %g", x.leave(s, 0), half)
	}
	s.move(5, 1)
	if x.moved(s, 0, 1); x.rate[0] != lossRates[lossBucket(2)]/2 {
		t.Errorf("rate %g of a part that holds what it may, want that of the first to leave", x.rate[0])
	}
	if x.enter(s, 4, 1) == 0 || x.enter(s, 7, 0) == 0 {
		t.Errorf("going to full parts costs %g and %g", x.enter(s, 4, 1), x.enter(s, 7, 0))
	}
}
