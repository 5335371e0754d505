package rapa

import (
	"context"
	"math"
	"math/rand/v2"

	"capgnn/graph"
)

// streamChunk is the number of vertices between two looks at the context and two progress reports.
const streamChunk = 1 << 14

// streamOrder returns the vertices in breadth-first order, component by component.
//
// Method: a start vertex is drawn at random; the search from it ends at a vertex far away, and the order begins there
// (a pseudo-peripheral vertex). Later components start at their first vertex in a random order.
// Why: neighbours of a vertex have mostly been placed just before it, so the stream grows connected regions.
func streamOrder(u *graph.CSR, t trial) []graph.NodeID {
	n := u.Rows()
	r := rand.New(rand.NewPCG(t.seed, streamOrderSeed+t.start))
	roots := r.Perm(n)
	order := make([]graph.NodeID, 0, n)
	seen := make([]bool, n)
	search := func(root graph.NodeID) {
		at := len(order)
		order, seen[root] = append(order, root), true
		for ; at < len(order); at++ {
			for _, w := range u.Row(int(order[at])) {
				if !seen[w] {
					order, seen[w] = append(order, w), true
				}
			}
		}
	}
	for _, s := range roots {
		if seen[s] {
			continue
		}
		from := len(order)
		search(graph.NodeID(s))
		far := order[len(order)-1]
		for _, v := range order[from:] {
			seen[v] = false
		}
		order = order[:from]
		search(far)
	}
	return order
}

// trial is one setting of the stream. None is best on every graph, and the stream is cheap.
type trial struct {
	seed  uint64 // with start: where the breadth-first order begins
	start uint64
	power float64 // exponent of a part's fill in the score; above 1 parts grow apart late
	price float64 // edges of cut that one edge above the wanted load of a part is worth in the last pass
}

// stream places vertices one after another and restreams.
//
// Returns: an error only if ctx ended; l holds the partition: every vertex in one part, no part above its hard bound.
//
// Method: vertex v goes to the part with room that maximises
//
//	|N(v) ∩ P_p| - a·fill_p^power - price·pass/passes·deg(v)·over_p
//
// where fill_p is the load in vertices over the target and over_p by how much the load in edges exceeds its target,
// beyond half of what SoftBalance allows; training vertices are priced likewise, at the mean degree. Ties go to the
// emptier part, then to the lower index. In each later pass every vertex is taken out and placed again, so it sees all
// its neighbours.
//
// Why: one pass is one walk over the edges with no state but the parts. Hubs decide the balance of edges and have many
// neighbours everywhere, so their price must grow with their degree; it rises from pass to pass so that communities form
// before balance cuts into them.
//
// Source: Tsourakakis et al., "FENNEL", 2014 (a = γ·√k·m/n^γ·(n/k)^(γ-1) at γ = 3/2); Nishimura and Ugander,
// "Restreaming graph partitioning", 2013 (passes, several balances). Targets and the price are ours.
func stream(ctx context.Context, u *graph.CSR, l *loads, t trial, passes int, tick func(int)) error {
	n := u.Rows()
	s := &streamer{u: u, l: l, near: make([]int32, len(l.sum)), trial: t, mean: float64(u.Edges()) / float64(n)}
	order := streamOrder(u, t)
	for pass := 0; pass <= passes; pass++ {
		s.price = t.price * float64(pass) / float64(max(passes, 1))
		for i, v := range order {
			if i%streamChunk == 0 {
				if err := ctx.Err(); err != nil {
					return err
				}
				tick(min(streamChunk, n-i))
			}
			l.place(int(v), -1)
			l.place(int(v), s.best(v))
		}
	}
	return nil
}

type streamer struct {
	u    *graph.CSR
	l    *loads
	near []int32 // scratch by part, zero between calls
	trial
	mean float64 // mean degree
}

// best returns the part with the highest score for v, which is in no part.
func (s *streamer) best(v graph.NodeID) int32 {
	l, row := s.l, s.u.Row(int(v))
	for _, w := range row {
		if p := l.part[w]; p >= 0 {
			s.near[p]++
		}
	}
	a := 0.75 * s.mean
	w := l.of(int(v))
	best, bestScore, bestFill := int32(-1), 0.0, 0.0
	for p := range int32(len(s.near)) {
		if !l.room(p) {
			continue
		}
		fill := float64(l.sum[p][cVertices]) * l.inv[p][cVertices]
		score := float64(s.near[p]) - a*math.Pow(fill, s.power) -
			s.price*(float64(w[cEdges])*l.over(p, cEdges)+float64(w[cTrain])*s.mean*l.over(p, cTrain))
		if best < 0 || score > bestScore || score == bestScore && fill < bestFill {
			best, bestScore, bestFill = p, score, fill
		}
	}
	for _, w := range row {
		if p := l.part[w]; p >= 0 {
			s.near[p] = 0
		}
	}
	return best
}
