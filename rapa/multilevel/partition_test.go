package multilevel

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"testing"

	"capgnn/graph"
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
	blocks, _, err := graph.Blocks(3000, 6, 12, 0.8, 1)
	return map[string]*graph.CSR{
		"one vertex":   must(t)(graph.FromEdges(1, nil)),
		"no edges":     must(t)(graph.FromEdges(700, nil)),
		"star":         must(t)(graph.FromEdges(500, star)),
		"path":         must(t)(graph.FromEdges(500, path)),
		"hubs":         must(t)(graph.FromEdges(500, hubs)),
		"bipartite":    must(t)(graph.FromEdges(60, bipartite)),
		"complete":     must(t)(graph.Random(40, 780, false, 2)),
		"disconnected": must(t)(graph.FromEdges(2000, append(path[:100:100], path[300:]...))),
		"rmat":         must(t)(graph.RMAT(11, 8, 4)),
		"sparse":       must(t)(graph.Random(4000, 3000, false, 5)),
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

// TestProperties checks bounds, and that threads decide nothing.
func TestProperties(t *testing.T) {
	for name, u := range shapes(t) {
		n := u.Rows()
		for _, targets := range [][]float64{{1}, {0.5, 0.5}, {0.6, 0.3, 0.1}, even(7), even(min(n, 40)), even(min(n, 300))} {
			for _, objective := range []Objective{Cut, Volume} {
				k := len(targets)
				if k > n || n > 2000 && k > 40 {
					continue
				}
				degree := u.InDegree()
				all := []Constraint{{Bound: vertexBounds(targets, n), Hard: true},
					{Weight: degree, Bound: shareBounds(targets, degree, 1.1)}}
				for _, constraints := range [][]Constraint{all[:1], all} {
					o := Options{Parts: k, Targets: targets, Constraints: constraints, Objective: objective, Seed: 3, Effort: 2}
					var want []int32
					for _, threads := range []int{1, 2, 5} {
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
}

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
	g, block, err := graph.Blocks(20000, 8, 16, 0.8, 9)
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
	u := must(t)(graph.RMAT(14, 8, 1))
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
