package graph

import (
	"errors"
	"fmt"
	"math"
	"slices"
)

// WeightSums are the sums of the weights of the edges of every vertex, without its self-loop. A process that has the
// rows of only some vertices needs them for the others.
type WeightSums struct {
	In, Out []float64 // of the edges into and out of a vertex, added in the order in which the rows of the graph have them
	// InAny and OutAny say whether one of these edges has a weight other than 0: weights that cancel also have the sum
	// 0.
	InAny, OutAny []bool
	Loop          []float32 // what the edge of a vertex to itself weighs; 0 where there is none
	Loops         []bool    // vertices that have one
}

// WeightSums returns those of g, whose edges weigh 1 where it has no weights. Cost: one pass over the edges.
func (g *CSR) WeightSums() *WeightSums {
	n := g.Rows()
	s := &WeightSums{In: make([]float64, n), Out: make([]float64, n), InAny: make([]bool, n), OutAny: make([]bool, n), Loop: make([]float32, n), Loops: make([]bool, n)}
	for v := range NodeID(n) {
		for k, u := range g.Row(int(v)) {
			w := float32(1)
			if g.Weights != nil {
				w = g.Weights[g.Indptr[v]+int64(k)]
			}
			if u == v {
				s.Loop[v], s.Loops[v] = w, true
				continue
			}
			s.In[v] += float64(w)
			s.Out[u] += float64(w)
			s.InAny[v], s.OutAny[u] = s.InAny[v] || w != 0, s.OutAny[u] || w != 0
		}
	}
	return s
}

// Equal reports whether two say the same.
func (s *WeightSums) Equal(t *WeightSums) bool {
	return slices.Equal(s.In, t.In) && slices.Equal(s.Out, t.Out) && slices.Equal(s.InAny, t.InAny) && slices.Equal(s.OutAny, t.OutAny) && slices.Equal(s.Loop, t.Loop) && slices.Equal(s.Loops, t.Loops)
}

// Degrees returns the sums with self-loops as l says: an added one has weight 1, others keep theirs.
func (s *WeightSums) Degrees(l Loops) (in, out []float64) {
	in, out = slices.Clone(s.In), slices.Clone(s.Out)
	for v := range in {
		w := s.loop(l, v)
		in[v] += w
		out[v] += w
	}
	return in, out
}

// loop returns what the loop of a vertex weighs, 0 where it has none.
func (s *WeightSums) loop(l Loops, v int) float64 {
	switch {
	case l == LoopsRemoved:
		return 0
	case l == LoopsAdded && !s.Loops[v]:
		return 1
	}
	return float64(s.Loop[v])
}

// Weighs reports whether an edge into a vertex has a weight other than 0, and whether an edge out of it has, with
// self-loops as l says.
func (s *WeightSums) Weighs(l Loops, v int) (in, out bool) {
	loop := s.loop(l, v) != 0
	return s.InAny[v] || loop, s.OutAny[v] || loop
}

// validate checks sums of a file, for a graph whose loops are given.
func (s *WeightSums) validate(loops []bool) error {
	n := len(loops)
	if len(s.In) != n || len(s.Out) != n || len(s.InAny) != n || len(s.OutAny) != n || len(s.Loop) != n || !slices.Equal(s.Loops, loops) {
		return fmt.Errorf("%d, %d, %d, %d and %d numbers about weights for %d vertices, or of other loops", len(s.In), len(s.Out), len(s.InAny), len(s.OutAny), len(s.Loop), n)
	}
	for v := range n {
		finite := !math.IsNaN(s.In[v]+s.Out[v]+float64(s.Loop[v])) && !math.IsInf(s.In[v]+s.Out[v]+float64(s.Loop[v]), 0)
		if !finite || !s.InAny[v] && s.In[v] != 0 || !s.OutAny[v] && s.Out[v] != 0 || !s.Loops[v] && s.Loop[v] != 0 {
			return fmt.Errorf("the weights of the edges of vertex %d sum to %g and %g, and to %g with itself, which cannot be", v, s.In[v], s.Out[v], s.Loop[v])
		}
	}
	return nil
}

// matches says whether rows of a vertex, in both directions, weigh what the sums say. Rows may be in another order, so their sums in other bits.
func (s *WeightSums) matches(in, out *Rows, v NodeID) error {
	for _, d := range []struct {
		rows *Rows
		sum  float64
	}{{in, s.In[v]}, {out, s.Out[v]}} {
		at := d.rows.at(v)
		sum, size, loop := 0.0, 0.0, float32(0)
		for k, u := range d.rows.Row(at) {
			w := d.rows.Weights[d.rows.Indptr[at]+int64(k)]
			if d.rows.id(u) == v {
				loop = w
				continue
			}
			sum += float64(w)
			size += math.Abs(float64(w))
		}
		if loop != s.Loop[v] || math.Abs(sum-d.sum) > float64(len(d.rows.Row(at)))*0x1p-51*size {
			return errors.New("its edges weigh other than the tables of all parts say")
		}
	}
	return nil
}
