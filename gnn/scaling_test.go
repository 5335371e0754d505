package gnn

import (
	"math"
	"slices"
	"testing"

	"capgnn/internal/named"
)

func TestScalingOf(t *testing.T) {
	in, out := []int32{4, 0, 1}, []int32{1, 4, 0}
	for _, c := range []struct {
		kind     named.Kind
		row, col []float32
	}{
		{named.GCN, []float32{0.5, 0, 1}, []float32{1, 0.5, 0}},
		{named.SAGE, []float32{0.25, 0, 1}, nil},
		{named.GIN, nil, nil},
		{named.GAT, nil, nil},
	} {
		s := ScalingOf(netOf(named.Model{Kind: c.kind, Layers: 1, Heads: 1, In: 1, Out: 1}), in, out)
		if !slices.Equal(s.Row, c.row) || !slices.Equal(s.Col, c.col) {
			t.Errorf("%s: %v, want rows %v, columns %v", c.kind, s, c.row, c.col)
		}
	}
}

// What a mean over n neighbours weighs becomes what one over k weighs, a loop keeps its weight, and nothing left out changes no
// bit.
func TestRescale(t *testing.T) {
	for n := int32(1); n < 40; n++ {
		for k := int32(1); k <= n; k++ {
			row := 1 / float32(n)
			got, loop := Rescale(row, n, k)
			if math.Abs(float64(got)*float64(k)-1) > 1e-6 || math.Abs(float64(got*loop/row)-1) > 1e-6 {
				t.Fatalf("%d of %d: row factor %g, of a loop %g", k, n, got, loop)
			}
			if k == n && (got != row || loop != 1) {
				t.Fatalf("all of %d: row factor %g, of a loop %g", n, got, loop)
			}
		}
	}
}

// Weights of a block of two rows and three columns, the first of which is vertex 2, and of its transpose.
func TestBlockWeights(t *testing.T) {
	s := Scaling{Row: []float32{1, 2, 3}, Col: []float32{4, 5, 6}}
	ids, ratio := []int32{2, 0, 1}, []float32{4, 1}
	begin, indices := []int64{0, 2, 4}, []int32{0, 2, 1, 2}
	back, rows := []int64{0, 1, 2, 4}, []int32{0, 1, 0, 1}
	for _, c := range []struct {
		name      string
		got, want []float32
	}{
		{"rows", s.BlockRows(nil, ids[:2], ratio), []float32{12, 1}},
		{"rows, all neighbours", s.BlockRows(nil, ids[:2], nil), []float32{3, 1}},
		{"rows of named.GIN", Scaling{}.BlockRows(nil, ids[:2], ratio), ratio},
		{"rows of named.GIN, all neighbours", Scaling{}.BlockRows(nil, ids[:2], nil), nil},
		{"columns", s.BlockCols(nil, ids), []float32{6, 4, 5}},
		{"columns of named.GIN", Scaling{}.BlockCols(nil, ids), nil},
		{"loops", loopsOf(begin, indices, ratio), []float32{0.25, 1, 1, 1}},
		{"loops of the transpose", loopsOf(back, rows, ratio), []float32{0.25, 1, 1, 1}},
		{"loops, all neighbours", loopsOf(begin, indices, nil), []float32{1, 1, 1, 1}},
	} {
		if !slices.Equal(c.got, c.want) {
			t.Errorf("%s: %v, want %v", c.name, c.got, c.want)
		}
	}
}

// loopsOf returns the values of entries that weigh 1, with loops that keep their weight.
func loopsOf(begin []int64, indices []int32, ratio []float32) []float32 {
	val := slices.Repeat([]float32{1}, len(indices))
	KeepLoops(val, begin, indices, ratio)
	return val
}
