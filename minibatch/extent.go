package minibatch

import (
	"math"

	"capgnn/gnn"
	"capgnn/internal/learn"
	"capgnn/minibatch/sample"
)

// extent is how large a step of a part is: what its memory follows from.
type extent struct {
	roots, ids int
	// missing are the ids whose rows the device does not keep, where it keeps some; before that is decided, those of
	// other parts.
	missing    int
	features   int // entries of sparse features of the ids
	candidates int // of layers that are drawn
	hops       []hopExtent
}

// hopExtent is that of a block.
type hopExtent struct {
	rows, cols, entries int
	scaled              bool // some rows keep fewer neighbours than they have
	weighed             bool // and columns weigh differently
}

// of makes e that of a stack. sparse are features that travel as they are stored, else nil.
func (e *extent) of(st *sample.Stack, sparse *learn.Features) {
	e.roots, e.ids, e.features, e.candidates, e.hops = st.Roots, len(st.IDs), 0, st.Candidates, e.hops[:0]
	for h := range st.Blocks {
		b := &st.Blocks[h]
		e.hops = append(e.hops, hopExtent{b.Rows, b.Cols, len(b.Indices), b.Ratio != nil, b.Weight != nil})
	}
	if sparse != nil {
		for _, v := range st.IDs {
			e.features += int(sparse.Indptr[v+1] - sparse.Indptr[v])
		}
	}
}

func (e *extent) cover(x *extent) {
	e.roots, e.ids = max(e.roots, x.roots), max(e.ids, x.ids)
	e.missing, e.features = max(e.missing, x.missing), max(e.features, x.features)
	e.candidates = max(e.candidates, x.candidates)
	for len(e.hops) < len(x.hops) {
		e.hops = append(e.hops, hopExtent{})
	}
	for h, y := range x.hops {
		a := &e.hops[h]
		a.rows, a.cols, a.entries = max(a.rows, y.rows), max(a.cols, y.cols), max(a.entries, y.entries)
		a.scaled, a.weighed = a.scaled || y.scaled, a.weighed || y.weighed
	}
}

// grow makes e that of a step with so many roots, on a graph of n vertices, if it has fewer: of steps of few roots
// those that were sampled may lack one that others have.
func (e *extent) grow(roots, n int) {
	if roots <= e.roots {
		return
	}
	had := max(1, e.roots)
	more := func(x int) int { return (x*roots + had - 1) / had }
	e.roots, e.ids, e.missing, e.features = roots, min(n, more(e.ids)), min(n, more(e.missing)), more(e.features)
	e.candidates = min(n, more(e.candidates))
	for h := range e.hops {
		x := &e.hops[h]
		x.rows, x.cols, x.entries = min(n, more(x.rows)), min(n, more(x.cols)), more(x.entries)
	}
}

// slack is the part of what was seen by which buffers are larger at first: steps differ. Those of fewer than
// fewRoots differ more, by the square root of how many roots they have.
const (
	slack    = 8
	fewRoots = slack * slack / 4
)

func withSlack(x, roots int) int {
	if roots > 0 && roots < fewRoots {
		return x + int(math.Ceil(float64(x)/(2*math.Sqrt(float64(roots)))))
	}
	return x + (x+slack-1)/slack
}

// ample returns e with slack, within what a graph of n vertices can need. Where roots of a unit are drawn, their
// number has slack too; else it is known beforehand.
func (e *extent) ample(n int, drawn bool) extent {
	a := extent{roots: e.roots, ids: e.ids}
	if drawn {
		a.roots = min(n, withSlack(e.roots, e.roots))
	}
	more := func(x int) int {
		had := max(1, e.roots)
		return max(withSlack(x, e.roots), (x*a.roots+had-1)/had)
	}
	a.missing, a.features, a.candidates = min(n, more(e.missing)), more(e.features), min(n, more(e.candidates))
	if len(e.hops) > 0 || drawn {
		a.ids = min(n, more(e.ids))
	}
	for h, x := range e.hops {
		y := hopExtent{a.roots, min(n, more(x.cols)), more(x.entries), x.scaled, x.weighed}
		if h > 0 {
			y.rows = a.hops[h-1].cols
		}
		a.hops = append(a.hops, y)
	}
	return a
}

// shape adds up extents for gnn.Choose: their mean over steps, rounded to 5 %, so that a plan does not hang on
// single vertices.
func shapeOf(all []extent, steps int, layers int, f *learn.Features) gnn.Shape {
	s := gnn.Shape{Rows: make([]int64, layers+1), Edges: make([]int64, layers), Halo: make([]int64, layers),
		BackHalo: make([]int64, layers), Sparse: f != nil}
	for i := range all {
		e := &all[i]
		s.Rows[layers] += int64(e.roots)
		for l := range layers {
			s.Rows[l] += int64(e.ids)
			if h := layers - 1 - l; h < len(e.hops) {
				s.Rows[l] += int64(e.hops[h].cols - e.ids)
				s.Edges[l] += int64(e.hops[h].entries)
			}
		}
		s.FeatureEntries += int64(e.features)
	}
	for _, list := range [][]int64{s.Rows, s.Edges} {
		for i := range list {
			list[i] = rounded(float64(list[i]) / float64(steps))
		}
	}
	s.FeatureEntries = rounded(float64(s.FeatureEntries) / float64(steps))
	return s
}

// rounded returns the power of 1.05 nearest x.
func rounded(x float64) int64 {
	if x < 1 {
		return 0
	}
	return int64(math.Round(math.Pow(1.05, math.Round(math.Log(x)/math.Log(1.05)))))
}
