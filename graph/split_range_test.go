package graph

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"
)

// Every part of a range equals that of the whole cut, pruned or not; the others equal it but for edges, of which they have the number. A range is
// smaller, and all ranges of one part each have between them the edges of the whole once.
func TestSplitRange(t *testing.T) {
	for seed := range uint64(40) {
		r := rand.New(rand.NewPCG(seed, 3))
		n, parts := 20+r.IntN(180), 1+r.IntN(7)
		g, err := Random(n, r.IntN(6*n), seed%2 == 0, seed)
		if err != nil {
			t.Fatal(err)
		}
		if seed%3 == 0 {
			g = g.WithLoops()
		}
		loops := []Loops{LoopsKept, LoopsAdded, LoopsRemoved}[r.IntN(3)]
		part, seeds, rank := make([]int32, n), make([]bool, n), make([]int32, n)
		share := []float64{0.05, 0.5, 1}[r.IntN(3)]
		for v, k := range r.Perm(n) {
			part[v], seeds[v], rank[v] = int32(r.IntN(parts)), r.Float64() < share, int32(k)
		}
		dropped := make([][]NodeID, parts)
		if seed%4 > 0 {
			for i := range dropped {
				for v := range NodeID(n) {
					if int(part[v]) != i && r.Float64() < share {
						dropped[i] = append(dropped[i], v)
					}
				}
			}
		}
		p, err := NewPruning(part, parts, dropped)
		if err != nil {
			t.Fatal(err)
		}
		level := Needed(g, seeds, 3, p)
		whole, err := Split(g, loops, part, parts, level, 3, rank, p)
		if err != nil {
			t.Fatal(err)
		}
		lo := r.IntN(parts)
		own := Range{lo, lo + 1 + r.IntN(parts-lo)}
		t.Run(fmt.Sprintf("seed=%d/parts=%v of %d/pruned=%t", seed, own, parts, p != nil), func(t *testing.T) {
			some, err := SplitRange(g, loops, part, parts, own, level, 3, rank, p)
			if err != nil {
				t.Fatal(err)
			}
			sameRange(t, some, whole)
			sameRange(t, some.Without(p), whole.Without(p))
			local := slices.Clone(some.LocalOf)
			if err := some.Validate(); err != nil || !slices.Equal(local, some.LocalOf) {
				t.Errorf("the range is not valid: %v", err)
			}
			if err := some.Without(p).Validate(); err != nil {
				t.Errorf("the range is not valid once pruned: %v", err)
			}
			if all := own == (Range{0, parts}); edgesOf(some) > edgesOf(whole) || all && edgesOf(some) != edgesOf(whole) {
				t.Errorf("%d entries, the whole cut has %d", edgesOf(some), edgesOf(whole))
			}
		})
		sum := 0
		for i := range parts {
			one, err := SplitRange(g, loops, part, parts, Range{i, i + 1}, level, 3, rank, p)
			if err != nil {
				t.Fatal(err)
			}
			sum += edgesOf(one)
		}
		if sum != edgesOf(whole) {
			t.Errorf("seed %d: ranges of one part have %d entries, the whole cut %d", seed, sum, edgesOf(whole))
		}
	}
}

// sameRange demands that parts of a range are those of the whole cut, the others but for edges.
func sameRange(t *testing.T, some, whole *Cut) {
	t.Helper()
	head := func(c *Cut) *Cut {
		k := *c
		k.Parts = nil
		return &k
	}
	a, b := head(some), head(whole)
	for i, p := range some.Parts {
		q := *whole.Parts[i]
		if !some.Own.Has(i) {
			q.Central = nil
			q.In, q.Out = withoutEdges(t, &p.In, q.In), withoutEdges(t, &p.Out, q.Out)
			if p.In.Inner != nil || p.Out.Inner != nil || p.In.Halo.Indices != nil || p.Out.Halo.Indices != nil {
				t.Fatalf("part %d has edges, the range is %v", i, some.Own)
			}
			far := *p
			p = &far
			p.In.Inner, p.Out.Inner = noEdges, noEdges
		} else if p.In.Edges != nil || p.Out.Left != nil {
			t.Fatalf("part %d has its edges, and their number", i)
		}
		a.Parts, b.Parts = append(a.Parts, p), append(b.Parts, &q)
	}
	sameCut(t, a, b)
}

// withoutEdges returns b without edges, the number of which by halo vertex is to be that of far.
func withoutEdges(t *testing.T, far *Block, b Block) Block {
	t.Helper()
	if !slices.Equal(far.HaloEdges(), b.HaloEdges()) {
		t.Fatalf("%v edges, want %v", far.HaloEdges(), b.HaloEdges())
	}
	b.Inner, b.Halo = noEdges, HaloRows{}
	return b
}

var noEdges = &CSR{}

// edgesOf counts the entries that a cut holds.
func edgesOf(c *Cut) int {
	n := 0
	for _, p := range c.Parts {
		for _, b := range []*Block{&p.In, &p.Out} {
			if n += len(b.Halo.Indices); b.Inner != nil {
				n += len(b.Inner.Indices)
			}
		}
	}
	return n
}

// A range outside of the parts is not taken, and Lost counts what pruning leaves out.
func TestSplitRangeInput(t *testing.T) {
	g, err := Random(30, 90, true, 1)
	if err != nil {
		t.Fatal(err)
	}
	part := make([]int32, 30)
	for v := range part {
		part[v] = int32(v % 3)
	}
	for _, own := range []Range{{-1, 2}, {2, 1}, {0, 4}} {
		if _, err := SplitRange(g, LoopsKept, part, 3, own, AllNeeded(30, 1), 1, nil, nil); err == nil {
			t.Errorf("%v of 3 parts: taken", own)
		}
	}
	p, err := NewPruning(part, 3, [][]NodeID{{1, 2, 4}, {0, 5}, nil})
	if err != nil {
		t.Fatal(err)
	}
	for v, n := range p.Lost(g) {
		want := int32(0)
		for _, u := range g.Row(v) {
			if p.Drops(u, NodeID(v)) {
				want++
			}
		}
		if n != want {
			t.Errorf("vertex %d loses %d edges, want %d", v, n, want)
		}
	}
}
