package graph

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
)

// excerpt returns the rows of the vertices of some parts in a numbering of their own: part by part, then the vertices that they list besides.
func excerpt(g *CSR, part []int32, own Range) *Rows {
	r := &Rows{CSR: &CSR{Indptr: []int64{0}}, At: make([]int32, len(part))}
	for p := own.Lo; p < own.Hi; p++ {
		for v := range NodeID(len(part)) {
			if int(part[v]) == p {
				r.At[v] = int32(len(r.IDs))
				r.IDs = append(r.IDs, v)
			}
		}
	}
	inner := len(r.IDs)
	var halo []NodeID
	for _, v := range r.IDs {
		for _, u := range g.Row(int(v)) {
			if !own.Has(int(part[u])) {
				halo = append(halo, u)
			}
		}
	}
	slices.Sort(halo)
	r.IDs = append(r.IDs, slices.Compact(halo)...)
	for _, v := range r.IDs[:inner] {
		var row []NodeID
		for _, u := range g.Row(int(v)) {
			at := r.At[u]
			if !own.Has(int(part[u])) {
				k, _ := slices.BinarySearch(r.IDs[inner:], u)
				at = int32(inner + k)
			}
			row = append(row, at)
		}
		slices.Sort(row)
		r.Indices = append(r.Indices, row...)
		r.Indptr = append(r.Indptr, int64(len(r.Indices)))
	}
	r.Cols = len(r.IDs)
	return r
}

// A cut made of an outline and the rows of some parts, in their own numbering, is that of the whole graph, for any depth, range and shards.
func TestSplitOutline(t *testing.T) {
	for seed := range uint64(60) {
		r := rand.New(rand.NewPCG(seed, 24))
		n, parts := 8+r.IntN(150), 1+r.IntN(7)
		g, err := Random(n, r.IntN(5*n), seed%2 == 0, seed)
		if err != nil {
			t.Fatal(err)
		}
		if seed%3 == 0 {
			g = g.WithLoops()
		}
		back := g
		var backOf func(int) *Rows
		if !g.Symmetric() {
			back = g.Transpose()
		}
		loops := []Loops{LoopsKept, LoopsAdded, LoopsRemoved}[r.IntN(3)]
		part, seeds := make([]int32, n), make([]bool, n)
		var rank []int32
		for v, k := range r.Perm(n) {
			part[v], seeds[v] = int32(r.IntN(parts)), r.Float64() < 0.1
			if seed%5 == 0 {
				rank = append(rank, int32(k))
			}
		}
		seeds[0] = true
		if back != g {
			backOf = func(i int) *Rows {
				at, rows := make([]int32, n), 0
				for v, p := range part {
					if at[v] = -1; int(p) == i {
						at[v] = int32(rows)
						rows++
					}
				}
				return g.TransposeFor(at, rows)
			}
		}
		o := OutlineOf(g, backOf, seeds, part, parts)
		if err := o.Validate(parts); err != nil {
			t.Fatal(err)
		}
		for layers := 1; layers <= 4; layers++ {
			needed := layers < 4
			level := AllNeeded(n, layers)
			if needed {
				level = Needed(g, seeds, layers, nil)
			}
			lo := r.IntN(parts)
			own := Range{lo, lo + 1 + r.IntN(parts-lo)}
			want, err := SplitRange(g, loops, part, parts, own, level, layers, rank, nil)
			if err != nil {
				t.Fatal(err)
			}
			border := own.Lo + r.IntN(own.Hi-own.Lo+1) // of the shards of two machines
			var in, out [2]*Rows
			for k, of := range []Range{{0, border}, {border, parts}} {
				in[k], out[k] = excerpt(g, part, of), excerpt(back, part, of)
			}
			got, err := SplitOutline(o, func(part int) (*Rows, *Rows) {
				k := 0
				if part >= border {
					k = 1
				}
				return in[k], out[k]
			}, loops, own, needed, layers, rank)
			if err != nil {
				t.Fatalf("seed %d: %v", seed, err)
			}
			t.Run(fmt.Sprintf("seed=%d/layers=%d/parts=%v of %d", seed, layers, own, parts), func(t *testing.T) {
				for i := range want.Parts {
					for k, b := range []*Block{&got.Parts[i].In, &got.Parts[i].Out} {
						c := []*Block{&want.Parts[i].In, &want.Parts[i].Out}[k]
						if (b.Inner == nil) != (c.Inner == nil) || (b.Edges == nil) != (c.Edges == nil) || !slices.Equal(b.Edges, c.Edges) || b.Left != nil {
							t.Fatalf("part %d: edges differ", i)
						}
						if c.Inner == nil {
							b.Inner, c.Inner = noEdges, noEdges
						}
					}
				}
				sameCut(t, got, want)
			})
		}
	}
}

// Tables of another cut, or of another graph, are refused.
func TestSplitOutlineMismatch(t *testing.T) {
	g, err := Random(40, 200, true, 1)
	if err != nil {
		t.Fatal(err)
	}
	part, seeds := make([]int32, 40), make([]bool, 40)
	for v := range part {
		part[v], seeds[v] = int32(v%3), true
	}
	other := slices.Clone(part)
	other[0] = 1
	for _, tc := range []struct {
		what  string
		spoil func(o *Outline, rows *Rows)
		want  string
	}{
		{"degrees", func(o *Outline, _ *Rows) { o.InDegree[3]++ }, "other edges"},
		{"loops", func(o *Outline, _ *Rows) { o.Loops[3] = !o.Loops[3] }, "other edges"},
		{"halo", func(o *Outline, _ *Rows) {
			o.In[0].IDs = o.In[0].IDs[1:]
			o.In[0].Edges = o.In[0].Edges[1:]
			o.In[0].Hops = o.In[0].Hops[1:]
		}, "other halo vertices"},
		{"depth", func(o *Outline, _ *Rows) {}, "layers"},
	} {
		o := OutlineOf(g, nil, seeds, part, 3)
		rows := &Rows{CSR: g}
		tc.spoil(o, rows)
		layers := 2
		if tc.what == "depth" {
			layers = 101
		}
		_, err := SplitOutline(o, func(int) (*Rows, *Rows) { return rows, rows }, LoopsAdded, Range{0, 2}, true, layers, nil)
		if err == nil || !strings.Contains(err.Error(), tc.want) {
			t.Errorf("%s: %v, want %q", tc.what, err, tc.want)
		}
	}
	for what, spoil := range map[string]func(o *Outline){
		"degrees":  func(o *Outline) { o.InDegree = o.InDegree[1:] },
		"negative": func(o *Outline) { o.InDegree[2] = -1 },
		"hops":     func(o *Outline) { o.Hops[1] = 200 },
		"parts":    func(o *Outline) { o.In = o.In[:2] },
		"ids":      func(o *Outline) { o.In[1].IDs[0] = 40 },
		"own":      func(o *Outline) { o.In[1].IDs[0] = 1 },
		"order":    func(o *Outline) { o.In[1].IDs[0] = o.In[1].IDs[1] },
		"edges":    func(o *Outline) { o.In[1].Edges[0] = 0 },
		"fewer":    func(o *Outline) { o.In[1].Edges = o.In[1].Edges[1:] },
		"reader":   func(o *Outline) { o.In[1].Hops[0] = 101 },
		"no hops":  func(o *Outline) { o.In[1].Hops = nil },
	} {
		o := OutlineOf(g, nil, seeds, part, 3)
		spoil(o)
		if err := o.Validate(3); err == nil {
			t.Errorf("%s: an outline that is spoilt is valid", what)
		}
	}
}

// Rows whose edges weigh other than the tables say, in either direction or at a loop, are refused, and so are tables that no weights have.
func TestSplitOutlineWeights(t *testing.T) {
	for seed := range uint64(8) {
		r := rand.New(rand.NewPCG(seed, 25))
		n := 20 + r.IntN(40)
		plain, err := Random(n, 5*n, true, seed)
		if err != nil {
			t.Fatal(err)
		}
		g := plain.Symmetrise().WithLoops()
		for range g.Indices {
			g.Weights = append(g.Weights, float32(r.NormFloat64()))
		}
		part, seeds := make([]int32, n), make([]bool, n)
		for v := range part {
			part[v], seeds[v] = int32(v%3), true
		}
		o := OutlineOf(g, nil, seeds, part, 3)
		if err := o.Validate(3); err != nil {
			t.Fatal(err)
		}
		split := func(of Range, spoil func(in, out *Rows)) error {
			in, out := excerpt(g, part, Range{0, 3}), excerpt(g, part, Range{0, 3})
			for _, rows := range []*Rows{in, out} {
				rows.Weights = nil
				for k, v := range rows.IDs {
					for _, c := range rows.Row(k) {
						if u := rows.IDs[c]; rows == in {
							rows.Weights = append(rows.Weights, g.Weight(u, v))
						} else {
							rows.Weights = append(rows.Weights, g.Weight(v, u))
						}
					}
				}
			}
			spoil(in, out)
			_, err := SplitOutline(o, func(int) (*Rows, *Rows) { return in, out }, LoopsAdded, of, true, 2, nil)
			return err
		}
		if err := split(Range{0, 3}, func(_, _ *Rows) {}); err != nil {
			t.Errorf("seed %d: %v", seed, err)
		}
		e := r.IntN(len(g.Weights))
		for what, spoil := range map[string]func(in, out *Rows){"in": func(in, _ *Rows) { in.Weights[e] += 0x1p-10 }, "out": func(_, out *Rows) { out.Weights[e] += 0x1p-10 }} {
			if err := split(Range{0, 3}, spoil); err == nil || !strings.Contains(err.Error(), "weigh other than the tables") {
				t.Errorf("seed %d: %s: %v", seed, what, err)
			}
		}
		for what, spoil := range map[string]func(s *WeightSums){
			"fewer":     func(s *WeightSums) { s.Out = s.Out[1:] },
			"infinite":  func(s *WeightSums) { s.In[3] = math.Inf(1) },
			"none":      func(s *WeightSums) { s.InAny[2] = false },
			"loop":      func(s *WeightSums) { s.Loop[1] = float32(math.NaN()) },
			"no loop":   func(s *WeightSums) { s.Loops = make([]bool, n) },
			"other sum": func(s *WeightSums) { s.OutAny[0], s.Out[0] = false, 1 },
		} {
			o := OutlineOf(g, nil, seeds, part, 3)
			if spoil(o.Weights); o.Validate(3) == nil {
				t.Errorf("%s: sums that are spoilt are valid", what)
			}
		}
	}
}
