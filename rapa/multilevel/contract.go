package multilevel

import "slices"

// contractShift sets the number of coarse vertices whose rows one goroutine makes in turn: a piece of the level.
const contractShift, contractChunk = 7, 1 << 7

// contract returns the graph of clusters.
//
// Returns: the level in which label[v], 0 to n-1, is the vertex of v; weights are summed, edges between two clusters
// become one of their summed weight, edges inside one vanish. Rows are in order of first meeting.
//
// Method: vertices are sorted by cluster; each coarse row is summed in a table by coarse neighbour. Pieces of the level are made
// in parallel.
func (c *crew) contract(g *level, label []int32, n int, tallies []*tally) *level {
	start, member := group(label, n)
	out := &level{n: n, ptr: make([]int64, n+1), weight: make([][]int32, len(g.weight)), members: make([]int32, n)}
	for i := range out.weight {
		out.weight[i] = make([]int32, n)
	}
	pieces := (n + contractChunk - 1) / contractChunk
	out.adj, out.edge, out.shift = make([][]int32, pieces), make([][]int32, pieces), contractShift
	mergers := make([]merger, c.threads)
	c.each(n, contractChunk, func(worker, lo, hi int) {
		m := &mergers[worker]
		m.g, m.label, m.tally = g, label, tallies[worker]
		m.adj, m.edge = m.adj[:0], m.edge[:0]
		for a := lo; a < hi; a++ {
			out.ptr[a+1] = int64(m.row(int32(a), member[start[a]:start[a+1]]))
			for _, v := range member[start[a]:start[a+1]] {
				out.members[a] += int32(g.holds(v))
				for i := range out.weight {
					out.weight[i][a] += int32(g.of(i, v))
				}
			}
		}
		out.adj[lo>>contractShift], out.edge[lo>>contractShift] = slices.Clone(m.adj), slices.Clone(m.edge)
	})
	if c.err() != nil {
		return nil
	}
	for a := range n {
		out.ptr[a+1] += out.ptr[a]
	}
	return out
}

// merger makes coarse rows; it is the scratch of one goroutine.
type merger struct {
	g         *level
	label     []int32
	tally     *tally
	adj, edge []int32 // rows of the piece made so far
}

// row appends the row of the cluster with these members and returns its length.
func (m *merger) row(a int32, members []int32) int {
	sum := m.tally.sum
	first := len(m.adj)
	for _, v := range members {
		adj, edge := m.g.row(v)
		if edge == nil {
			for _, u := range adj {
				b := m.label[u]
				if sum[b] == 0 {
					m.adj = append(m.adj, b)
				}
				sum[b]++
			}
			continue
		}
		for i, u := range adj {
			b := m.label[u]
			if sum[b] == 0 {
				m.adj = append(m.adj, b)
			}
			sum[b] += edge[i]
		}
	}
	// The cluster itself is among its neighbours: it goes.
	kept := m.adj[:first]
	for _, b := range m.adj[first:] {
		if b != a {
			kept = append(kept, b)
			m.edge = append(m.edge, sum[b])
		}
		sum[b] = 0
	}
	m.adj = kept
	return len(kept) - first
}

// group sorts vertices by label: those of label a are member[start[a]:start[a+1]], ascending.
func group(label []int32, n int) (start, member []int32) {
	start = make([]int32, n+1)
	for _, a := range label {
		start[a+1]++
	}
	for a := range n {
		start[a+1] += start[a]
	}
	member = make([]int32, len(label))
	next := append([]int32(nil), start[:n]...)
	for v, a := range label {
		member[next[a]] = int32(v)
		next[a]++
	}
	return start, member
}
