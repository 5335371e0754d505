package sample

import (
	"slices"

	"capgnn/graph"
)

// Stack is what the roots of one step read: vertices, and a block per hop between them.
type Stack struct {
	Step   uint32
	Roots  int            // the first ids
	IDs    []graph.NodeID // distinct: the roots, then vertices in order of first sight
	Blocks []Block        // nearest the roots first
	Edges  int64          // sampled in all blocks, added loops not counted
	// Candidates is among how many vertices a hop chose, at most, where hops draw layers.
	Candidates int
}

// Block is one hop: the edges from columns (sources) to rows. Row r and column r are the same vertex, the stack's IDs[r].
type Block struct {
	Rows, Cols int
	Begin      []int64   // len Rows+1: row r holds entries Begin[r] to Begin[r+1]-1
	Indices    []int32   // columns: the row's own one first where loops are added, then its neighbours in the order of the graph
	Ratio      []float32 // n/k by row: what a sum over the sampled neighbours is multiplied by, added loops apart; nil: all 1
	Weight     []float32 // by column: what an entry in it counts besides, in such a sum; nil: 1. Where it is given, Ratio is, too

	ratios, weights []float32 // the memory of Ratio and Weight, kept where these are nil
}

func (b *Block) reset(rows int) {
	b.Rows = rows
	b.Begin = append(resized(b.Begin, rows+1)[:0], 0)
	b.Indices = b.Indices[:0]
	b.Ratio, b.Weight = nil, nil
}

// scale notes the ratio of row r.
func (b *Block) scale(r int, ratio float64) {
	if b.Ratio == nil {
		b.ratios = resized(b.ratios, b.Rows)
		for i := range b.ratios {
			b.ratios[i] = 1
		}
		b.Ratio = b.ratios
	}
	b.Ratio[r] = float32(ratio)
}

// Weigh multiplies values of the entries of x by what their columns in b weigh. x is b or, turned, its transpose.
func (b *Block) Weigh(val []float32, x *Block, turned bool) {
	if b.Weight == nil {
		return
	}
	for r := range len(x.Begin) - 1 {
		for e := x.Begin[r]; e < x.Begin[r+1]; e++ {
			c := int32(r)
			if !turned {
				c = x.Indices[e]
			}
			val[e] *= b.Weight[c]
		}
	}
}

// Transpose makes into the block with every edge reversed: its row c lists, ascending, the rows of b that list c. Ratio and Weight,
// which belong to the rows and columns of b, stay there.
func (b *Block) Transpose(into *Block) {
	into.Rows, into.Cols, into.Ratio, into.Weight = b.Cols, b.Rows, nil, nil
	begin := resized(into.Begin, b.Cols+2)
	clear(begin)
	for _, c := range b.Indices {
		begin[c+2]++
	}
	for c := range b.Cols {
		begin[c+2] += begin[c+1]
	}
	into.Indices = resized(into.Indices, len(b.Indices))
	next, out := begin[1:], into.Indices // row c is filled up to next[c], which becomes its end
	for r := range b.Rows {
		for _, c := range b.Indices[b.Begin[r]:b.Begin[r+1]] {
			out[next[c]] = int32(r)
			next[c]++
		}
	}
	into.Begin = begin[:b.Cols+1]
}

// resized returns s with n elements of any value, and with an eighth more room where it was too small.
func resized[T any](s []T, n int) []T {
	if cap(s) < n {
		s = slices.Grow(s[:0], n+n/8)
	}
	return s[:n]
}
