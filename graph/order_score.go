package graph

// CacheHits predicts how well the gathers of a sparse product use a cache.
//
// Returns: the share of row reads that hit a cache of the given number of rows, least recently used out first, when the rows
// of g are computed in the order of rank (nil: of ids), row v reading those of its in-neighbours; 0 for a graph without edges.
//
// Method: at most 16 windows, evenly spread over all reads in that order; the cache is empty at the beginning of each, and reads
// count in its second half only, unless one window is the whole. Cost: some 10 ns per read, of which there are at most
// about reads, and a pass over the rows.
func CacheHits(g *CSR, rank []int32, rows, reads int) float64 {
	n := g.Rows()
	at := make([]NodeID, n)
	for v := range at {
		at[v] = NodeID(v)
	}
	for v, r := range rank {
		at[r] = NodeID(v)
	}
	c := &lru{next: make([]int32, n+1), prev: make([]int32, n+1), in: make([]bool, n), rows: rows}
	c.reset()
	windows, warm := int64(16), reads/32
	if int64(reads) >= g.Edges() {
		windows, warm = 1, 0
	}
	hits, counted := 0, 0
	past, next, done := int64(0), int64(0), reads // reads before this row, begin of the next window, reads in this window
	for _, v := range at {
		row := g.Row(int(v))
		if past >= next*g.Edges()/windows {
			c.reset()
			next, done = next+1, 0
		}
		past += int64(len(row))
		if int64(done) >= int64(reads)/windows {
			continue
		}
		for _, u := range row {
			hit := c.read(u)
			if done >= warm {
				counted++
				if hit {
					hits++
				}
			}
			done++
		}
	}
	if counted == 0 {
		return 0
	}
	return float64(hits) / float64(counted)
}

// lru is a cache of rows: a ring of those held, most recently read first, through place n.
type lru struct {
	next, prev []int32
	in         []bool
	rows, held int
}

func (c *lru) reset() {
	end := int32(len(c.in))
	if c.held > 0 {
		for u := c.next[end]; u != end; u = c.next[u] {
			c.in[u] = false
		}
	}
	c.next[end], c.prev[end], c.held = end, end, 0
}

// read makes u the most recent and reports whether it was there.
func (c *lru) read(u int32) bool {
	end := int32(len(c.in))
	hit := c.in[u]
	if hit {
		c.drop(u)
	} else if c.held == c.rows {
		last := c.prev[end]
		c.drop(last)
		c.in[last] = false
	} else {
		c.held++
	}
	c.in[u] = true
	c.next[u], c.prev[u] = c.next[end], end
	c.prev[c.next[u]], c.next[end] = u, u
	return hit
}

func (c *lru) drop(u int32) { c.next[c.prev[u]], c.prev[c.next[u]] = c.next[u], c.prev[u] }
