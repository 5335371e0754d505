package graph

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"testing"
)

// pruned is a graph cut in parts that do without some replicas.
type pruned struct {
	g           *CSR
	part        []int32
	seeds       []bool
	level       []Level
	whole, kept *Cut
	drops       map[[2]NodeID]bool // {part, vertex}
}

func (c *pruned) dropsEdge(u, v NodeID) bool { return c.drops[[2]NodeID{c.part[v], u}] }

// pruneCases are graphs, directed and not, of which parts do without a share of the other parts' vertices, up to all.
func pruneCases(t *testing.T, f func(t *testing.T, c *pruned)) {
	const n = 150
	for _, directed := range []bool{false, true} {
		for _, parts := range []int{2, 3, 8} {
			for _, share := range []float64{0.1, 0.6, 1} {
				for _, seeds := range []float64{0.05, 1} {
					t.Run(fmt.Sprintf("directed=%t/parts=%d/drops=%g/seeds=%g", directed, parts, share, seeds), func(t *testing.T) {
						g, err := Random(n, 400, directed, 7)
						if err != nil {
							t.Fatal(err)
						}
						c := &pruned{g: g.WithLoops(), part: make([]int32, n), seeds: make([]bool, n), drops: map[[2]NodeID]bool{}}
						r := rand.New(rand.NewPCG(1, uint64(parts)))
						rank := make([]int32, n)
						for v, k := range r.Perm(n) {
							c.part[v], c.seeds[v], rank[v] = int32(r.IntN(parts)), r.Float64() < seeds, int32(k)
						}
						dropped := make([][]NodeID, parts)
						for i := range dropped {
							for v := range NodeID(n) {
								if int(c.part[v]) != i && r.Float64() < share {
									dropped[i] = append(dropped[i], v)
									c.drops[[2]NodeID{NodeID(i), v}] = true
								}
							}
						}
						p, err := NewPruning(c.part, parts, dropped)
						if err != nil {
							t.Fatal(err)
						}
						c.level = Needed(c.g, c.seeds, 3, p)
						if c.whole, err = Split(c.g, LoopsKept, c.part, parts, c.level, 3, rank, p); err != nil {
							t.Fatal(err)
						}
						c.kept = c.whole.Without(p)
						f(t, c)
					})
				}
			}
		}
	}
}

// A pruned cut holds the edges that are kept, in the order of the whole cut, and nothing else; the whole cut holds all.
func TestWithout(t *testing.T) {
	pruneCases(t, func(t *testing.T, c *pruned) {
		if err := c.kept.Validate(); err != nil {
			t.Fatal(err)
		}
		if c.kept.Symmetric != c.whole.Symmetric || !slices.Equal(c.kept.InDegree, c.g.InDegree()) {
			t.Error("symmetry or degrees have changed")
		}
		tr := c.g.Transpose()
		for i, p := range c.kept.Parts {
			q := c.whole.Parts[i]
			if p.In.Inner != q.In.Inner || p.Out.Inner != q.Out.Inner || &p.Inner[0] != &q.Inner[0] {
				t.Fatal("inner rows are not shared")
			}
			checkHalo(t, c, i, &p.In, &q.In, c.g, func(v, u NodeID) bool { return !c.dropsEdge(u, v) })
			checkHalo(t, c, i, &p.Out, &q.Out, tr, func(u, v NodeID) bool { return !c.dropsEdge(u, v) })
			everything := func(NodeID, NodeID) bool { return true }
			checkHalo(t, c, i, &q.In, &q.In, c.g, everything)
			checkHalo(t, c, i, &q.Out, &q.Out, tr, everything)
			checkCentral(t, p, i)
			checkCentral(t, q, i)
		}
	})
}

// checkHalo demands that b has the remote entries of its rows in a that keeps holds for, ordered as in whole.
func checkHalo(t *testing.T, c *pruned, i int, b, whole *Block, a *CSR, keeps func(row, u NodeID) bool) {
	t.Helper()
	used := map[NodeID]bool{}
	at := 0
	for r, v := range c.whole.Parts[i].Inner {
		var want, got []NodeID
		for _, u := range a.Row(int(v)) {
			if int(c.part[u]) != i && keeps(v, u) {
				want, used[u] = append(want, u), true
			}
		}
		if at < len(b.Halo.List) && int(b.Halo.List[at]) == r {
			row := b.Halo.Indices[b.Halo.Indptr[at]:b.Halo.Indptr[at+1]]
			if !slices.IsSortedFunc(row, func(x, y int32) int { return int(b.Levels[y]) - int(b.Levels[x]) }) {
				t.Fatalf("part %d, row %d: levels do not descend", i, r)
			}
			for _, h := range row {
				got = append(got, b.IDs[h])
			}
			at++
		}
		slices.Sort(got)
		if !slices.Equal(got, want) {
			t.Fatalf("part %d, vertex %d: remote neighbours %v, want %v", i, v, got, want)
		}
	}
	if at != len(b.Halo.List) || len(used) != len(b.IDs) {
		t.Fatalf("part %d: %d rows and %d halo vertices, want %d and %d", i, len(b.Halo.List), len(b.IDs), at, len(used))
	}
	next := 0
	for k, u := range whole.IDs {
		if used[u] {
			if b.IDs[next] != u || b.Levels[next] != whole.Levels[k] {
				t.Fatalf("part %d: halo vertex %d is %d of level %d, want %d of %d", i, next, b.IDs[next], b.Levels[next], u, whole.Levels[k])
			}
			next++
		}
	}
}

// checkCentral demands that the central rows of every level come first in it and are all that have no remote neighbour.
func checkCentral(t *testing.T, p *Part, i int) {
	t.Helper()
	central := 0
	for _, r := range p.Central {
		central += r.Hi - r.Lo
		for l := r.Lo; l < r.Hi; l++ {
			if slices.Contains(p.In.Halo.List, int32(l)) || slices.Contains(p.Out.Halo.List, int32(l)) {
				t.Fatalf("part %d: row %d is central and has a halo neighbour", i, l)
			}
		}
	}
	marginal := slices.Concat(p.In.Halo.List, p.Out.Halo.List)
	slices.Sort(marginal)
	if marginal = slices.Compact(marginal); central+len(marginal) != len(p.Inner) {
		t.Fatalf("part %d: %d central and %d marginal rows of %d", i, central, len(marginal), len(p.Inner))
	}
}

// Needed of a pruned graph against its definition.
func TestNeededPruned(t *testing.T) {
	pruneCases(t, func(t *testing.T, c *pruned) {
		const layers = 3
		want := make([]Level, c.g.Rows())
		s := slices.Clone(c.seeds)
		for v := range want {
			want[v] = -1
		}
		for k := layers; k >= 0; k-- {
			next := slices.Clone(s)
			for v := range s {
				if !s[v] {
					continue
				}
				want[v] = max(want[v], Level(k))
				for _, u := range c.g.Row(v) {
					next[u] = next[u] || k == 1 || !c.dropsEdge(u, NodeID(v))
				}
			}
			s = next
		}
		if !slices.Equal(c.level, want) {
			t.Errorf("levels %v, want %v", c.level, want)
		}
	})
}

// ⟨A_eff x, y⟩ = ⟨x, A_effᵀ y⟩ over all parts and layers with exactly the rows that are exchanged. A_eff(0) is the whole
// graph, A_eff(ℓ) what is kept of it, both restricted to needed rows; a row that is read and not needed before is NaN.
func TestPrunedAdjoint(t *testing.T) {
	pruneCases(t, func(t *testing.T, c *pruned) {
		r := rand.New(rand.NewPCG(5, 5))
		for l := range c.kept.Layers {
			x, y := make([]float64, c.g.Rows()), make([]float64, c.g.Rows())
			for v := range x {
				x[v], y[v] = math.NaN(), math.NaN()
				if int(c.level[v]) >= l {
					x[v] = r.NormFloat64()
				}
				if int(c.level[v]) > l {
					y[v] = r.NormFloat64()
				}
			}
			want := 0.0
			for v := range c.g.Rows() {
				if int(c.level[v]) <= l {
					continue
				}
				for _, u := range c.g.Row(v) {
					if l == 0 || !c.dropsEdge(u, NodeID(v)) {
						want += x[u] * y[v]
					}
				}
			}
			cut := c.kept
			if l == 0 {
				cut = c.whole
			}
			forward, backward := 0.0, 0.0
			for _, p := range cut.Parts {
				forward += p.In.dot(cut, p, l, p.Rows[l+1], p.Rows[l], x, y)
				backward += p.Out.dot(cut, p, l, p.Rows[l], p.Rows[l+1], y, x)
			}
			if !(math.Abs(forward-want) <= 1e-9) || !(math.Abs(backward-want) <= 1e-9) {
				t.Errorf("layer %d: ⟨Ax,y⟩ = %v, ⟨x,Aᵀy⟩ = %v, want %v", l, forward, backward, want)
			}
		}
	})
}

// Where nothing is dropped the halo rows of the whole cut serve.
func TestWithoutShares(t *testing.T) {
	g, err := Random(150, 400, true, 7)
	if err != nil {
		t.Fatal(err)
	}
	part := make([]int32, 150)
	for v := range part {
		part[v] = int32(v % 3)
	}
	c, err := Split(g, LoopsKept, part, 3, AllNeeded(150, 2), 2, nil, nil)
	if err != nil {
		t.Fatal(err)
	}
	read := &c.Parts[0].In
	u := read.IDs[0] // of part 1
	p, err := NewPruning(part, 3, [][]NodeID{{u}, nil, nil})
	if err != nil {
		t.Fatal(err)
	}
	k := c.Without(p)
	for i, q := range c.Parts {
		same := func(a, b *Block) bool { return &a.Halo.Indices[0] == &b.Halo.Indices[0] && &a.IDs[0] == &b.IDs[0] }
		if in, out := same(&q.In, &k.Parts[i].In), same(&q.Out, &k.Parts[i].Out); in == (i == 0) || out == (i == 1) {
			t.Errorf("part %d: in-edges shared %t, out-edges shared %t", i, in, out)
		}
	}
}

func TestNewPruning(t *testing.T) {
	part := []int32{0, 1, 0, 1, 2}
	for _, none := range [][][]NodeID{nil, {}, {nil, {}, nil}} {
		if p, err := NewPruning(part, 3, none); p != nil || err != nil {
			t.Errorf("%v: %v, %v", none, p, err)
		}
	}
	p, err := NewPruning(part, 3, [][]NodeID{{1, 4}, nil, {0, 1}})
	if err != nil {
		t.Fatal(err)
	}
	for v := range NodeID(5) {
		for u := range NodeID(5) {
			want := part[v] == 0 && (u == 1 || u == 4) || part[v] == 2 && (u == 0 || u == 1)
			if p.Drops(u, v) != want {
				t.Errorf("drops %d → %d: %t", u, v, !want)
			}
		}
	}
	for name, bad := range map[string][][]NodeID{
		"parts":    {{1}},
		"own":      {{2}, nil, nil},
		"order":    {{4, 1}, nil, nil},
		"twice":    {{1, 1}, nil, nil},
		"large":    {nil, {5}, nil},
		"negative": {nil, {-1}, nil},
	} {
		if _, err := NewPruning(part, 3, bad); err == nil {
			t.Errorf("%s: taken", name)
		}
	}
	c := &Cut{}
	if c.Without(nil) != c {
		t.Error("without anything pruned, the cut is another")
	}
}
