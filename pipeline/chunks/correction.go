package chunks

import "capgnn/graph"

// Targets says whose loss a part takes.
type Targets string

// The targets.
const (
	Base Targets = "base" // training vertices of the base chunk
	Both Targets = "both" // training vertices of both chunks, each weighing ½, as it is a target of two parts
)

// AllTargets lists them, the default first.
var AllTargets = []Targets{Base, Both}

// Correction names what is done about edges that a part does not see. S is the targets of a part, d and d' are the in-neighbours of a vertex in the
// graph and in the part.
type Correction string

// The corrections.
const (
	None Correction = "none"
	// Uniform multiplies a part's gradient by the mean of d'/d over S (Eq. 10).
	Uniform Correction = "uniform"
	// Resampling multiplies a part's gradient by 1 / Σ_S (d/d' - 1)·d' (Eq. 12): one over the number of edges that its targets miss. The paper
	// leaves two cases open. Targets of d' = 0 are left out of the sum; where it is 0, nothing is missing, and the factor is 1.
	Resampling Correction = "resampling"
	// Node multiplies the loss of every target by d'/d (Eq. 7).
	Node Correction = "node"
	// Inclusion divides the weight of every edge by the share of a sweep's super-epochs in which its source is local: 1 within a chunk,
	// 1/(c-1) between chunks.
	Inclusion Correction = "inclusion"
	// LongRun weighs messages by p/q as the proof of Theorem 3.1 has it: p = 1/d, and q the mean of 1/d' over those super-epochs of a sweep in
	// which the source is local, 0 in the others. Times d/d', which a mean over the local neighbours needs, that is c-1 between chunks, as 1/d'
	// is out of q again; and h/d' within a chunk, h being the harmonic mean of d' over the sweep.
	LongRun Correction = "longrun"
)

// Corrections lists all corrections, the default first.
var Corrections = []Correction{None, Uniform, Resampling, Node, Inclusion, LongRun}

// EdgeWeights reports whether a correction weighs edges. Models whose edges have no weights of the graph (GAT, GATv2) cannot be corrected so.
func (k Correction) EdgeWeights() bool { return k == Inclusion || k == LongRun }

// Weights are what a correction makes of a view: see the package's contract.
type Weights struct {
	Factor float64   // of the sum of the losses of the part's targets; 0 where Uniform finds that none of them has a neighbour in the part
	Loss   []float64 // of the loss of every target, by index of View.IDs; nil: all 1
	Own    []float64 // of every edge within a chunk, by index of its row in View.IDs; nil: all 1
	Cross  float64   // of every edge between the two chunks; 1 without EdgeWeights
}

// Edge returns what the edge from one vertex of the pair to another weighs by the correction; 1 where they are one.
func (v *View) Edge(w *Weights, from, to graph.NodeID) float32 {
	switch {
	case from == to:
	case v.cut.Of[from] != v.cut.Of[to]:
		return float32(w.Cross)
	case w.Own != nil:
		return float32(w.Own[v.Index(to)])
	}
	return 1
}

// Weights returns what a correction makes of v. train marks training vertices by id.
func (v *View) Weights(k Correction, t Targets, train []bool) Weights {
	w := Weights{Factor: 1, Cross: 1}
	switch k {
	case Uniform:
		w.Factor = v.Coverage(t, train).Ratio
	case Resampling:
		w.Factor = v.resampling(t, train)
	case Node:
		w.Loss = make([]float64, len(v.IDs))
		for i := range w.Loss {
			w.Loss[i] = v.Ratio(i)
		}
	case Inclusion, LongRun:
		w.Cross = float64(Rotation{v.cut.Chunks()}.Shifts())
	}
	if k == LongRun {
		w.Own = v.longRun()
	}
	if t == Both {
		w.Factor /= 2
	}
	return w
}

// resampling returns the factor of Eq. 12.
func (v *View) resampling(t Targets, train []bool) float64 {
	missing := int64(0)
	v.targets(t, train, func(i int) {
		if v.Local[i] > 0 {
			missing += int64(v.All[i] - v.Local[i])
		}
	})
	return 1 / float64(max(1, missing))
}

// longRun returns h/d' for every vertex that has neighbours in its own chunk, 1 for the others, which have no edge that it could weigh.
func (v *View) longRun() []float64 {
	own := make([]float64, len(v.IDs))
	graph.EachBlock(len(own), rowBlock, func(lo, hi int) {
		s := sweep{cut: v.cut, count: make([]int32, v.cut.Chunks())}
		for i := lo; i < hi; i++ {
			own[i] = 1
			if h, ok := s.harmonic(v.graph, v.IDs[i]); ok {
				own[i] = h / float64(v.Local[i])
			}
		}
	})
	return own
}

// sweep counts the neighbours of one vertex by chunk.
type sweep struct {
	cut   *Cut
	count []int32 // by chunk; all 0 between vertices
	seen  []int32 // chunks that count anything, in the order of the row
}

// harmonic returns the harmonic mean over a sweep of the number of local in-neighbours of a vertex, loops not counted; false where it
// has none in its own chunk.
func (s *sweep) harmonic(g *graph.CSR, id graph.NodeID) (h float64, ok bool) {
	home := s.cut.Of[id]
	own := int32(0)
	for _, u := range g.Row(int(id)) {
		k := s.cut.Of[u]
		switch {
		case u == id:
		case k == home:
			own++
		default:
			if s.count[k] == 0 {
				s.seen = append(s.seen, k)
			}
			s.count[k]++
		}
	}
	shifts := len(s.count) - 1
	inverse := float64(shifts-len(s.seen)) / float64(own)
	for _, k := range s.seen {
		inverse += 1 / float64(own+s.count[k])
		s.count[k] = 0
	}
	s.seen = s.seen[:0]
	return float64(shifts) / inverse, own > 0
}
