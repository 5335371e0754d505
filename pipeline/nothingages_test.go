package pipeline

import (
	"fmt"
	"math/rand/v2"
	"testing"

	"capgnn/graph"
	"capgnn/graph/synth"
	"capgnn/hostmem"
	"capgnn/internal/learn"
	"capgnn/internal/long"
	"capgnn/internal/named"
	"capgnn/jaca"
	"capgnn/pipeline/halo"
)

// small is a problem of a few vertices in two halves without an edge between them: half 0 are the even ones.
func small(t testing.TB, kind named.Kind, layers, hidden int) (*learn.Problem, named.Model) {
	t.Helper()
	const n, cols = 40, 6
	half, err := synth.Random(n/2, 2*n, false, 7)
	if err != nil {
		t.Fatal(err)
	}
	var edges []graph.Edge
	for v := range n / 2 {
		for _, u := range half.WithoutLoops().Row(v) {
			edges = append(edges, graph.Edge{From: 2 * u, To: graph.NodeID(2 * v)}, graph.Edge{From: 2*u + 1, To: graph.NodeID(2*v + 1)})
		}
	}
	g, err := graph.FromEdges(n, edges)
	if err != nil {
		t.Fatal(err)
	}
	if kind.AddsLoops() {
		g = g.WithLoops()
	}
	r := rand.New(rand.NewPCG(1, 2))
	p := &learn.Problem{Graph: g, Classes: 2, Features: learn.Features{Cols: cols, Dense: make([]float32, cols*n)}}
	for i := range p.Features.Dense {
		p.Features.Dense[i] = float32(r.NormFloat64())
	}
	for v := range n {
		p.Labels, p.Train, p.Val = append(p.Labels, int32(r.IntN(2))), append(p.Train, v%3 > 0), append(p.Val, v%3 == 0)
	}
	return p, named.Model{Kind: kind, Layers: layers, Hidden: hidden, In: cols, Out: 2, Heads: 2, Alpha: 0.3, Theta: 0.7, Dropout: 0.5, Seed: 5}
}

// youngCase is a run whose rows may be up to four epochs old if any may.
type youngCase struct {
	kind           named.Kind
	layers, hidden int
	parts          int // 0: two parts without an edge between them
	policy         jaca.Policy
	pipeline       bool
	size           jaca.Size
}

func (k youngCase) String() string {
	return fmt.Sprintf("%s/%d layers/%d wide/%d parts/%s %v/pipeline=%t", k.kind, k.layers, k.hidden, k.parts, k.policy, k.size, k.pipeline)
}

// youngCases are all combinations that the options allow.
func youngCases() []youngCase {
	var out []youngCase
	for _, kind := range named.Kinds {
		for _, layers := range []int{1, 2, 3} {
			for _, hidden := range []int{4, 16} { // two classes: behind the wide one the last of two layers stays fresh, but for GAT
				for parts := range 4 {
					for _, policy := range jaca.Policies {
						for _, size := range []jaca.Size{{}, jaca.Rows(0)} {
							out = append(out, youngCase{kind, layers, hidden, parts, policy, false, size})
							out = append(out, youngCase{kind, layers, hidden, parts, policy, true, size})
						}
					}
				}
			}
		}
	}
	return out
}

// run trains with a cache.
func (k youngCase) run(t *testing.T, c halo.Options) *Result {
	t.Helper()
	p, m := small(t, k.kind, k.layers, k.hidden)
	n := max(k.parts, 2-2*k.parts)
	part := scatterParts(p.Vertices(), n)
	if k.parts == 0 {
		for v := range part {
			part[v] = int32(v % 2)
		}
	}
	c.Host = hostmem.LockOptions{Heap: true}
	epochs := 7
	tr := newTrainer(t, p, m, cpus(t, n), part, func(o *Options) { o.Epochs, o.EvalEvery, o.Cache = epochs, 3, c })
	defer tr.Close()
	return run(t, tr)
}

// A run in which no row can be of an earlier epoch is that of staleness 0, to the bit: on one part, in one layer, where layers that
// exchange stay fresh, without slots and pipeline, and where no edge is cut.
func TestNothingAges(t *testing.T) {
	exact := map[youngCase]string{}
	every := 53 // case; neither number divides a number of choices
	switch {
	case testing.Short():
		every = 211
	case long.Wanted():
		every = 5
	}
	for i, k := range youngCases() {
		if i%every != 0 {
			continue
		}
		t.Run(k.String(), func(t *testing.T) {
			plain := youngCase{kind: k.kind, layers: k.layers, hidden: k.hidden, parts: k.parts}
			if exact[plain] == "" {
				exact[plain] = plain.run(t, halo.Options{}).WeightsSHA
			}
			c := halo.Options{Policy: k.policy, Local: k.size, Global: k.size, Staleness: 4, Pipeline: k.pipeline}
			r := k.run(t, c)
			if r.Halo.AgeMax == 0 && r.WeightsSHA != exact[plain] {
				t.Error("no row was old, but the weights are not those of staleness 0")
			}
			if ages := k.layers == 3 && k.parts > 1 && (k.pipeline || k.size == jaca.Size{} && k.policy != jaca.None); ages && r.Halo.AgeMax == 0 {
				t.Error("no row was old")
			}
		})
	}
}

// Where memory leaves room for no slot, and all epochs are exact ones, nothing ages either.
func TestNothingAgesWithoutRoom(t *testing.T) {
	for _, policy := range []jaca.Policy{jaca.JACA, jaca.Paper} {
		k := youngCase{kind: named.SAGE, layers: 3, hidden: 16, parts: 3}
		want := k.run(t, halo.Options{}).WeightsSHA
		c := halo.Options{Policy: policy, Staleness: 4}
		if k.run(t, c).WeightsSHA == want {
			t.Errorf("%s: with slots the weights are those of staleness 0", policy)
		}
		full := c
		full.ReserveDevice, full.ReserveHost = 1<<50, 1<<50
		if k.run(t, full).WeightsSHA != want {
			t.Errorf("%s: without room for a slot the weights are not those of staleness 0", policy)
		}
		full.Staleness = 0
		if k.run(t, full).WeightsSHA != want {
			t.Errorf("%s: without room for a slot the weights are others", policy)
		}
		for _, pipeline := range []bool{false, true} {
			for exact, same := range map[int]bool{5: false, 6: true, 7: true} { // of 7 epochs: the one behind them uses rows of its own
				c.ExactEpochs, c.Pipeline = exact, pipeline
				if r := k.run(t, c); (r.WeightsSHA == want) != same || (r.Halo.AgeMax == 0) != same {
					t.Errorf("%s, pipeline %t, %d exact epochs: rows up to %d epochs old, weights of staleness 0: %t", policy, pipeline, exact, r.Halo.AgeMax, r.WeightsSHA == want)
				}
			}
		}
	}
}
