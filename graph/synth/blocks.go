package synth

import (
	"fmt"
	"math/bits"
	"math/rand/v2"
	"slices"
	"sort"

	"capgnn/graph"
)

// Streams of one seed: generators given the same seed draw from different streams.
const (
	streamBlocks uint64 = iota + 1
	streamFlip
	streamWords
	streamRMAT
	streamRandom
)

// maxVertices bounds what generators make: ids are int32.
const maxVertices = 1<<31 - 1

// weightOctaves bounds the degree weights of Blocks: expected degrees of vertices differ by at most 2^(weightOctaves+1).
const weightOctaves = 6

// Blocks draws a degree-corrected stochastic block model.
//
// Returns: a symmetric graph of n vertices without loops, and the block of every vertex in [0, classes). About
// n·avgDegree/2 undirected edges are drawn; repeats are merged, so the mean degree is a little lower.
//
// Method: vertices get blocks of nearly equal size in random order and integer weights whose tail is that of a Pareto law
// of exponent 1 over weightOctaves octaves. For each edge the first end is drawn by weight; the second, with probability
// pIn, by weight in the same block, otherwise by weight in the other blocks.
//
// Why: communities and hubs are what partitioners and caches live on; a uniform graph has neither. Only integer
// arithmetic and exact comparisons decide, so a seed gives the same graph on every 64-bit platform.
//
// Source: Karrer and Newman, "Stochastic blockmodels and community structure in networks", 2011.
func Blocks(n, classes int, avgDegree, pIn float64, seed uint64) (*graph.CSR, []int32, error) {
	switch {
	case n < 1 || n > maxVertices:
		return nil, nil, fmt.Errorf("block model: %d vertices are not in [1, %d]", n, maxVertices)
	case classes < 1 || classes > n:
		return nil, nil, fmt.Errorf("block model: %d classes are not in [1, %d]", classes, n)
	case !(avgDegree >= 0) || avgDegree > float64(n):
		return nil, nil, fmt.Errorf("block model: mean degree %g is not in [0, %d]", avgDegree, n)
	case !(pIn >= 0 && pIn <= 1):
		return nil, nil, fmt.Errorf("block model: share of edges inside blocks %g is not in [0, 1]", pIn)
	}
	r := rand.New(rand.NewPCG(seed, streamBlocks))
	m := newBlockModel(r, n, classes)
	draws := int(avgDegree * float64(n) / 2)
	edges := make([]graph.Edge, 0, 2*draws)
	for range draws {
		u, b := m.draw(r, 0, n)
		v := u
		switch {
		case classes == 1 || r.Float64() < pIn:
			v, _ = m.draw(r, m.first[b], m.first[b+1])
		default:
			for c := b; c == b; {
				v, c = m.draw(r, 0, n)
			}
		}
		if u != v {
			edges = append(edges, graph.Edge{From: u, To: v}, graph.Edge{From: v, To: u})
		}
	}
	g, err := graph.FromEdges(n, edges)
	return g, m.block, err
}

// blockModel draws vertices by weight from a range of member positions.
type blockModel struct {
	block  []int32        // block of each vertex
	member []graph.NodeID // vertices grouped by block
	first  []int          // positions of block b in member: first[b] to first[b+1]
	sum    []uint64       // sum[i] = weights of member[:i]
}

func newBlockModel(r *rand.Rand, n, classes int) *blockModel {
	m := &blockModel{
		block: make([]int32, n), member: make([]graph.NodeID, n), first: make([]int, classes+1), sum: make([]uint64, n+1),
	}
	for i := range m.member {
		m.member[i] = graph.NodeID(i)
	}
	r.Shuffle(n, func(i, j int) { m.member[i], m.member[j] = m.member[j], m.member[i] })
	for b := range classes {
		m.first[b+1] = int(int64(n) * int64(b+1) / int64(classes))
		for _, v := range m.member[m.first[b]:m.first[b+1]] {
			m.block[v] = int32(b)
		}
	}
	for i := range n {
		octave := min(bits.TrailingZeros64(r.Uint64()), weightOctaves)
		base := uint64(8) << octave
		m.sum[i+1] = m.sum[i] + base + r.Uint64N(base)
	}
	return m
}

// draw returns a vertex of member positions lo to hi, drawn by weight, and its block.
func (m *blockModel) draw(r *rand.Rand, lo, hi int) (graph.NodeID, int) {
	x := m.sum[lo] + r.Uint64N(m.sum[hi]-m.sum[lo])
	i := lo + sort.Search(hi-lo-1, func(k int) bool { return m.sum[lo+k+1] > x })
	v := m.member[i]
	return v, int(m.block[v])
}

// FlipLabels returns a copy of labels in which each entry is, with probability p, replaced by a class drawn uniformly from
// the other ones. No model can then score much above 1-p, so a score of 1 on such data shows a leak.
func FlipLabels(labels []int32, classes int, p float64, seed uint64) []int32 {
	r := rand.New(rand.NewPCG(seed, streamFlip))
	out := slices.Clone(labels)
	for i, c := range out {
		if classes > 1 && r.Float64() < p {
			out[i] = (c + 1 + r.Int32N(int32(classes-1))) % int32(classes)
		}
	}
	return out
}

// Words draws bag-of-words features as CSR rows: counts of words, cols words in all, `length` words per vertex.
//
// With probability signal a word comes from the topic of the vertex's block, a window of cols/blocks·2 words that overlaps
// the next topic by half; otherwise from all words. So single rows are ambiguous and averaging over neighbours helps.
// Columns ascend in each row; data holds the counts.
func Words(block []int32, blocks, cols, length int, signal float64, seed uint64) (indptr []int64, indices []int32, data []float32, err error) {
	if blocks < 1 || cols < blocks || cols > maxVertices || length < 0 || !(signal >= 0 && signal <= 1) {
		return nil, nil, nil, fmt.Errorf("words: need blocks ≥ 1, columns ≥ blocks, length ≥ 0 and a signal in [0, 1], "+
			"got %d, %d, %d, %g", blocks, cols, length, signal)
	}
	r := rand.New(rand.NewPCG(seed, streamWords))
	topic := cols / blocks
	indptr = make([]int64, len(block)+1)
	row := make([]int32, length)
	for v, b := range block {
		for k := range row {
			if r.Float64() < signal {
				row[k] = int32((int(b)*topic + r.IntN(2*topic)) % cols)
			} else {
				row[k] = r.Int32N(int32(cols))
			}
		}
		slices.Sort(row)
		for k, w := range row {
			if k > 0 && w == row[k-1] {
				data[len(data)-1]++
				continue
			}
			indices, data = append(indices, w), append(data, 1)
		}
		indptr[v+1] = int64(len(indices))
	}
	return indptr, indices, data, nil
}
