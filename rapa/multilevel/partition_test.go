package multilevel

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"

	"capgnn/graph"
	"capgnn/graph/synth"
	"capgnn/internal/long"
)

// must returns the graph of a generator, symmetric and without loops.
func must(t testing.TB) func(*graph.CSR, error) *graph.CSR {
	return func(g *graph.CSR, err error) *graph.CSR {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
		return g.Symmetrise().WithoutLoops()
	}
}

// shapes returns small graphs of every kind that may break a partitioner.
func shapes(t testing.TB) map[string]*graph.CSR {
	var star, path, bipartite, hubs []graph.Edge
	for v := int32(1); v < 500; v++ {
		star = append(star, graph.Edge{From: v})
		path = append(path, graph.Edge{From: v - 1, To: v})
		hubs = append(hubs, graph.Edge{From: v, To: v % 3}, graph.Edge{From: v, To: (v * 7) % 500})
	}
	for a := int32(0); a < 20; a++ {
		for b := int32(20); b < 60; b++ {
			bipartite = append(bipartite, graph.Edge{From: a, To: b})
		}
	}
	blocks, _, err := synth.Blocks(3000, 6, 12, 0.8, 1)
	return map[string]*graph.CSR{
		"one vertex":   must(t)(graph.FromEdges(1, nil)),
		"no edges":     must(t)(graph.FromEdges(700, nil)),
		"star":         must(t)(graph.FromEdges(500, star)),
		"path":         must(t)(graph.FromEdges(500, path)),
		"hubs":         must(t)(graph.FromEdges(500, hubs)),
		"bipartite":    must(t)(graph.FromEdges(60, bipartite)),
		"complete":     must(t)(synth.Random(40, 780, false, 2)),
		"disconnected": must(t)(graph.FromEdges(2000, append(path[:100:100], path[300:]...))),
		"rmat":         must(t)(synth.RMAT(11, 8, 4)),
		"sparse":       must(t)(synth.Random(4000, 3000, false, 5)),
		"blocks":       must(t)(blocks, err),
	}
}

// check counts what parts hold and compares with bounds.
func check(part []int32, n, parts int, constraints []Constraint) error {
	if len(part) != n {
		return fmt.Errorf("%d parts given for %d vertices", len(part), n)
	}
	count := make([]int, parts)
	for v, p := range part {
		if p < 0 || int(p) >= parts {
			return fmt.Errorf("vertex %d is in part %d", v, p)
		}
		count[p]++
	}
	if p := slices.Index(count, 0); p >= 0 {
		return fmt.Errorf("part %d is empty", p)
	}
	for i, c := range constraints {
		load := make([]int64, parts)
		for v, p := range part {
			if c.Weight != nil {
				load[p] += int64(c.Weight[v])
			} else {
				load[p]++
			}
		}
		for p, l := range load {
			if c.Hard && l > c.Bound[p] {
				return fmt.Errorf("constraint %d: part %d holds %d, bound %d", i, p, l, c.Bound[p])
			}
		}
	}
	return nil
}

// TestProperties checks bounds, and that threads decide nothing. Without CAPGNN_LONG=1 every shape has one objective
// for
// a third of the targets and two counts of threads; with it both, for half of the targets, by turns.
func TestProperties(t *testing.T) {
	all := shapes(t)
	for at, name := range slices.Sorted(maps.Keys(all)) {
		u := all[name]
		n := u.Rows()
		degree := u.InDegree()
		for i, targets := range [][]float64{{1}, {0.5, 0.5}, {0.6, 0.3, 0.1}, even(7), even(min(n, 40)), even(min(n, 300))} {
			k := len(targets)
			if k > n || i == 5 && n > 1000 || underRace && i > 3 {
				continue
			}
			if !underRace && (!long.Wanted() && (at+i)%3 > 0 || long.Wanted() && (uint64(at+i)+long.Turn()/2)%2 > 0) {
				continue
			}
			constraints := []Constraint{{Bound: vertexBounds(targets, n), Hard: true}}
			if i%2 == 0 {
				constraints = append(constraints, Constraint{Weight: degree, Bound: shareBounds(targets, degree, 1.1)})
			}
			kinds, counts := objectives[:min(2, 1+40/k)], threadCounts[:min(3, 1+120/k)]
			if underRace {
				kinds, counts = kinds[i%len(kinds):][:1], counts[len(counts)-1:]
			} else if !long.Wanted() {
				kinds, counts = kinds[(at+i)/3%len(kinds):][:1], counts[:min(2, len(counts))]
			}
			for _, objective := range kinds {
				o := Options{Parts: k, Targets: targets, Constraints: constraints, Objective: objective, Seed: 3, Effort: 2}
				var want []int32
				for _, threads := range counts {
					o.Threads = threads
					part, err := Partition(t.Context(), u, o)
					if err == nil {
						err = check(part, n, k, constraints)
					}
					if err == nil && want != nil && !slices.Equal(part, want) {
						err = errors.New("not what one thread gave")
					}
					if err != nil {
						t.Errorf("%s, %d parts, %d constraints, objective %d, %d threads: %v", name, k, len(constraints), objective, threads, err)
					}
					want = part
				}
			}
		}
	}
}

// objectives are tried in this order; many parts are only tried with the first.
var objectives = []Objective{Cut, Volume}

// threadCounts are tried in this order; many parts are tried with fewer of them, for time.
var threadCounts = []int{1, 5, 2}

func even(k int) []float64 {
	t := make([]float64, k)
	for p := range t {
		t[p] = 1 / float64(k)
	}
	return t
}

func shareBounds(targets []float64, weight []int32, factor float64) []int64 {
	total := int64(0)
	for _, w := range weight {
		total += int64(w)
	}
	b := make([]int64, len(targets))
	for p, x := range targets {
		b[p] = int64(factor*x*float64(total)) + 1
	}
	return b
}

// TestCommunities wants planted communities found: a perfect partitioner would give the planted cut.
func TestCommunities(t *testing.T) {
	g, block, err := synth.Blocks(5000, 8, 16, 0.8, 9)
	u := must(t)(g, err)
	c := &crew{t.Context(), 2}
	planted := c.cut(newLevel(u, nil), block)
	part, err := Partition(t.Context(), u, Options{Parts: 8, Seed: 2})
	if err != nil {
		t.Fatal(err)
	}
	if cut := c.cut(newLevel(u, nil), part); float64(cut) > 1.02*float64(planted) {
		t.Errorf("cut %d, planted %d", cut, planted)
	}
}

func TestCancel(t *testing.T) {
	u := must(t)(synth.RMAT(12, 8, 1))
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := Partition(ctx, u, Options{Parts: 4}); !errors.Is(err, context.Canceled) {
		t.Errorf("ended context gives %v", err)
	}
	ctx, cancel = context.WithCancel(t.Context())
	last, total := 0, 0
	_, err := Partition(ctx, u, Options{Parts: 4, Progress: func(d, n int) {
		if d < last || d > n || total != 0 && n != total {
			t.Errorf("progress went from %d to %d of %d", last, d, n)
		}
		if last, total = d, n; d > n/2 {
			cancel()
		}
	}})
	if !errors.Is(err, context.Canceled) {
		t.Errorf("context that ends on the way gives %v after %d of %d", err, last, total)
	}
}

// TestMemoryBounds has one unequal hard bound in weights that hubs make uneven, and one in vertices.
func TestMemoryBounds(t *testing.T) {
	u := must(t)(synth.RMAT(11, 8, 4))
	n := u.Rows()
	weight := u.InDegree()
	total := int64(0)
	for v := range weight {
		weight[v] += 3
		total += int64(weight[v])
	}
	constraints := []Constraint{
		{Bound: vertexBounds([]float64{0.5, 0.25, 0.25}, n), Hard: true},
		{Weight: weight, Bound: []int64{total * 40 / 100, total * 50 / 100, total * 20 / 100}, Hard: true},
	}
	part, err := Partition(t.Context(), u, Options{Parts: 3, Targets: []float64{0.5, 0.25, 0.25}, Constraints: constraints, Seed: 1})
	if err == nil {
		err = check(part, n, 3, constraints)
	}
	if err != nil {
		t.Error(err)
	}
	constraints[1].Bound = []int64{total / 4, total / 4, total / 4}
	if _, err := Partition(t.Context(), u, Options{Parts: 3, Constraints: constraints}); err == nil {
		t.Error("bounds below the total are taken")
	}
	hub := &graph.CSR{Indptr: []int64{0, 0, 0, 0}, Cols: 3}
	heavy := []Constraint{{Weight: []int32{9, 1, 1}, Bound: []int64{6, 6}, Hard: true}}
	var bound *BoundError
	if _, err := Partition(t.Context(), hub, Options{Parts: 2, Constraints: heavy}); !errors.As(err, &bound) {
		t.Errorf("a vertex heavier than every bound gives %v", err)
	}
}

// TestWithoutTable takes more parts than a table is made for.
func TestWithoutTable(t *testing.T) {
	if underRace {
		t.Skip("300 parts take minutes")
	}
	g, _, err := synth.Blocks(14000, 300, 6, 0.9, 1)
	u := must(t)(g, err)
	o := Options{Parts: 300, Seed: 1}
	part, err := Partition(t.Context(), u, o)
	if err == nil {
		err = check(part, u.Rows(), 300, []Constraint{{Bound: vertexBounds(even(300), u.Rows()), Hard: true}})
	}
	if err != nil {
		t.Fatal(err)
	}
	c := &crew{t.Context(), 2}
	l := newLevel(u, nil)
	if s := c.newState(l, newLimits(300, nil), part); int64(s.g.n)*300 <= max(tableFloor, l.edges()) {
		t.Fatal("the graph is too small for this test")
	}
	if cut := c.cut(l, part); cut*4 > l.edges()/2 {
		t.Errorf("cut %d of %d pairs", cut, l.edges()/2)
	}
	other, err := Partition(t.Context(), u, Options{Parts: 300, Seed: 1, Threads: 5})
	if err != nil || !slices.Equal(part, other) {
		t.Errorf("five threads give other parts, error %v", err)
	}
}

// FuzzPartition makes small graphs, targets and bounds of any kind.
func FuzzPartition(f *testing.F) {
	f.Add([]byte{1, 2, 3, 4, 5, 6, 7, 8}, uint8(3), uint8(20), uint64(1))
	f.Add([]byte("two hubs and a tail \x00\x01\x00\x02\x00\x03\x00\x04"), uint8(7), uint8(5), uint64(9))
	f.Fuzz(func(t *testing.T, edges []byte, parts, vertices uint8, seed uint64) {
		n := int(vertices) + 1
		k := int(parts)%n + 1
		var list []graph.Edge
		for i := 0; i+1 < len(edges); i += 2 {
			list = append(list, graph.Edge{From: int32(edges[i]) % int32(n), To: int32(edges[i+1]) % int32(n)})
		}
		u := must(t)(graph.FromEdges(n, list))
		targets := even(k)
		if seed%2 == 1 {
			sum := 0.0
			for p := range targets {
				targets[p] = float64(1 + mix(seed+uint64(p))%9)
				sum += targets[p]
			}
			for p := range targets {
				targets[p] /= sum
			}
		}
		constraints := []Constraint{{Bound: vertexBounds(targets, n), Hard: true}}
		if seed%3 == 1 {
			constraints = append(constraints, Constraint{Weight: u.InDegree(), Bound: shareBounds(targets, u.InDegree(), 1.1)})
		}
		o := Options{Parts: k, Targets: targets, Constraints: constraints, Seed: seed, Objective: Objective(seed / 7 % 2), Effort: 2, Threads: 1}
		part, err := Partition(t.Context(), u, o)
		if err == nil {
			err = check(part, n, k, constraints)
		}
		if err != nil {
			t.Fatal(err)
		}
		o.Threads = 3
		if again, err := Partition(t.Context(), u, o); err != nil || !slices.Equal(again, part) {
			t.Fatalf("three threads: %v, error %v", again, err)
		}
	})
}

func TestOptionErrors(t *testing.T) {
	u := must(t)(synth.Random(10, 20, false, 1))
	bound := func(b ...int64) []Constraint { return []Constraint{{Bound: b, Hard: true}} }
	for name, tc := range map[string]struct {
		opt  Options
		want string
	}{
		"no parts":        {Options{}, "0 parts"},
		"more than n":     {Options{Parts: 11}, "11 parts of 10 vertices"},
		"target count":    {Options{Parts: 2, Targets: []float64{1}}, "1 targets"},
		"target zero":     {Options{Parts: 2, Targets: []float64{1, 0}}, "target 0 of part 1"},
		"bounds":          {Options{Parts: 2, Constraints: bound(5)}, "1 bounds for 2 parts"},
		"negative bound":  {Options{Parts: 2, Constraints: bound(-1, 20)}, "bound -1"},
		"too little room": {Options{Parts: 2, Constraints: bound(4, 5)}, "the vertices weigh 10"},
		"weights":         {Options{Parts: 1, Constraints: []Constraint{{Weight: []int32{1}, Bound: []int64{1}}}}, "1 weights for 10"},
		"negative weight": {Options{Parts: 1, Constraints: []Constraint{{Weight: make([]int32, 10), Bound: []int64{1}}, {Weight: []int32{9: -1}, Bound: []int64{1}}}}, "weight -1 of vertex 9"},
		"objective":       {Options{Parts: 2, Objective: 2}, "objective 2"},
		"effort":          {Options{Parts: 2, Effort: -1}, "effort -1"},
		"largest effort":  {Options{Parts: 2, MaxEffort: -1}, "at most -1"},
	} {
		if _, err := Partition(t.Context(), u, tc.opt); err == nil || !strings.Contains(err.Error(), tc.want) {
			t.Errorf("%s: error %v, want one that says %q", name, err, tc.want)
		}
	}
}
