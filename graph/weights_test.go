package graph

import (
	"fmt"
	"math"
	"math/rand/v2"
	"strings"
	"testing"
)

// weightsOf returns the weights of a graph by edge, which must be valid.
func weightsOf(t *testing.T, g *CSR) map[Edge]float32 {
	t.Helper()
	if err := g.Validate(); err != nil {
		t.Fatal(err)
	}
	out := map[Edge]float32{}
	for v := range NodeID(g.Rows()) {
		for k, u := range g.Row(int(v)) {
			out[Edge{u, v}] = g.Weights[g.Indptr[v]+int64(k)]
		}
	}
	return out
}

// What is made of a graph with weights weighs what maps of edges say, large enough for several blocks.
func TestWeights(t *testing.T) {
	for seed := range uint64(6) {
		r := rand.New(rand.NewPCG(seed, 9))
		n := []int{1, 7, 60, 5000}[seed%4]
		raw := &CSR{Indptr: []int64{0}, Cols: n}
		want := map[Edge]float32{}
		for v := range NodeID(n) {
			for range r.IntN(6) {
				u, w := NodeID(r.IntN(n)), float32(r.IntN(41)-10)/16
				if r.IntN(9) == 0 {
					u = v
				}
				raw.Indices, raw.Weights = append(raw.Indices, u), append(raw.Weights, w)
				want[Edge{u, v}] += w
			}
			raw.Indptr = append(raw.Indptr, int64(len(raw.Indices)))
		}
		g, err := Normalise(raw)
		if err != nil {
			t.Fatal(err)
		}
		same := func(what string, got, want map[Edge]float32) {
			t.Helper()
			if fmt.Sprint(got) != fmt.Sprint(want) {
				t.Errorf("seed %d: %s: other weights", seed, what)
			}
		}
		same("normalised", weightsOf(t, g), want)
		turned, both, looped := map[Edge]float32{}, map[Edge]float32{}, map[Edge]float32{}
		in, out := make([]float64, n), make([]float64, n)
		for e, w := range want {
			turned[Edge{e.To, e.From}] = w
			looped[e] = w
		}
		for e, w := range turned {
			both[e] = w
		}
		for e, w := range want {
			both[e] = w
		}
		for v := range NodeID(n) {
			if _, has := looped[Edge{v, v}]; !has {
				looped[Edge{v, v}] = 1
			}
		}
		same("transposed", weightsOf(t, g.Transpose()), turned)
		same("symmetrised", weightsOf(t, g.Symmetrise()), both)
		l := g.WithLoops()
		same("with loops", weightsOf(t, l), looped)
		for e, w := range looped {
			if g.Weight(e.From, e.To) != w { // that of a missing loop is that of one that is added
				t.Errorf("seed %d: %v weighs %g, want %g", seed, e, g.Weight(e.From, e.To), w)
			}
			in[e.To] += float64(w)
			out[e.From] += float64(w)
		}
		check := func(what string, gotIn, gotOut []float64) {
			t.Helper()
			if fmt.Sprint(gotIn) != fmt.Sprint(in) || fmt.Sprint(gotOut) != fmt.Sprint(out) {
				t.Errorf("seed %d: loops %s: other degrees", seed, what)
			}
		}
		gotIn, gotOut := g.WeightSums().Degrees(LoopsAdded)
		check("added", gotIn, gotOut)
		gotIn, gotOut = l.WeightSums().Degrees(LoopsKept)
		check("kept", gotIn, gotOut)
		for v := range NodeID(n) {
			in[v] -= float64(looped[Edge{v, v}])
			out[v] -= float64(looped[Edge{v, v}])
		}
		gotIn, gotOut = g.WeightSums().Degrees(LoopsRemoved)
		check("removed", gotIn, gotOut)
	}
}

func TestInvalidWeights(t *testing.T) {
	for want, w := range map[string][]float32{
		"1 weights for 3 edges":                  {1},
		"the edge 0 → 2 has the weight NaN":      {1, 2, float32(math.NaN())},
		"the edge 2 → 0 has the weight -Inf; we": {1, float32(math.Inf(-1)), 1},
	} {
		g := &CSR{Indptr: []int64{0, 2, 2, 3}, Indices: []NodeID{1, 2, 0}, Cols: 3, Weights: w}
		if err := g.Validate(); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("got %v, want %q", err, want)
		}
	}
}
