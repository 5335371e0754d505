package reorder

import (
	"math/rand/v2"
	"slices"
	"testing"

	"capgnn/graph"
	"capgnn/graph/synth"
)

// cacheHits predicts how well the gathers of a sparse product use a cache.
//
// Returns: the share of row reads that hit a cache of the given number of rows, least recently used out first, when the rows
// of g are computed in the order of rank (nil: of ids), row v reading those of its in-neighbours; 0 for a graph without edges.
//
// Method: at most 16 windows, evenly spread over all reads in that order; the cache is empty at the beginning of each, and reads
// count in its second half only, unless one window is the whole. Cost: some 10 ns per read, of which there are at most
// about reads, and a pass over the rows.
func cacheHits(g *graph.CSR, rank []int32, rows, reads int) float64 {
	n := g.Rows()
	at := make([]graph.NodeID, n)
	for v := range at {
		at[v] = graph.NodeID(v)
	}
	for v, r := range rank {
		at[r] = graph.NodeID(v)
	}
	c := &lru{next: make([]int32, n+1), prev: make([]int32, n+1), in: make([]bool, n), rows: rows}
	c.reset()
	windows, warm := int64(16), reads/32
	if int64(reads) >= g.Edges() {
		windows, warm = 1, 0
	}
	hits, counted := 0, 0
	past, next, done := int64(0), int64(0), reads // reads before this row, windows begun, reads in this one
	for _, v := range at {
		row := g.Row(int(v))
		if past >= next*g.Edges()/windows {
			c.reset()
			next, done = next+1, 0
		}
		past += int64(len(row))
		if int64(done) >= int64(reads)/windows && windows > 1 {
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

// lru is a cache of rows: a ring of those held, the most recently read first, through place n.
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

// The ring holds what a list that is searched would.
func TestCacheHitsOfTwin(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 1))
	for trial := range 40 {
		g, err := synth.Random(60, 400, true, uint64(trial))
		if err != nil {
			t.Fatal(err)
		}
		rank := make([]int32, 60)
		at := r.Perm(60)
		for i, v := range at {
			rank[v] = int32(i)
		}
		rows := 1 + trial
		var held []graph.NodeID
		hits := 0
		for _, v := range at {
			for _, u := range g.Row(v) {
				if i := slices.Index(held, u); i >= 0 {
					hits++
					held = slices.Delete(held, i, i+1)
				} else if len(held) == rows {
					held = held[1:]
				}
				held = append(held, u)
			}
		}
		if got, want := cacheHits(g, rank, rows, 400), float64(hits)/400; got != want {
			t.Errorf("cache of %d rows: %g of the reads hit, want %g", rows, got, want)
		}
	}
}

// Windows find what the whole would give, where the order is equally good everywhere.
func TestCacheHitsOfWindows(t *testing.T) {
	g, rank := planted(t, 30000)
	for _, order := range [][]int32{nil, rank} {
		whole, sampled := cacheHits(g, order, 512, int(g.Edges())), cacheHits(g, order, 512, int(g.Edges())/4)
		if d := whole - sampled; d < -0.03 || d > 0.03 {
			t.Errorf("windows of a quarter of the reads hit %.3f, all reads %.3f", sampled, whole)
		}
	}
}
