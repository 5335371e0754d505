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

// seconds are costs as a simulation would give them: rows and edges, and copies of halo rows, on devices of three speeds.
func seconds(parts int) []PartCost {
	costs := make([]PartCost, parts)
	for i := range costs {
		f := 1e-6 * float64(1+i%3)
		costs[i] = PartCost{Fixed: 1e-5, PerInner: 4 * f, PerEdge: f, PerHalo: 2e-6, PerSent: 1e-6}
	}
	return costs
}

// TestRebalanceProperties: whatever the graph, every vertex stays inner exactly once, counts are those of the new
// partition, the merit does not get worse, no part is emptied and no part that fitted stops fitting.
func TestRebalanceProperties(t *testing.T) {
	for name, g := range shapes(t) {
		const parts = 3
		if g.Rows() < parts {
			continue
		}
		d := NewDirections(g)
		for seed := range uint64(4) {
			part := randomParts(g.Rows(), parts, seed)
			for table, costs := range map[string][]PartCost{"λ": unequal(t, parts), "seconds": seconds(parts)} {
				for bound, m := range map[string]Memory{
					"free":  {},
					"tight": {Footprint{PerInner: 16, PerHalo: 16, PerEdge: 1}, []int64{0, int64(g.Rows()) * 12, int64(g.Rows()) * 7}},
				} {
					where := fmt.Sprintf("%s, seed %d, %s, %s", name, seed, table, bound)
					before := slices.Clone(part)
					r, err := Rebalance(t.Context(), d, part, costs, RebalanceOptions{Memory: m})
					if err != nil {
						t.Fatalf("%s: %v", where, err)
					}
					if !slices.Equal(part, before) {
						t.Fatalf("%s: the given partition changed", where)
					}
					checkRebalanced(t, where, r, d, part, costs, m)
				}
			}
		}
	}
}

func checkRebalanced(t *testing.T, where string, r *Rebalanced, d Directions, part []int32, costs []PartCost, m Memory) {
	t.Helper()
	counts, err := Count(d, r.Part, len(costs))
	if err != nil {
		t.Fatalf("%s: %v", where, err)
	}
	first, last := r.Trace[0], r.Trace[len(r.Trace)-1]
	if !slices.Equal(counts, r.Counts) || !reflect.DeepEqual(last, observe(counts, costs, m)) {
		t.Errorf("%s: counts %+v, want %+v", where, r.Counts, counts)
	}
	moved := int64(0)
	for v := range part {
		if part[v] != r.Part[v] {
			moved++
		}
	}
	if moved != r.Moved {
		t.Errorf("%s: %d moved, said %d", where, moved, r.Moved)
	}
	lackBefore, lackAfter := int64(0), int64(0)
	for i := range costs {
		lackBefore += m.short(i, first.Parts[i].Counts)
		lackAfter += m.short(i, counts[i])
		if first.Parts[i].Fits && !last.Parts[i].Fits {
			t.Errorf("%s: part %d fitted and does not any more", where, i)
		}
		if counts[i].Inner < 1 {
			t.Errorf("%s: part %d is empty", where, i)
		}
	}
	merit := func(it Iteration) float64 {
		sum := 0.0
		for _, p := range it.Parts {
			sum += math.Pow(p.Cost/it.Max, 64)
		}
		return it.Max*math.Pow(sum/float64(len(it.Parts)), 1./64) + it.Sigma*it.Mean
	}
	if lackAfter > lackBefore || lackAfter == lackBefore && merit(last) > merit(first)*(1+1e-12) {
		t.Errorf("%s: from %+v to %+v", where, first, last)
	}
	switch r.Stop {
	case StopBalanced:
		if last.Max > 1.01*last.Mean || last.Sigma > 0.01 || !last.fits() {
			t.Errorf("%s: balanced at %+v", where, last)
		}
	case StopMemory:
		if last.fits() {
			t.Errorf("%s: stopped for memory, and everything fits", where)
		}
	case StopMoves:
	default:
		t.Errorf("%s: stopped for %q", where, r.Stop)
	}
}

// TestRebalanceReaches shows that graphs which allow it are balanced: devices of three speeds, parts of one size.
func TestRebalanceReaches(t *testing.T) {
	blocks, _, err := synth.Blocks(4000, 8, 12, 0.9, 3)
	must(t)(blocks, err)
	chain := []graph.Edge{}
	for v := int32(1); v < 3000; v++ {
		chain = append(chain, graph.Edge{From: v - 1, To: v}, graph.Edge{From: v, To: v - 1})
	}
	for name, g := range map[string]*graph.CSR{
		"blocks":   blocks,
		"directed": must(t)(synth.Random(3000, 20000, true, 1)),
		"chain":    must(t)(graph.FromEdges(3000, chain)), // parts 0 and 2 touch part 1 alone
		"no edges": must(t)(graph.FromEdges(3000, nil)),
	} {
		part := make([]int32, g.Rows())
		for v := range part {
			part[v] = int32(v * 3 / len(part))
		}
		for table, costs := range map[string][]PartCost{"λ": unequal(t, 3), "seconds": seconds(3)} {
			r, err := Rebalance(t.Context(), NewDirections(g), part, costs, RebalanceOptions{})
			if err != nil {
				t.Fatal(err)
			}
			first, last := r.Trace[0], r.Trace[len(r.Trace)-1]
			t.Logf("%s, %s: σ %.3f to %.4f, max %.4g to %.4g, cut %d to %d, %d moved in %d rounds, %s", name, table, first.Sigma, last.Sigma,
				first.Max, last.Max, sumOuter(first), sumOuter(last), r.Moved, len(r.Trace)-1, r.Stop)
			if r.Stop != StopBalanced {
				t.Errorf("%s, %s: stopped for %q at %+v", name, table, r.Stop, last)
			}
		}
	}
}

func sumOuter(it Iteration) (sum int64) {
	for _, p := range it.Parts {
		sum += p.Outer
	}
	return sum
}

// TestRebalanceMemory: 60 vertices without edges at 10 bytes each; device 0 holds 20 of its 40, device 1 has room for 45.
// With room for 35 the best that can be done leaves 5 too many.
func TestRebalanceMemory(t *testing.T) {
	g := must(t)(graph.FromEdges(60, nil))
	part := make([]int32, 60)
	for v := range 20 {
		part[v] = 1
	}
	costs := []PartCost{{PerInner: 1}, {PerInner: 100}} // cost alone would fill part 0
	for _, tc := range []struct {
		have []int64
		want int64
		stop Stop
	}{{[]int64{200, 450}, 20, StopMoves}, {[]int64{200, 350}, 25, StopMemory}} {
		m := Memory{Footprint{PerInner: 10}, tc.have}
		r, err := Rebalance(t.Context(), NewDirections(g), part, costs, RebalanceOptions{Memory: m})
		if err != nil {
			t.Fatal(err)
		}
		if r.Counts[0].Inner != tc.want || r.Stop != tc.stop {
			t.Errorf("have %v: %d vertices in part 0, want %d; stopped for %q", tc.have, r.Counts[0].Inner, tc.want, r.Stop)
		}
		var e *InfeasibleError
		if err := m.Check(r.Counts); (tc.stop == StopMemory) != errors.As(err, &e) {
			t.Errorf("have %v: %v", tc.have, err)
		} else if e != nil && e.MoreBytes() != 50 {
			t.Errorf("%d bytes would do, want 50", e.MoreBytes())
		}
	}
}

func TestRebalanceThreads(t *testing.T) {
	g := must(t)(synth.RMAT(13, 8, 4))
	part := randomParts(g.Rows(), 5, 2)
	run := func(threads int) *Rebalanced {
		defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(threads))
		r, err := Rebalance(t.Context(), NewDirections(g), part, seconds(5), RebalanceOptions{})
		if err != nil {
			t.Fatal(err)
		}
		return r
	}
	a := run(1)
	if !reflect.DeepEqual(a, run(7)) {
		t.Error("the moves depend on the number of threads")
	}
	if a.Moved == 0 {
		t.Error("nothing moved")
	}
}

func TestRebalanceErrors(t *testing.T) {
	g := must(t)(synth.Random(20, 40, false, 1))
	part, costs := randomParts(20, 2, 1), unequal(t, 2)
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := Rebalance(ctx, NewDirections(g), part, []PartCost{{PerInner: 1}, {PerInner: 90}}, RebalanceOptions{}); !errors.Is(err, context.Canceled) {
		t.Errorf("cancelled moving returned %v", err)
	}
	for name, f := range map[string]func() (*Rebalanced, error){
		"tolerance": func() (*Rebalanced, error) {
			return Rebalance(t.Context(), NewDirections(g), part, costs, RebalanceOptions{Tolerance: -1})
		},
		"parts": func() (*Rebalanced, error) {
			return Rebalance(t.Context(), NewDirections(g), part[1:], costs, RebalanceOptions{})
		},
		"costs": func() (*Rebalanced, error) {
			return Rebalance(t.Context(), NewDirections(g), part, make([]PartCost, 2), RebalanceOptions{})
		},
		"few costs": func() (*Rebalanced, error) {
			return Rebalance(t.Context(), NewDirections(g), part, costs[:1], RebalanceOptions{})
		},
		"memory": func() (*Rebalanced, error) {
			return Rebalance(t.Context(), NewDirections(g), part, costs, RebalanceOptions{Memory: Memory{Have: []int64{1, -1}}})
		},
	} {
		if _, err := f(); err == nil {
			t.Errorf("%s: accepted", name)
		}
	}
}
