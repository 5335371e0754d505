package reorder

import (
	"cmp"
	"context"
	"slices"

	"capgnn/graph"
	"capgnn/graph/internal/parallel"
)

// RCM ranks vertices in reverse Cuthill-McKee order.
//
// Returns: an order of small bandwidth (largest |rank u − rank v| over the edges); an error only if ctx ended.
//
// Method: in each component a breadth-first search from a pseudo-peripheral vertex, found by repeated searches from a vertex of
// least degree in the last level while the depth grows; each vertex appends its new neighbours by ascending degree, ties by
// id; the order of all components, by their lowest id, is reversed. One thread.
//
// Why: best for meshes, where neighbours then lie within one level's width; graphs with hubs have few, wide levels.
//
// Source: Cuthill and McKee, 1969; George and Liu, "Computer solution of large sparse positive definite systems", 1981 (the
// start, and reversal).
func RCM(ctx context.Context, g *graph.CSR) ([]int32, error) {
	u, err := undirected(parallel.New(ctx, 0, nil), g)
	if err != nil {
		return nil, err
	}
	s := &rcm{u: u, seen: make([]bool, u.Rows()), order: make([]graph.NodeID, 0, u.Rows())}
	for v := range s.seen {
		if s.seen[v] {
			continue
		}
		if err := s.component(ctx, graph.NodeID(v)); err != nil {
			return nil, err
		}
	}
	slices.Reverse(s.order)
	return ranks(s.order), nil
}

// rcm is the state of RCM: order is a queue of the vertices seen.
type rcm struct {
	u     *graph.CSR
	seen  []bool
	order []graph.NodeID
	steps int
}

// component appends the component of v.
func (s *rcm) component(ctx context.Context, v graph.NodeID) error {
	from := len(s.order)
	depth := -1
	for {
		d, last, err := s.search(ctx, v, false)
		if err != nil {
			return err
		}
		w := slices.MinFunc(s.order[last:], s.byDegree)
		for _, x := range s.order[from:] {
			s.seen[x] = false
		}
		s.order = s.order[:from]
		if d <= depth {
			break
		}
		depth, v = d, w
	}
	_, _, err := s.search(ctx, v, true)
	return err
}

// byDegree compares by ascending degree, then id.
func (s *rcm) byDegree(a, b graph.NodeID) int {
	return cmp.Or(cmp.Compare(len(s.u.Row(int(a))), len(s.u.Row(int(b)))), cmp.Compare(a, b))
}

// search appends what it reaches from root, and returns the number of levels below it and the place where the last begins.
func (s *rcm) search(ctx context.Context, root graph.NodeID, sorted bool) (depth, last int, err error) {
	last = len(s.order)
	s.order, s.seen[root] = append(s.order, root), true
	for at, level := last, len(s.order); at < len(s.order); at++ {
		if at == level {
			depth, last, level = depth+1, at, len(s.order)
		}
		if s.steps++; s.steps%(1<<12) == 0 && ctx.Err() != nil {
			return 0, 0, ctx.Err()
		}
		from := len(s.order)
		for _, w := range s.u.Row(int(s.order[at])) {
			if !s.seen[w] {
				s.order, s.seen[w] = append(s.order, w), true
			}
		}
		if sorted {
			slices.SortFunc(s.order[from:], s.byDegree)
		}
	}
	return depth, last, nil
}
