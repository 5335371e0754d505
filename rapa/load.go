package rapa

import (
	"math"
	"slices"

	"capgnn/graph"
)

// The balanced quantities of a vertex, in this order.
const (
	cVertices = iota // 1 for every vertex: the hard bound
	cEdges           // stored in-edges, loops not counted
	cTrain           // 1 for training vertices
	constraints
)

// quantityOf is what each of them is called.
var quantityOf = [constraints]Quantity{ByVertices, ByEdges, ByTrain}

// loads holds what every part carries and may carry.
type loads struct {
	weight []int32                // in-edges of each vertex
	train  []bool                 // nil: none
	part   []int32                // part of each vertex, -1 = not placed yet
	sum    [][constraints]int64   // per part
	bound  [][constraints]int64   // per part
	inv    [][constraints]float64 // 1/target; 0 where there is nothing to balance
	soft   float64                // wanted bound on edges and training vertices
}

// newLoads returns loads with nothing placed.
//
// The bound of a part is ⌈balance·target·total⌉, so bounds sum to at least the total and every vertex finds room.
func newLoads(g *graph.CSR, train []bool, o Options) *loads {
	n := g.Rows()
	l := &loads{
		weight: make([]int32, n), train: train, part: make([]int32, n),
		sum: make([][constraints]int64, o.Parts), bound: make([][constraints]int64, o.Parts),
		inv: make([][constraints]float64, o.Parts), soft: o.SoftBalance,
	}
	var total [constraints]int64
	graph.EachBlock(n, 4096, func(lo, hi int) {
		for v := lo; v < hi; v++ {
			l.part[v] = -1
			l.weight[v] = int32(len(g.Row(v)))
			if _, loop := slices.BinarySearch(g.Row(v), graph.NodeID(v)); loop {
				l.weight[v]--
			}
		}
	})
	for v := range n {
		for c, w := range l.of(v) {
			total[c] += w
		}
	}
	for p, t := range o.Targets {
		for c := range constraints {
			factor := o.SoftBalance
			if c == cVertices {
				factor = o.Balance
			}
			if c != cVertices && !o.balances(quantityOf[c]) {
				l.bound[p][c] = math.MaxInt64
				continue
			}
			l.bound[p][c] = boundOf(factor, t, total[c])
			if total[c] > 0 {
				l.inv[p][c] = 1 / (t * float64(total[c]))
			}
		}
	}
	return l
}

// boundOf returns ⌈factor·target·total⌉, at least 1; 1e-9 keeps an exact product (1·0.25·100) from being rounded up.
func boundOf(factor, target float64, total int64) int64 {
	return max(1, int64(math.Ceil(factor*target*float64(total)-1e-9)))
}

// of returns the weights of vertex v.
func (l *loads) of(v int) [constraints]int64 {
	w := [constraints]int64{1, int64(l.weight[v]), 0}
	if l.train != nil && l.train[v] {
		w[cTrain] = 1
	}
	return w
}

// place puts v into part p (taking it out of the part it is in); p = -1 only takes it out.
func (l *loads) place(v int, p int32) {
	w := l.of(v)
	if q := l.part[v]; q >= 0 {
		for c := range w {
			l.sum[q][c] -= w[c]
		}
	}
	if p >= 0 {
		for c := range w {
			l.sum[p][c] += w[c]
		}
	}
	l.part[v] = p
}

// room reports whether part p may take one more vertex under the hard bound.
func (l *loads) room(p int32) bool { return l.sum[p][cVertices] < l.bound[p][cVertices] }

// fill returns the mean over constraints of part p's load in units of its target: 1 = as wanted.
func (l *loads) fill(p int32) float64 {
	s, k := 0.0, 0
	for c, inv := range l.inv[p] {
		if inv > 0 {
			s += float64(l.sum[p][c]) * inv
			k++
		}
	}
	return s / float64(max(k, 1))
}

// over returns by how much the load of part p in constraint c exceeds its target, in units of it, beyond half of what the
// soft bound allows; 0 = it does not.
func (l *loads) over(p int32, c int) float64 {
	return max(0, float64(l.sum[p][c])*l.inv[p][c]-(1+l.soft)/2)
}

// excess returns by how much part p, with delta added, exceeds its bounds, in units of its targets; 0 = within all.
func (l *loads) excess(p int32, delta [constraints]int64) float64 {
	e := 0.0
	for c := range delta {
		if over := l.sum[p][c] + delta[c] - l.bound[p][c]; over > 0 {
			e += float64(over) * l.inv[p][c]
		}
	}
	return e
}

// mayMove reports whether v may go from its part to part `to`: the hard bound holds, the part it leaves keeps a vertex,
// and the soft bounds are exceeded no more in sum than before.
func (l *loads) mayMove(v int, to int32) bool {
	from := l.part[v]
	if from == to || l.sum[from][cVertices] <= 1 || !l.room(to) {
		return false
	}
	return l.relief(v, to) >= 0
}

// relief returns by how much the excess of both parts falls, in sum, if v goes to part `to`.
func (l *loads) relief(v int, to int32) float64 {
	from, w := l.part[v], l.of(v)
	return l.excess(from, [constraints]int64{}) + l.excess(to, [constraints]int64{}) - l.excess(from, negated(w)) - l.excess(to, w)
}

func negated(w [constraints]int64) [constraints]int64 {
	for c := range w {
		w[c] = -w[c]
	}
	return w
}

// overload returns the in-edges above the soft bounds, summed over parts; a training vertex above its bound counts as
// mean in-edges.
func (l *loads) overload(mean float64) float64 {
	sum := 0.0
	for p := range l.sum {
		sum += float64(max(0, l.sum[p][cEdges]-l.bound[p][cEdges]))
		sum += mean * float64(max(0, l.sum[p][cTrain]-l.bound[p][cTrain]))
	}
	return sum
}

// clone returns a copy that can be filled on its own.
func (l *loads) clone() *loads {
	c := *l
	c.part, c.sum = slices.Clone(l.part), slices.Clone(l.sum)
	return &c
}
