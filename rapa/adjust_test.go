package rapa

import (
	"context"
	"errors"
	"fmt"
	"math"
	"reflect"
	"runtime"
	"slices"
	"testing"

	"capgnn/graph"
	"capgnn/graph/synth"
)

// unequal are devices of three speeds, the weakest last.
func unequal(t testing.TB, parts int) []PartCost {
	rates := make([]Rate, parts)
	for i := range rates {
		f := float64(1 + i%3)
		rates[i] = Rate{MM: f, SpMM: 2 + f, H2D: 10 + f, D2H: 11 + f, IDT: f}
	}
	costs, err := Lambda(rates, DefaultAlpha)
	if err != nil {
		t.Fatal(err)
	}
	return costs
}

// naive is Algorithms 2 and 3 with everything counted and scored anew after every step.
type naive struct {
	g       *graph.CSR
	part    []int32
	costs   []PartCost
	opt     AdjustOptions
	dropped []map[graph.NodeID]bool
	cut     int64
}

// count counts the part's edges and the cut edges that are still read.
func (x *naive) count() []Counts {
	c := make([]Counts, len(x.costs))
	halo := make([]map[graph.NodeID]bool, len(c))
	for i := range halo {
		halo[i] = map[graph.NodeID]bool{}
	}
	for v := range x.g.Rows() {
		i := x.part[v]
		c[i].Inner++
		for _, u := range x.g.Row(v) {
			if int(u) == v || x.dropped[i][u] {
				continue
			}
			c[i].Edges++
			if x.part[u] != i {
				c[i].Outer++
				halo[i][u] = true
			}
		}
	}
	for i := range halo {
		c[i].Halo = int64(len(halo[i]))
		for u := range halo[i] {
			c[x.part[u]].Sent++
		}
	}
	return c
}

func (x *naive) lambda() []float64 {
	l := make([]float64, len(x.costs))
	for i, n := range x.count() {
		l[i] = x.costs[i].Of(n)
	}
	return l
}

// lowest returns the replica of part i that goes next and its edges; -1 if there is none.
func (x *naive) lowest(i int32) (graph.NodeID, int64) {
	best, bestScore := graph.NodeID(-1), math.Inf(1)
	s := newScorer(NewDirections(x.g), x.part, len(x.costs), x.opt)
	edges := int64(0)
	for _, r := range s.replicas() {
		if r.part != i || x.dropped[i][r.v] {
			continue
		}
		overlap := 0
		for p := range x.costs {
			if int32(p) != x.part[r.v] && !x.dropped[p][r.v] && slices.ContainsFunc(NewDirections(x.g).Out.Row(int(r.v)),
				func(w graph.NodeID) bool { return x.part[w] == int32(p) }) {
				overlap++
			}
		}
		score := r.base
		if x.opt.Score == ByInfluence {
			score *= float64(overlap)
			if want := literal(x.g, x.part, i, r.v, x.opt, overlap); math.Abs(score-want) > 1e-12*want {
				panic(fmt.Sprintf("score %g, want %g", score, want))
			}
		}
		if score < bestScore {
			best, bestScore, edges = r.v, score, int64(r.edges)
		}
	}
	return best, edges
}

func (x *naive) run() ([]Iteration, Stop) {
	x.dropped = make([]map[graph.NodeID]bool, len(x.costs))
	for i := range x.dropped {
		x.dropped[i] = map[graph.NodeID]bool{}
	}
	for _, c := range x.count() {
		x.cut += c.Outer
	}
	var order []int
	for weakest := 3.0; weakest >= 0; weakest -= 1e-3 { // weakness is at most 1
		for i, c := range x.costs {
			if c.weakness() > weakest && !slices.Contains(order, i) {
				order = append(order, i)
			}
		}
	}
	trace := []Iteration{observe(x.count(), x.costs, x.opt.Memory)}
	lost := int64(0)
	for {
		if last := trace[len(trace)-1]; last.Sigma < x.opt.Epsilon && last.fits() {
			return trace, StopBalanced
		}
		r, over := make([]bool, len(x.costs)), false
		for _, i := range order {
			mean, _ := meanSigma(x.lambda())
			start := x.lambda()[i]
			fits := func() bool { return x.opt.Memory.Fits(i, x.count()[i]) }
			if start <= mean && fits() {
				r[i] = true
				continue
			}
			removed := 0
			for x.lambda()[i] > mean || !fits() {
				k, edges := x.lowest(int32(i))
				if k < 0 {
					break
				}
				if float64(lost+edges) > x.opt.MaxPrune*float64(x.cut) {
					over = true
					break
				}
				x.dropped[i][k] = true
				lost += edges
				removed++
				if x.lambda()[i] <= (start+mean)/2 && fits() {
					break
				}
			}
			r[i] = removed == 0
		}
		if !slices.Contains(r, false) {
			switch {
			case !trace[len(trace)-1].fits():
				return trace, StopMemory
			case over:
				return trace, StopMaxPrune
			}
			return trace, StopReplicas
		}
		trace = append(trace, observe(x.count(), x.costs, x.opt.Memory))
	}
}

// TestAdjustAgainstNaive compares the incremental adjustment with the one that counts everything anew, step by step.
func TestAdjustAgainstNaive(t *testing.T) {
	stops := map[Stop]bool{}
	for _, directed := range []bool{false, true} {
		for seed := range uint64(3) {
			g := must(t)(synth.Random(24, 60+20*int(seed), directed, seed))
			part, costs := randomParts(24, 3, seed), unequal(t, 3)
			for i := range costs { // a part that drops a replica relieves its owner too
				costs[i].PerHalo, costs[i].PerSent = float64(seed), float64(2*seed)
			}
			for _, score := range PruneScores {
				for name, opt := range map[string]AdjustOptions{
					"all":       {MaxPrune: 1, Epsilon: 0.05},
					"half":      {MaxPrune: 0.5, Epsilon: 1e-6, SelfLoops: true},
					"none":      {Epsilon: 1e-6},
					"to end":    {MaxPrune: 1, Epsilon: 1e-6},
					"memory":    {MaxPrune: 1, Epsilon: 0.05, Memory: Memory{Footprint{PerInner: 8, PerHalo: 8, PerEdge: 1}, []int64{150, 0, 110}}},
					"too small": {MaxPrune: 1, Memory: Memory{Footprint{PerInner: 8, PerHalo: 8}, []int64{0, 40, 0}}},
				} {
					opt.Score = score
					opt.Epsilon = orDefault(opt.Epsilon, 0.01)
					x := &naive{g: g, part: part, costs: costs, opt: opt}
					trace, stop := x.run()
					a, err := Adjust(t.Context(), NewDirections(g), part, x.costs, opt)
					if err != nil {
						t.Fatal(err)
					}
					stops[stop] = true
					if a.Stop != stop || !sameTrace(a.Trace, trace) {
						t.Fatalf("directed %v seed %d %s %s: %d iterations and %s, want %d and %s\n%+v\n%+v",
							directed, seed, score, name, len(a.Trace), a.Stop, len(trace), stop, a.Trace, trace)
					}
					checkDropped(t, a, x)
				}
			}
		}
	}
	for _, s := range []Stop{StopBalanced, StopReplicas, StopMaxPrune, StopMemory} {
		if !stops[s] {
			t.Errorf("no case stops for %q", s)
		}
	}
}

func sameTrace(a, b []Iteration) bool {
	if len(a) != len(b) {
		return false
	}
	for i := range a {
		if !reflect.DeepEqual(a[i], b[i]) {
			return false
		}
	}
	return true
}

// checkDropped compares the lists and what they cost with the naive sets.
func checkDropped(t *testing.T, a *Adjustment, x *naive) {
	t.Helper()
	edges, replicas := int64(0), 0
	for i, set := range x.dropped {
		var want []graph.NodeID
		for v := range x.g.Rows() {
			if set[graph.NodeID(v)] {
				want = append(want, graph.NodeID(v))
			}
		}
		replicas += len(want)
		var got []graph.NodeID
		if a.Dropped != nil {
			got = a.Dropped[i]
		}
		if !slices.Equal(got, want) || a.Lost.Replicas[i] != int64(len(want)) {
			t.Errorf("part %d drops %v (%d), want %v", i, got, a.Lost.Replicas[i], want)
		}
		edges += a.Lost.PerPart[i]
	}
	first, last := int64(0), int64(0)
	for i := range x.costs {
		first += a.Trace[0].Parts[i].Outer
		last += a.Trace[len(a.Trace)-1].Parts[i].Outer
	}
	l := a.Lost
	if l.Cut != first || l.Edges != first-last || edges != l.Edges || !near(l.Share*float64(l.Cut), float64(l.Edges)) || l.Share > x.opt.MaxPrune {
		t.Errorf("lost %+v, cut edges %d, then %d", l, first, last)
	}
	if (a.Dropped == nil) != (replicas == 0) {
		t.Errorf("dropped is %v with %d replicas", a.Dropped, replicas)
	}
}

// TestAdjustByHand follows one iteration. Symmetric star: 0 in part 0; 1, 2, 3 in part 1; edges 0-1, 0-2, 0-3 and 1-2.
// Two equal devices, α = 0.5, so λ = 0.5·|E| + 0.5·|I| + 1.5·|E_outer|.
//
// Part 0: |I| = 1, |E| = 3, outer 3: λ = 0.5 + 1.5 + 4.5 = 6.5. Part 1: |I| = 3, |E| = 5, outer 3: 1.5 + 2.5 + 4.5 = 8.5.
// Mean 7.5. Part 0 comes first (equal weakness) and is below it. Part 1 has one replica, 0, with three edges: without it
// λ_1 = 1.5 + 1 = 2.5 and nothing else is left there. Next iteration: the mean is 4.5, part 0 is above it and drops by
// Eq. 16. Each of its replicas 1, 2, 3 has one reader, vertex 0 of degree 3, both ways, and R = 1: S = 2/√3, ties by id.
// Without 1 λ_0 = 0.5 + 1 + 3 = 4.5 ≤ (6.5 + 4.5)/2: the visit ends. Then the mean is 3.5, and 2 goes: λ_0 = 2.5. Balanced.
func TestAdjustByHand(t *testing.T) {
	pair := func(a, b graph.NodeID) []graph.Edge { return []graph.Edge{{From: a, To: b}, {From: b, To: a}} }
	g := must(t)(graph.FromEdges(4, slices.Concat(pair(0, 1), pair(0, 2), pair(0, 3), pair(1, 2))))
	equal := Rate{MM: 1, SpMM: 1, H2D: 1, D2H: 1, IDT: 1}
	costs, err := Lambda([]Rate{equal, equal}, 0.5)
	if err != nil {
		t.Fatal(err)
	}
	a, err := Adjust(t.Context(), NewDirections(g), []int32{0, 1, 1, 1}, costs, AdjustOptions{MaxPrune: 1})
	if err != nil {
		t.Fatal(err)
	}
	var got [][]float64
	for _, it := range a.Trace {
		got = append(got, []float64{it.Parts[0].Cost, it.Parts[1].Cost})
	}
	if want := [][]float64{{6.5, 8.5}, {6.5, 2.5}, {4.5, 2.5}, {2.5, 2.5}}; !reflect.DeepEqual(got, want) {
		t.Errorf("costs are %v, want %v", got, want)
	}
	if want := [][]graph.NodeID{{1, 2}, {0}}; !reflect.DeepEqual(a.Dropped, want) || a.Stop != StopBalanced {
		t.Errorf("dropped %v and stopped for %q, want %v", a.Dropped, a.Stop, want)
	}
	if want := (Lost{Edges: 5, Cut: 6, Share: 5. / 6, PerPart: []int64{2, 3}, Replicas: []int64{2, 1}}); !reflect.DeepEqual(a.Lost, want) {
		t.Errorf("lost %+v, want %+v", a.Lost, want)
	}
}

func TestAdjustThreads(t *testing.T) {
	g := must(t)(synth.RMAT(14, 8, 4))
	part := randomParts(g.Rows(), 5, 2)
	run := func(threads int) *Adjustment {
		defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(threads))
		a, err := Adjust(t.Context(), NewDirections(g), part, unequal(t, 5), AdjustOptions{MaxPrune: 1})
		if err != nil {
			t.Fatal(err)
		}
		return a
	}
	a := run(1)
	if !reflect.DeepEqual(a, run(7)) {
		t.Error("the adjustment depends on the number of threads")
	}
	if a.Stop != StopBalanced || a.Lost.Edges == 0 {
		t.Errorf("stopped for %q with %d edges lost", a.Stop, a.Lost.Edges)
	}
}

func TestAdjustErrors(t *testing.T) {
	g := must(t)(synth.Random(20, 40, false, 1))
	part, costs := randomParts(20, 2, 1), unequal(t, 2)
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := Adjust(ctx, NewDirections(g), part, costs, AdjustOptions{MaxPrune: 1, Epsilon: 1e-9}); !errors.Is(err, context.Canceled) {
		t.Errorf("cancelled adjustment returned %v", err)
	}
	for name, f := range map[string]func() (*Adjustment, error){
		"share": func() (*Adjustment, error) {
			return Adjust(t.Context(), NewDirections(g), part, costs, AdjustOptions{MaxPrune: 1.5})
		},
		"epsilon": func() (*Adjustment, error) {
			return Adjust(t.Context(), NewDirections(g), part, costs, AdjustOptions{Epsilon: -1})
		},
		"score": func() (*Adjustment, error) {
			return Adjust(t.Context(), NewDirections(g), part, costs, AdjustOptions{Score: "x"})
		},
		"few parts": func() (*Adjustment, error) {
			return Adjust(t.Context(), NewDirections(g), part[:19], costs, AdjustOptions{})
		},
		"bad part": func() (*Adjustment, error) {
			return Adjust(t.Context(), NewDirections(g), append(slices.Clone(part[:19]), 2), costs, AdjustOptions{})
		},
		"costs": func() (*Adjustment, error) {
			return Adjust(t.Context(), NewDirections(g), part, make([]PartCost, 2), AdjustOptions{})
		},
		"memory": func() (*Adjustment, error) {
			return Adjust(t.Context(), NewDirections(g), part, costs, AdjustOptions{Memory: Memory{Have: []int64{1}}})
		},
		"footprint": func() (*Adjustment, error) {
			return Adjust(t.Context(), NewDirections(g), part, costs, AdjustOptions{Memory: Memory{Footprint: Footprint{PerHalo: -1}}})
		},
	} {
		if _, err := f(); err == nil {
			t.Errorf("%s: accepted", name)
		}
	}
}
