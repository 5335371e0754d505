package rapa

import (
	"fmt"
	"math"
	"slices"

	"capgnn/graph"
)

// PruneScore is the order in which replicas are dropped; the lowest score goes first.
type PruneScore string

// The scores of replica k of part i. D are degrees in the whole graph.
const (
	ByInfluence PruneScore = "influence" // Eq. 16
	ByWeight    PruneScore = "weight"    // Σ|Â| of the edges that go: Σ 1/√(Din(j)·Dout(k)) over the readers j of k in part i
)

// PruneScores lists all scores, the default first.
var PruneScores = []PruneScore{ByWeight, ByInfluence}

// replica is a halo vertex of a part.
type replica struct {
	v     graph.NodeID
	part  int32
	edges int32 // in-edges of the part that begin at v
	// base is the score without the overlap ratio; with Eq. 16 the score is base·R(v).
	base float64
}

// scorer computes replicas.
type scorer struct {
	d        Directions
	part     []int32
	parts    int
	score    PruneScore
	rin, rut []float64 // 1/√ of the degrees, 0 where those are 0
}

func newScorer(d Directions, part []int32, parts int, opt AdjustOptions) *scorer {
	s := &scorer{d: d, part: part, parts: parts, score: opt.Score}
	s.rin = inverseRoots(d.In, opt.SelfLoops)
	s.rut = s.rin
	if !d.symmetric() {
		s.rut = inverseRoots(d.Out, opt.SelfLoops)
	}
	return s
}

// inverseRoots returns 1/√ of the entries of every row beside the diagonal, plus one with loops.
func inverseRoots(g *graph.CSR, loops bool) []float64 {
	r := make([]float64, g.Rows())
	graph.EachBlock(len(r), spreadBlock, func(lo, hi int) {
		for v := lo; v < hi; v++ {
			row := g.Row(v)
			d := len(row)
			if _, loop := slices.BinarySearch(row, graph.NodeID(v)); loop {
				d--
			}
			if loops {
				d++
			}
			if d > 0 {
				r[v] = 1 / math.Sqrt(float64(d))
			}
		}
	})
	return r
}

// replicas returns every replica, by vertex and then part.
//
// Returns: for part i and k ∉ I_i with a reader in I_i, the number of its readers there and the score without R.
// Eq. 16 is S_k = (Σ_{j∈out_i(k)} 1/√(Din(j)·dout_i(k)) + Σ_{j∈in_i(k)} 1/√(Dout(j)·din_i(k)))·R(k), where out_i(k) are
// the inner vertices of i that read k, in_i(k) those that k reads, and dout_i and din_i how many.
//
// Method: one walk over the edges, by vertices, on all processors; a vertex takes memory for one number per part.
//
// Why: pruning a replica removes edges to inner vertices only, so of a score only R changes later.
func (s *scorer) replicas() []replica {
	n := s.d.In.Rows()
	block := make([][]replica, (n+spreadBlock-1)/spreadBlock)
	graph.EachBlock(n, spreadBlock, func(lo, hi int) {
		w := &walk{scorer: s, readers: newSide(s.parts), read: newSide(s.parts)}
		for v := lo; v < hi; v++ {
			w.vertex(graph.NodeID(v))
		}
		block[lo/spreadBlock] = w.found
	})
	total := 0
	for _, b := range block {
		total += len(b)
	}
	all := make([]replica, 0, total)
	for _, b := range block {
		all = append(all, b...)
	}
	return all
}

// side is, per part, how many neighbours on one side of a vertex lie there and the sum of their 1/√D.
type side struct {
	count []int32
	sum   []float64
}

func newSide(parts int) side { return side{make([]int32, parts), make([]float64, parts)} }

func (s side) fill(row []graph.NodeID, v graph.NodeID, part []int32, weight []float64) {
	clear(s.count)
	clear(s.sum)
	for _, w := range row {
		if w != v {
			p := part[w]
			s.count[p]++
			s.sum[p] += weight[w]
		}
	}
}

// mean returns Σ 1/√(D(j)·d) over the d neighbours in part p, 0 without any.
func (s side) mean(p int) float64 {
	if s.count[p] == 0 {
		return 0
	}
	return s.sum[p] / math.Sqrt(float64(s.count[p]))
}

// walk is what one goroutine needs to find the replicas of a block of vertices.
type walk struct {
	*scorer
	readers, read side
	found         []replica
}

func (w *walk) vertex(v graph.NodeID) {
	w.readers.fill(w.d.Out.Row(int(v)), v, w.part, w.rin)
	read := w.readers
	if w.score == ByInfluence && !w.d.symmetric() {
		w.read.fill(w.d.In.Row(int(v)), v, w.part, w.rut)
		read = w.read
	}
	for p, c := range w.readers.count {
		if c == 0 || int32(p) == w.part[v] {
			continue
		}
		r := replica{v: v, part: int32(p), edges: c}
		switch w.score {
		case ByInfluence:
			r.base = w.readers.mean(p) + read.mean(p)
		case ByWeight:
			r.base = w.readers.sum[p] * w.rut[v]
		}
		w.found = append(w.found, r)
	}
}

func (s PruneScore) validate() error {
	if !slices.Contains(PruneScores, s) {
		return fmt.Errorf("score %q is not one of %v", s, PruneScores)
	}
	return nil
}
