package rapa

import (
	"math"
	"math/rand/v2"
	"testing"

	"capgnn/graph"
	"capgnn/graph/synth"
)

// TestInfluenceByHand works Eq. 16 out on a small directed graph.
//
// Part 0 holds 0, 1, 2 and part 1 holds 3, 4. Edges: 3→0, 3→1, 0→3, 1→3, 2→3, 4→1, 0→1, 4→3.
// In-degrees: D(0)=1, D(1)=3 (3, 4, 0), D(2)=0, D(3)=4 (0, 1, 2, 4), D(4)=0. Out: D(0)=2, D(1)=1, D(2)=1, D(3)=2, D(4)=2.
// Every R is 1.
//
//	part 0, k = 3: out = {0, 1}, in = {0, 1, 2}: 1/√(1·2) + 1/√(3·2) + 1/√(2·3) + 1/√(1·3) + 1/√(1·3)
//	part 0, k = 4: out = {1},    in = {}:        1/√(3·1)
//	part 1, k = 0: out = {3},    in = {3}:       1/√(4·1) + 1/√(2·1)
//	part 1, k = 1: out = {3},    in = {3, 4}:    1/√(4·1) + 1/√(2·2) + 1/√(2·2)
//	part 1, k = 2: out = {3},    in = {}:        1/√(4·1)
//
// Σ|Â|: part 0, k = 3: 1/√(1·2) + 1/√(3·2); k = 4: 1/√(3·2). Part 1, k = 0: 1/√(4·2); k = 1 and 2: 1/√(4·1).
func TestInfluenceByHand(t *testing.T) {
	g := must(t)(graph.FromEdges(5, []graph.Edge{{From: 3, To: 0}, {From: 3, To: 1}, {From: 0, To: 3}, {From: 1, To: 3},
		{From: 2, To: 3}, {From: 4, To: 1}, {From: 0, To: 1}, {From: 4, To: 3}}))
	part := []int32{0, 0, 0, 1, 1}
	inv := func(x float64) float64 { return 1 / math.Sqrt(x) }
	want := []struct {
		v                 graph.NodeID
		part              int32
		edges             int32
		influence, weight float64
	}{
		{0, 1, 1, inv(4) + inv(2), inv(8)},
		{1, 1, 1, inv(4) + inv(4) + inv(4), inv(4)},
		{2, 1, 1, inv(4), inv(4)},
		{3, 0, 2, inv(2) + inv(6) + inv(6) + inv(3) + inv(3), inv(2) + inv(6)},
		{4, 0, 1, inv(3), inv(6)},
	}
	for _, score := range PruneScores {
		got := newScorer(NewDirections(g), part, 2, AdjustOptions{Score: score}).replicas()
		if len(got) != len(want) {
			t.Fatalf("%d replicas, want %d", len(got), len(want))
		}
		for i, w := range want {
			base := map[PruneScore]float64{ByInfluence: w.influence, ByWeight: w.weight}[score]
			if r := got[i]; r.v != w.v || r.part != w.part || r.edges != w.edges || !near(r.base, base) {
				t.Errorf("%s: replica %+v, want %+v with %g", score, r, w, base)
			}
		}
	}
}

// literal is Eq. 16, or the score asked for, as it stands: dropped replicas count in R only, as edges of one part touch
// one replica each.
func literal(g *graph.CSR, part []int32, i int32, k graph.NodeID, opt AdjustOptions, overlap int) float64 {
	n := g.Rows()
	in, out := make([]float64, n), make([]float64, n)
	var outI, inI []int
	for v := range n {
		for _, u := range g.Row(v) {
			if int(u) == v {
				continue
			}
			in[v]++
			out[u]++
			if u == k && part[v] == i {
				outI = append(outI, v)
			}
			if v == int(k) && part[u] == i {
				inI = append(inI, int(u))
			}
		}
	}
	loop := 0.0
	if opt.SelfLoops {
		loop = 1
	}
	s := 0.0
	switch opt.Score {
	case ByInfluence:
		for _, j := range outI {
			s += 1 / math.Sqrt((in[j]+loop)*float64(len(outI)))
		}
		for _, j := range inI {
			s += 1 / math.Sqrt((out[j]+loop)*float64(len(inI)))
		}
		s *= float64(overlap)
	case ByWeight:
		for _, j := range outI {
			s += 1 / math.Sqrt((in[j]+loop)*(out[k]+loop))
		}
	}
	return s
}

// TestScoresAgainstLiteral compares every score of random graphs with its formula.
func TestScoresAgainstLiteral(t *testing.T) {
	for _, directed := range []bool{false, true} {
		g := must(t)(synth.Random(60, 260, directed, 3))
		if directed {
			g = must(t)(g.WithLoops(), nil)
		}
		part, d := randomParts(60, 4, 9), NewDirections(g)
		for _, score := range PruneScores {
			for _, loops := range []bool{false, true} {
				opt := AdjustOptions{Score: score, SelfLoops: loops}
				for _, r := range newScorer(d, part, 4, opt).replicas() {
					if want := literal(g, part, r.part, r.v, opt, 1); math.Abs(r.base-want) > 1e-12*want {
						t.Errorf("directed %v, %s, loops %v: replica %+v, want %g", directed, score, loops, r, want)
					}
				}
			}
		}
	}
}

// randomParts puts each of n vertices into a part, none of which stays empty.
func randomParts(n, parts int, seed uint64) []int32 {
	r := rand.New(rand.NewPCG(seed, 77))
	p := make([]int32, n)
	for v := range p {
		p[v] = int32(v)
		if v >= parts {
			p[v] = r.Int32N(int32(parts))
		}
	}
	return p
}
