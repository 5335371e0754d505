package adjacency

import (
	"errors"
	"fmt"
	"math"
	"slices"

	"capgnn/graph"
	"capgnn/internal/room"
)

const (
	// countBlock vertices are counted in one block of memory.
	countBlock = 1 << 16
	// An edge list says how many vertices there are only by its largest id, or by a number beside it. Beyond freeVertices
	// and idsPerEdge ids for each edge the ids are no numbering, and arrays by id would cost more than the edges.
	FreeVertices = 1 << 20
	IDsPerEdge   = 64
)

// MaxVertices returns how many vertices a list of so many edges may have.
func MaxVertices(edges int64) int64 { return IDsPerEdge*(edges+1) + FreeVertices }

// Edges calls edge for every edge of a graph: the same ones, in the same order, each time it is called.
type Edges func(edge func(from, to graph.NodeID)) error

// batchEdges is how many edges are put in their places at once. These lie anywhere in memory: one after the other they can be
// waited for together, with the parsing of a line between them they cannot (measured: 4 times slower).
const batchEdges = 1 << 12

// inBatches calls use with the edges, some at a time.
func (list Edges) inBatches(use func(batch []graph.Edge)) error {
	held := make([]graph.Edge, 0, batchEdges)
	err := list(func(from, to graph.NodeID) {
		held = append(held, graph.Edge{From: from, To: to})
		if len(held) == batchEdges {
			use(held)
			held = held[:0]
		}
	})
	if err == nil {
		use(held)
	}
	return err
}

// InRows builds rows of in-neighbours, sorted, repeats merged, and returns how many edges there were. vertices says how
// many rows there are, given what was counted. symmetric adds the reverse of every edge.
//
// Method: the edges are gone through twice, first to count every row, then to put every edge where it belongs; rows are
// then sorted and merged where they lie. So memory is that of the result, with 4 bytes a vertex beside it while counting,
// and 8 while reverse edges are added.
func InRows(list Edges, symmetric bool, vertices func(c *RowCounts) (int, error)) (g *graph.CSR, counts Counts, err error) {
	c := &RowCounts{Largest: -1}
	if err := list.inBatches(c.add); err != nil {
		return nil, counts, err
	}
	n, err := vertices(c)
	if err != nil {
		return nil, counts, err
	}
	indptr, err := c.starts(n)
	if err != nil {
		return nil, counts, err
	}
	indices, err := makeIndices(c.Edges, symmetric)
	if err != nil {
		return nil, counts, err
	}
	// indptr[v+1] is where the next edge into v goes, and so in the end where row v ends.
	check := edgeSum(0)
	err = list.inBatches(func(batch []graph.Edge) {
		for _, e := range batch {
			check.add(e)
			place := &indptr[min(int(e.To), n-1)+1]
			if at := *place; at < int64(len(indices)) {
				indices[at] = e.From
				*place = at + 1
			}
		}
	})
	if err == nil && check != c.sum {
		err = errors.New("the edges changed while they were read")
	}
	if err != nil {
		return nil, counts, err
	}
	counts.Stored = c.Edges
	g = SortRows(indptr, indices)
	counts.Normal = g.Edges()
	if symmetric {
		g, err = Symmetrised(g)
	}
	return g, counts, err
}

// Counts says what became of the edges of a file.
type Counts struct {
	Stored int64 // in the file
	Normal int64 // different ones
}

// makeIndices returns room for so many edges, and behind it for as many again if they may be doubled and if the system
// gives so much: what is not used is never touched.
func makeIndices(edges int64, double bool) ([]graph.NodeID, error) {
	if double && edges <= math.MaxInt64/8 && room.For(8*edges) == nil {
		return make([]graph.NodeID, edges, 2*edges), nil
	}
	if err := room.For(4 * edges); err != nil {
		return nil, fmt.Errorf("%d edges: %w", edges, err)
	}
	return make([]graph.NodeID, edges), nil
}

// edgeSum tells two lists of edges apart.
type edgeSum uint64

func (s *edgeSum) add(e graph.Edge) {
	*s = (*s ^ edgeSum(uint64(uint32(e.From))<<32|uint64(uint32(e.To)))) * 0x9e3779b97f4a7c15
	*s ^= *s >> 29
}

// RowCounts counts the edges of rows whose number is not known yet. Ids that the edges so far do not bear out wait in a
// list, so that memory grows with the edges, not with an id.
type RowCounts struct {
	blocks  [][]uint32 // edges of countBlock rows each; nil: none
	later   []graph.NodeID
	Edges   int64
	Largest graph.NodeID // of all ids; -1 without edges
	sum     edgeSum
	full    bool // a row has more edges than can be counted, or memory is short
}

func (c *RowCounts) add(batch []graph.Edge) {
	for _, e := range batch {
		c.Edges++
		c.sum.add(e)
		c.Largest = max(c.Largest, e.From, e.To)
		if int64(e.To) >= MaxVertices(c.Edges) {
			c.later = append(c.later, e.To)
			continue
		}
		c.count(e.To)
	}
}

func (c *RowCounts) count(to graph.NodeID) {
	b := int(to) / countBlock
	if b >= len(c.blocks) {
		c.blocks = append(c.blocks, make([][]uint32, b+1-len(c.blocks))...)
	}
	if c.blocks[b] == nil {
		c.blocks[b] = make([]uint32, countBlock)
	}
	block := c.blocks[b]
	if block[int(to)%countBlock]++; block[int(to)%countBlock] == 0 {
		c.full = true
	}
}

// starts returns n+1 row pointers, shifted by one: element v+1 is where row v begins. It gives up the counts.
func (c *RowCounts) starts(n int) ([]int64, error) {
	for _, to := range c.later {
		c.count(to)
	}
	c.later = nil
	if c.full {
		return nil, fmt.Errorf("more than %d edges lead to one vertex", math.MaxUint32)
	}
	if err := room.For(8 * int64(n)); err != nil {
		return nil, fmt.Errorf("%d vertices: %w", n, err)
	}
	indptr := make([]int64, n+1)
	at := int64(0)
	for v := range n {
		indptr[v+1] = at
		if b := v / countBlock; b < len(c.blocks) && c.blocks[b] != nil {
			at += int64(c.blocks[b][v%countBlock])
			if (v+1)%countBlock == 0 {
				c.blocks[b] = nil
			}
		}
	}
	c.blocks = nil
	return indptr, nil
}

// SortRows sorts every row and merges repeats, where the rows lie.
func SortRows(indptr []int64, indices []graph.NodeID) *graph.CSR {
	n := len(indptr) - 1
	w, lo := int64(0), int64(0)
	for v := range n {
		row := indices[lo:indptr[v+1]]
		lo = indptr[v+1]
		if !slices.IsSorted(row) {
			slices.Sort(row)
		}
		for k, u := range row {
			if k == 0 || u != row[k-1] {
				indices[w] = u
				w++
			}
		}
		indptr[v+1] = w
	}
	return &graph.CSR{Indptr: indptr, Indices: indices[:w], Cols: n}
}
