package adjacency

import (
	"fmt"
	"slices"

	"capgnn/graph"
	"capgnn/internal/room"
)

// Symmetrised returns A ∨ Aᵀ of a graph whose rows are sorted, in g's own arrays, which it takes over. Equals
// g.Symmetrise().
//
// Method: rows are gone through in order, and with them a cursor in the row of every neighbour, which tells whether the
// reverse edge is there. If some are missing, rows are moved apart from the last one on, and a second pass puts the missing
// edges into the gaps, as negative numbers, which tells them from edges of g. Then the rows with gaps are sorted.
func Symmetrised(g *graph.CSR) (*graph.CSR, error) {
	n := g.Rows()
	if err := room.For(8 * int64(n)); err != nil {
		return nil, fmt.Errorf("%d vertices: %w", n, err)
	}
	cursor, gaps := make([]uint32, n), make([]uint32, n)
	missing := int64(0)
	eachMissing(g, cursor, func(u, _ graph.NodeID) { gaps[u]++; missing++ })
	if missing == 0 {
		return g, nil
	}
	if err := moveApart(g, gaps, missing); err != nil {
		return nil, err
	}
	clear(cursor)
	eachMissing(g, cursor, func(u, v graph.NodeID) {
		g.Indices[g.Indptr[u+1]-int64(gaps[u])] = ^v
		gaps[u]--
	})
	for v := range n {
		row := g.Row(v)
		if len(row) == 0 || row[len(row)-1] >= 0 {
			continue
		}
		for k := len(row) - 1; k >= 0 && row[k] < 0; k-- {
			row[k] = ^row[k]
		}
		slices.Sort(row)
	}
	return g, nil
}

// eachMissing calls add for every edge u → v whose reverse is missing, that is, for v missing in row u, v ascending. A row
// ends at its first negative entry. cursor holds zeros.
func eachMissing(g *graph.CSR, cursor []uint32, add func(u, v graph.NodeID)) {
	for v := range g.Rows() {
		for _, u := range g.Row(v) {
			if u < 0 {
				break
			}
			other, k := g.Row(int(u)), int(cursor[u])
			for k < len(other) && other[k] >= 0 && int(other[k]) < v {
				k++
			}
			cursor[u] = uint32(k)
			if k == len(other) || int(other[k]) != v {
				add(u, graph.NodeID(v))
			}
		}
	}
}

// moveApart makes room for gaps[v] entries, all -1, behind row v.
func moveApart(g *graph.CSR, gaps []uint32, missing int64) error {
	old := int64(len(g.Indices))
	if int64(cap(g.Indices)) >= old+missing {
		g.Indices = g.Indices[:old+missing]
	} else {
		if err := room.For(4 * (old + missing)); err != nil {
			return fmt.Errorf("%d edges: %w", old+missing, err)
		}
		g.Indices = append(make([]graph.NodeID, 0, old+missing), g.Indices...)[:old+missing]
	}
	for v := g.Rows() - 1; v >= 0; v-- {
		lo, hi, end := g.Indptr[v], g.Indptr[v+1], g.Indptr[v+1]+missing
		gap := int64(gaps[v])
		missing -= gap
		copy(g.Indices[lo+missing:], g.Indices[lo:hi])
		for k := end - gap; k < end; k++ {
			g.Indices[k] = -1
		}
		g.Indptr[v+1] = end
	}
	return nil
}
