package gnn

import (
	"math"

	"capgnn/model"
)

// Scaling is the weight of every entry of a model's adjacency, as a product of factors per vertex: entry (v, u) weighs
// Row[v]·Col[u]; nil means all ones. In a graph with weights, the weight of the edge is another factor. Degrees are
// those of the whole graph (docs/mathematics.md).
type Scaling struct{ Row, Col []float32 }

// ScalingOf returns the weights of a model on a graph of these degrees: symmetric models D_in^-1/2 and D_out^-1/2
// (0 where the degree is 0; with model.GCNNorm D_in^-1/2 twice), those that take means 1/in-degree, others none.
// Degrees are numbers of edges or, for symmetric models, sums of their weights.
func ScalingOf[D int32 | float64](c Config, in, out []D) Scaling {
	switch {
	case c.Symmetric():
		s := Scaling{Row: degrees(in, invSqrt)}
		if s.Col = s.Row; c.weights == model.Sym {
			s.Col = degrees(out, invSqrt)
		}
		return s
	case c.ScalesRows():
		return Scaling{Row: degrees(in, func(d float64) float64 { return 1 / d })}
	}
	return Scaling{}
}

func invSqrt(d float64) float64 { return 1 / math.Sqrt(d) }

func degrees[D int32 | float64](d []D, f func(float64) float64) []float32 {
	out := make([]float32, len(d))
	for v, k := range d {
		if k > 0 {
			out[v] = float32(f(float64(k)))
		}
	}
	return out
}

// Rescale returns the row factor of a vertex of which k > 0 of n in-edges are left, loops not counted: row times
// n/k, so that what is left of the sum over neighbours stands for all of it. loop is what the entry (v, v) weighs
// besides, so that it keeps its weight. A mean over n neighbours becomes that over k.
func Rescale(row float32, n, k int32) (rescaled, loop float32) {
	rescaled = float32(float64(row) * float64(n) / float64(k))
	return rescaled, float32(float64(row) / float64(rescaled))
}

// Rescales reports whether a model's sums over some of a vertex's neighbours are rescaled: weights of attention add
// up to 1 over whatever neighbours there are.
func (c Config) Rescales() bool { return !c.Attends() }

// BlockRows appends the row factors of a sampled block to dst: those of its rows' vertices, times ratio, n/k by row
// (nil: all 1). It appends nothing where all are 1.
func (s Scaling) BlockRows(dst []float32, ids []int32, ratio []float32) []float32 {
	if s.Row == nil {
		return append(dst, ratio...)
	}
	for i, v := range ids {
		x := s.Row[v]
		if ratio != nil {
			x *= ratio[i]
		}
		dst = append(dst, x)
	}
	return dst
}

// BlockCols appends the column factors of a block to dst: those of its columns' vertices. It appends nothing where
// all are 1.
func (s Scaling) BlockCols(dst []float32, ids []int32) []float32 {
	if s.Col == nil {
		return dst
	}
	for _, v := range ids {
		dst = append(dst, s.Col[v])
	}
	return dst
}

// KeepLoops divides the values of entries (r, r) of a sampled block, loops that were added and not drawn, by ratio,
// so that they keep their weight in rows that are scaled by it; ratio nil: rows are not. The block is given by its
// rows or, for the backward pass, by those of its transpose; ratio is by row of the block either way.
func KeepLoops(val []float32, begin []int64, indices []int32, ratio []float32) {
	for r, x := range ratio {
		for e := begin[r]; e < begin[r+1]; e++ {
			if indices[e] == int32(r) {
				val[e] /= x
			}
		}
	}
}
