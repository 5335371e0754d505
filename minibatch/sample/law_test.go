package sample

import (
	"fmt"
	"math"
	"slices"
	"testing"

	"capgnn/gpu"
	"capgnn/graph"
)

const steps = 10_000

// chance returns the probability that a χ² variable of this many degrees of freedom exceeds x (Wilson and Hilferty, 1931).
func chance(x float64, freedom int) float64 {
	f := 2 / (9 * float64(freedom))
	z := (math.Cbrt(x/float64(freedom)) - (1 - f)) / math.Sqrt(f)
	return math.Erfc(z/math.Sqrt2) / 2
}

// likely fails where counts are less, or more, alike than one law in a thousand would have them.
func likely(t *testing.T, what string, x float64, freedom int) {
	t.Helper()
	if p := chance(x, freedom); p < 0.001 || p > 0.999 {
		t.Errorf("%s: χ² %.1f of %d degrees of freedom, p = %.5f", what, x, freedom, p)
	}
}

// uneven returns χ² of counts that should be equal.
func uneven(counts []int) float64 {
	total := 0
	for _, c := range counts {
		total += c
	}
	want, x := float64(total)/float64(len(counts)), 0.0
	for _, c := range counts {
		x += (float64(c) - want) * (float64(c) - want) / want
	}
	return x
}

// TestInclusion draws vertices of many degrees and counts how often each neighbour is kept. With k of n without replacement a
// count has variance T·k/n·(1-k/n), and the counts add up to T·k: χ² of equal counts is then scaled by (1-k/n)·n/(n-1).
func TestInclusion(t *testing.T) {
	if testing.Short() {
		t.Skip("10,000 steps take long, and say nothing of races")
	}
	degrees := []int{2, 3, 5, 16, 31, 40, 63, 64, 65, 100, 129, 511, 512, 513, 700}
	var edges []graph.Edge
	roots := make([]graph.NodeID, len(degrees))
	for v, n := range degrees {
		roots[v] = graph.NodeID(v)
		for u := range n {
			edges = append(edges, graph.Edge{From: graph.NodeID(u), To: graph.NodeID(v)})
		}
	}
	g, err := graph.FromEdges(700, edges)
	if err != nil {
		t.Fatal(err)
	}
	for _, k := range []int{1, 2, 10, 25, 32, 33, 60, 300, 511, 600} {
		for _, loops := range []graph.Loops{graph.LoopsKept, graph.LoopsRemoved} {
			s := New(Topology{Graph: g, Loops: loops}, Rules{Seed: 4, Fanout: []int{k}})
			var st Stack
			counts := make([][]int, len(degrees))
			for v := range counts {
				counts[v] = make([]int, g.Rows())
			}
			span := steps
			if k > 100 {
				span = steps / 10
			}
			for step := range span {
				s.Draw(&st, uint32(step), roots)
				b := &st.Blocks[0]
				for v := range counts {
					for _, c := range b.Indices[b.Begin[v]:b.Begin[v+1]] {
						counts[v][st.IDs[c]]++
					}
				}
			}
			for v, row := range counts {
				row = row[:degrees[v]]
				if loops == graph.LoopsRemoved && v < len(row) {
					if row[v] > 0 {
						t.Fatalf("vertex %d has its loop %d times", v, row[v])
					}
					row = slices.Delete(slices.Clone(row), v, v+1)
				}
				n := len(row)
				if n <= k {
					if n > 0 && (slices.Min(row) != span || slices.Max(row) != span) {
						t.Errorf("degree %d, fan-out %d: neighbours were kept %d to %d times in %d steps", n, k, slices.Min(row), slices.Max(row), span)
					}
					continue
				}
				kept := float64(k) / float64(n)
				likely(t, fmt.Sprintf("degree %d, fan-out %d, loops %v", n, k, loops), uneven(row)/(1-kept)*float64(n-1)/float64(n), n-1)
			}
		}
	}
}

// TestSubsets: all choices of 3 of 6 and of 4 of 6 are equally likely.
func TestSubsets(t *testing.T) {
	for _, k := range []int{3, 4} {
		var c choice
		counts := map[string]int{}
		for step := range uint32(steps) {
			w := words{key: [2]uint32{9, 9}, counter: [4]uint32{0, 5, drawStream, step}}
			at := make([]int64, k)
			c.choose(at, 0, &w, 6)
			counts[fmt.Sprint(at)]++
		}
		var list []int
		for _, n := range counts {
			list = append(list, n)
		}
		if want := map[int]int{3: 20, 4: 15}[k]; len(list) != want {
			t.Fatalf("%d subsets of %d of 6, want %d", len(list), k, want)
		}
		likely(t, fmt.Sprintf("subsets of %d of 6", k), uneven(list), len(list)-1)
	}
}

// TestIndependence counts pairs: what one vertex keeps says nothing of another vertex, the next hop, the next step, another seed.
func TestIndependence(t *testing.T) {
	first := func(seed uint64, step uint32, hop int, v int32) int {
		w := words{key: gpu.SeedKey(seed), counter: [4]uint32{0, uint32(v), drawStream | uint32(hop), step}}
		return int(w.below(5))
	}
	for _, other := range []struct {
		name string
		pick func(step uint32) int
	}{
		{"vertex", func(step uint32) int { return first(1, step, 0, 8) }},
		{"hop", func(step uint32) int { return first(1, step, 1, 7) }},
		{"step", func(step uint32) int { return first(1, step+1, 0, 7) }},
		{"seed", func(step uint32) int { return first(2, step, 0, 7) }},
		{"high seed", func(step uint32) int { return first(1+1<<32, step, 0, 7) }},
	} {
		counts := make([]int, 25)
		for step := range uint32(steps) {
			counts[5*first(1, step, 0, 7)+other.pick(step)]++
		}
		likely(t, "pairs with the other "+other.name, uneven(counts), 24)
	}
}

// TestUnbiased: n/k times the sum over a sample is, in the mean over steps, the sum over all neighbours.
func TestUnbiased(t *testing.T) {
	if testing.Short() {
		t.Skip("10,000 steps take long, and say nothing of races")
	}
	g := graphs(t)["degrees"]
	s := New(Topology{Graph: g, Loops: graph.LoopsRemoved}, Rules{Seed: 8, Fanout: []int{40}})
	roots := make([]graph.NodeID, 25)
	for v := range roots {
		roots[v] = graph.NodeID(v)
	}
	sum, squares := make([]float64, len(roots)), make([]float64, len(roots))
	var st Stack
	for step := range uint32(steps) {
		s.Draw(&st, step, roots)
		b := &st.Blocks[0]
		for v := range roots {
			x := 0.0
			for _, c := range b.Indices[b.Begin[v]:b.Begin[v+1]] {
				x += float64(st.IDs[c])
			}
			x *= float64(ratio(b, v))
			sum[v] += x
			squares[v] += x * x
		}
	}
	for v := range roots {
		want := 0.0
		for _, u := range g.Row(v) {
			if int(u) != v {
				want += float64(u)
			}
		}
		mean := sum[v] / steps
		deviation := math.Sqrt(max(0, squares[v]/steps-mean*mean) / steps)
		if math.Abs(mean-want) > 4*deviation+1e-6*want {
			t.Errorf("vertex %d with %d neighbours: the mean of %d steps is %.1f ± %.1f, the sum over all %.1f", v, len(g.Row(v)), steps, mean, deviation, want)
		}
	}
}

// TestBounds: numbers are evenly spread below bounds of which 2³² holds few, so that many words are rejected.
func TestBounds(t *testing.T) {
	const parts = 3
	for _, bound := range []uint32{3 << 30, 3<<30 - 3, 3 << 20, 48} {
		w := words{key: [2]uint32{3, 4}, counter: [4]uint32{0, 7, drawStream, 5}}
		counts := make([]int, parts)
		for range 12 * steps {
			x := w.below(bound)
			if x >= bound {
				t.Fatalf("%d is not below %d", x, bound)
			}
			counts[x%parts]++
		}
		likely(t, fmt.Sprintf("numbers below %d", bound), uneven(counts), parts-1)
	}
}
