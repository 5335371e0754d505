package graph

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"testing"
)

// splitCases are graphs cut in ways that stress numbering: directed and not, with loops, isolated vertices and few seeds.
func splitCases(t *testing.T, f func(t *testing.T, c *Cut, g *CSR, level []Level)) {
	for _, directed := range []bool{false, true} {
		for _, parts := range []int{1, 2, 3, 8} {
			for _, share := range []float64{0.05, 0.6, 1} {
				t.Run(fmt.Sprintf("directed=%t/parts=%d/seeds=%g", directed, parts, share), func(t *testing.T) {
					g, err := Random(150, 400, directed, 7)
					if err != nil {
						t.Fatal(err)
					}
					g = g.WithLoops()
					r := rand.New(rand.NewPCG(1, uint64(parts)))
					part, seeds, rank := make([]int32, 150), make([]bool, 150), make([]int32, 150)
					for v, k := range r.Perm(150) {
						part[v], seeds[v], rank[v] = int32(r.IntN(parts)), r.Float64() < share, int32(k)
					}
					level := Needed(g, seeds, 3, nil)
					c, err := Split(g, LoopsKept, part, parts, level, 3, rank, nil)
					if err != nil {
						t.Fatal(err)
					}
					f(t, c, g, level)
				})
			}
		}
	}
}

// Every vertex is inner exactly once, rows of a level are a prefix, and halos are exactly the remote neighbours.
func TestSplitNumbering(t *testing.T) {
	splitCases(t, func(t *testing.T, c *Cut, g *CSR, level []Level) {
		seen := map[NodeID]bool{}
		for i, p := range c.Parts {
			for l, v := range p.Inner {
				if seen[v] || int(c.PartOf[v]) != i || int(c.LocalOf[v]) != l {
					t.Fatalf("vertex %d: seen %t, part %d, local %d; want part %d, local %d", v, seen[v], c.PartOf[v], c.LocalOf[v], i, l)
				}
				seen[v] = true
				for k := range p.Rows {
					if (l < p.Rows[k]) != (int(level[v]) >= k) {
						t.Fatalf("vertex %d of level %d lies at %d, Rows[%d] = %d", v, level[v], l, k, p.Rows[k])
					}
				}
			}
			for _, r := range p.Central {
				for l := r.Lo; l < r.Hi; l++ {
					if slices.Contains(p.In.Halo.List, int32(l)) || slices.Contains(p.Out.Halo.List, int32(l)) {
						t.Fatalf("part %d: row %d is central and has a halo neighbour", i, l)
					}
				}
			}
			want := map[NodeID]bool{}
			for _, v := range p.Inner {
				for _, u := range g.Row(int(v)) {
					want[u] = want[u] || int(c.PartOf[u]) != i
				}
			}
			for k, u := range p.In.IDs {
				if !want[u] {
					t.Fatalf("part %d: %d is no halo vertex, or twice", i, u)
				}
				delete(want, u)
				if lo, hi := p.In.Owners.Of(int(c.PartOf[u])); k < lo || k >= hi {
					t.Fatalf("part %d: halo %d lies outside its owner's range", i, k)
				}
			}
			for u, remote := range want {
				if remote {
					t.Fatalf("part %d: remote neighbour %d is no halo vertex", i, u)
				}
			}
		}
		if len(seen) != g.Rows() {
			t.Fatalf("%d inner vertices, want %d", len(seen), g.Rows())
		}
	})
}

// Needed against its definition.
func TestNeeded(t *testing.T) {
	g, err := Random(60, 120, true, 3)
	if err != nil {
		t.Fatal(err)
	}
	seeds := make([]bool, 60)
	seeds[4], seeds[17] = true, true
	got := Needed(g, seeds, 3, nil)
	s := map[int]bool{4: true, 17: true}
	want := make([]Level, 60)
	for v := range want {
		want[v] = -1
	}
	for k := 3; k >= 0; k-- {
		for v := range s {
			want[v] = max(want[v], Level(k))
		}
		next := map[int]bool{}
		for v := range s {
			next[v] = true
			for _, u := range g.Row(v) {
				next[int(u)] = true
			}
		}
		s = next
	}
	if !slices.Equal(got, want) {
		t.Errorf("levels %v, want %v", got, want)
	}
}

// ⟨A_eff x, y⟩ = ⟨x, A_effᵀ y⟩ over all parts and layers, with exactly the rows that are exchanged; any other halo row is
// NaN. A_eff(ℓ) is the whole graph restricted to the needed rows of layer ℓ.
func TestSplitAdjoint(t *testing.T) {
	splitCases(t, func(t *testing.T, c *Cut, g *CSR, level []Level) {
		r := rand.New(rand.NewPCG(5, 5))
		x, y := make([]float64, g.Rows()), make([]float64, g.Rows())
		for v := range x {
			x[v], y[v] = r.NormFloat64(), r.NormFloat64()
		}
		for l := range c.Layers {
			want := 0.0
			for v := range g.Rows() {
				if int(level[v]) > l {
					for _, u := range g.Row(v) {
						want += x[u] * y[v]
					}
				}
			}
			forward, backward := 0.0, 0.0
			for _, p := range c.Parts {
				forward += p.In.dot(c, p, l, p.Rows[l+1], p.Rows[l], x, y)
				backward += p.Out.dot(c, p, l, p.Rows[l], p.Rows[l+1], y, x)
			}
			if math.Abs(forward-want) > 1e-9 || math.Abs(backward-want) > 1e-9 {
				t.Errorf("layer %d: ⟨Ax,y⟩ = %v, ⟨x,Aᵀy⟩ = %v, want %v", l, forward, backward, want)
			}
		}
	})
}

// dot returns Σ over the first rows of b of out[row] · Σ over their columns of in[column]. Inner columns from cols on are
// left out, halo rows that layer l does not exchange are NaN unless their entries are cut off by level.
func (b *Block) dot(c *Cut, p *Part, l, rows, cols int, in, out []float64) float64 {
	halo := make([]float64, len(b.IDs))
	for i := range halo {
		halo[i] = math.NaN()
	}
	for o, at := range b.Owners.At[:len(b.Owners.Parts)] {
		for k := range b.Count(o, l) {
			halo[at+k] = in[b.IDs[at+k]]
		}
	}
	sum := 0.0
	for r := range rows {
		for _, u := range b.Inner.Row(r) {
			if int(u) < cols {
				sum += out[p.Inner[r]] * in[p.Inner[u]]
			}
		}
	}
	for k, r := range b.Halo.List {
		if int(r) >= rows {
			break
		}
		for _, h := range b.Halo.Indices[b.Halo.Indptr[k]:b.Halo.Indptr[k+1]] {
			if b == &p.Out && int(b.Levels[h]) < l+1 {
				break // levels descend in a row
			}
			sum += out[p.Inner[r]] * halo[h]
		}
	}
	return sum
}

// The transpose of the halo part holds the same entries.
func TestBlockTranspose(t *testing.T) {
	splitCases(t, func(t *testing.T, c *Cut, g *CSR, _ []Level) {
		for _, p := range c.Parts {
			rows := p.Rows[1]
			got := p.In.Transpose(rows)
			want := map[[2]int32]bool{}
			for k, r := range p.In.Halo.List {
				for _, h := range p.In.Halo.Indices[p.In.Halo.Indptr[k]:p.In.Halo.Indptr[k+1]] {
					if int(r) < rows {
						want[[2]int32{h, r}] = true
					}
				}
			}
			if int64(len(want)) != got.Edges() {
				t.Fatalf("%d entries, want %d", got.Edges(), len(want))
			}
			for h := range got.Rows() {
				for _, r := range got.Row(h) {
					if !want[[2]int32{int32(h), r}] {
						t.Fatalf("entry (%d, %d) is not in the halo part", h, r)
					}
				}
			}
		}
	})
}
