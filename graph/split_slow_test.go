package graph

import (
	"cmp"
	"fmt"
	"math/rand/v2"
	"reflect"
	"slices"
	"sort"
	"testing"
)

// Split equals slowSplit, its definition in one goroutine, in every number, on graphs of several blocks; and with loops it is
// Split of the graph with those loops.
func TestSplitSlow(t *testing.T) {
	const n = 3*rowBlock + 77
	for _, directed := range []bool{false, true} {
		g, err := Random(n, 4*n, directed, 5)
		if err != nil {
			t.Fatal(err)
		}
		some := &CSR{Indptr: make([]int64, n+1), Cols: n} // loops at every third vertex
		for v := range n {
			if v%3 == 0 {
				some.Indices = append(some.Indices, NodeID(v))
			}
			some.Indptr[v+1] = int64(len(some.Indices))
		}
		g = Union(g, some)
		for _, parts := range []int{1, 2, 5, 70} {
			for _, ranked := range []bool{false, true} {
				t.Run(fmt.Sprintf("directed=%t/parts=%d/ranked=%t", directed, parts, ranked), func(t *testing.T) {
					r := rand.New(rand.NewPCG(2, uint64(parts)))
					part, seeds, rank := make([]int32, n), make([]bool, n), make([]int32, n)
					for v, k := range r.Perm(n) {
						part[v], seeds[v], rank[v] = int32(v*parts/n), r.IntN(2000) == 0, int32(k)
						if r.IntN(8) == 0 {
							part[v] = int32(r.IntN(parts))
						}
					}
					if !ranked {
						rank = nil
					}
					level := Needed(g, seeds, 3, nil)
					for _, loops := range []Loops{LoopsKept, LoopsAdded, LoopsRemoved} {
						want, err := slowSplit(g.withLoops(loops), part, parts, level, 3, rank)
						if err != nil {
							t.Fatal(err)
						}
						got, err := Split(g, loops, part, parts, level, 3, rank, nil)
						if err != nil {
							t.Fatal(err)
						}
						sameCut(t, got, want)
					}
				})
			}
		}
	}
}

func sameCut(t *testing.T, got, want *Cut) {
	t.Helper()
	same := func(what string, got, want any) {
		if a, b := reflect.ValueOf(got), reflect.ValueOf(want); a.Kind() == reflect.Slice && a.Len() == 0 && b.Len() == 0 {
			return
		}
		if !reflect.DeepEqual(got, want) {
			t.Fatalf("%s differs", what)
		}
	}
	same("symmetry", got.Symmetric, want.Symmetric)
	same("local ids", got.LocalOf, want.LocalOf)
	same("in-degrees", got.InDegree, want.InDegree)
	same("out-degrees", got.OutDegree, want.OutDegree)
	for i, p := range got.Parts {
		q := want.Parts[i]
		same("inner vertices", p.Inner, q.Inner)
		same("rows", p.Rows, q.Rows)
		same("central ranges", p.Central, q.Central)
		for k, b := range []*Block{&p.In, &p.Out} {
			c := []*Block{&q.In, &q.Out}[k]
			same("inner row pointers", b.Inner.Indptr, c.Inner.Indptr)
			same("inner indices", b.Inner.Indices, c.Inner.Indices)
			same("halo rows", b.Halo.List, c.Halo.List)
			same("halo row pointers", b.Halo.Indptr, c.Halo.Indptr)
			same("halo indices", b.Halo.Indices, c.Halo.Indices)
			same("halo vertices", b.IDs, c.IDs)
			same("owners", b.Owners.Parts, c.Owners.Parts)
			same("owners' vertices", b.Owners.At, c.Owners.At)
			same("halo levels", b.Levels, c.Levels)
		}
		if got.Symmetric && p.In.Inner != p.Out.Inner {
			t.Fatal("the two directions of a symmetric part are not one CSR")
		}
	}
}

func slowSplit(g *CSR, part []int32, parts int, level []Level, layers int, rank []int32) (*Cut, error) {
	n := g.Rows()
	if g.Cols != n || len(part) != n || len(level) != n || rank != nil && len(rank) != n {
		return nil, fmt.Errorf("split a %d×%d graph: %d part entries, %d levels, %d ranks", n, g.Cols, len(part), len(level), len(rank))
	}
	c := &Cut{PartOf: part, LocalOf: make([]int32, n), Layers: layers}
	t := g.Transpose()
	c.InDegree, c.OutDegree = g.InDegree(), t.InDegree()
	c.Symmetric = g.Equal(t)
	if c.Symmetric {
		t = g
	}
	members := make([][]NodeID, parts)
	for v, p := range part {
		if p < 0 || int(p) >= parts {
			return nil, fmt.Errorf("vertex %d: part %d is outside [0, %d)", v, p, parts)
		}
		members[p] = append(members[p], NodeID(v))
	}
	touched := slowTouched(g, t, part)
	for _, inner := range members {
		p := &Part{Inner: inner, Rows: make([]int, layers+1)}
		slowOrder(p, level, touched, rank)
		for i, v := range p.Inner {
			c.LocalOf[v] = int32(i)
		}
		c.Parts = append(c.Parts, p)
	}
	table := make([]int32, n)
	for i := range table {
		table[i] = -1
	}
	reader := make([]Level, n)
	for i, p := range c.Parts {
		readerLevels(reader, g, p.Inner, level)
		p.In = slowBlock(c, g, i, nil, table, reader)
		var share *CSR
		if c.Symmetric {
			share = p.In.Inner
		}
		p.Out = slowBlock(c, t, i, share, table, level)
	}
	return c, nil
}

// touchedParts returns the set of other parts that each vertex has an edge with, modulo 64; 0 for central vertices.
func slowTouched(g, t *CSR, part []int32) []uint64 {
	set := make([]uint64, len(part))
	for v := range set {
		for _, row := range [][]NodeID{g.Row(v), t.Row(v)} {
			for _, u := range row {
				if part[u] != part[v] {
					set[v] |= 1 << (uint(part[u]) % 64)
				}
			}
		}
	}
	return set
}

// order sorts the inner vertices and fills Rows and Central.
func slowOrder(p *Part, level []Level, touched []uint64, rank []int32) {
	slices.SortFunc(p.Inner, func(a, b NodeID) int {
		c := cmp.Or(cmp.Compare(level[b], level[a]), cmp.Compare(touched[a], touched[b]))
		if c == 0 && rank != nil {
			c = cmp.Compare(rank[a], rank[b])
		}
		return cmp.Or(c, cmp.Compare(a, b))
	})
	for k := range p.Rows {
		p.Rows[k] = sort.Search(len(p.Inner), func(i int) bool { return int(level[p.Inner[i]]) < k })
	}
	for lo := 0; lo < len(p.Inner); {
		hi := lo
		for hi < len(p.Inner) && level[p.Inner[hi]] == level[p.Inner[lo]] {
			hi++
		}
		mid := lo
		for mid < hi && touched[p.Inner[mid]] == 0 {
			mid++
		}
		if mid > lo {
			p.Central = append(p.Central, Range{lo, mid})
		}
		lo = hi
	}
}

// readerLevels sets reader[u] to the highest level of the given rows that read u; other entries are left alone.
func readerLevels(reader []Level, g *CSR, rows []NodeID, level []Level) {
	for _, v := range rows {
		for _, u := range g.Row(int(v)) {
			reader[u] = -1
		}
	}
	for _, v := range rows {
		for _, u := range g.Row(int(v)) {
			reader[u] = max(reader[u], level[v])
		}
	}
}

// block builds one direction of part i from the rows of a. share, if given, is used as Inner. table holds -1 everywhere,
// before and after. level is the exchange level of every halo vertex.
func slowBlock(c *Cut, a *CSR, i int, share *CSR, table []int32, level []Level) Block {
	p := c.Parts[i]
	var ids []NodeID
	for _, v := range p.Inner {
		for _, u := range a.Row(int(v)) {
			if int(c.PartOf[u]) != i && table[u] < 0 {
				table[u] = 0
				ids = append(ids, u)
			}
		}
	}
	b := Block{IDs: ids, Owners: Owners{At: []int{0}}, Levels: make([]Level, len(ids))}
	slices.SortFunc(ids, func(x, y NodeID) int {
		return cmp.Or(cmp.Compare(c.PartOf[x], c.PartOf[y]), cmp.Compare(level[y], level[x]), cmp.Compare(c.LocalOf[x], c.LocalOf[y]))
	})
	for k, u := range ids {
		table[u] = int32(k)
		b.Levels[k] = level[u]
	}
	for q := range c.Parts {
		n := 0
		for _, u := range ids {
			if int(c.PartOf[u]) <= q {
				n++
			}
		}
		b.Owners.Append(q, n)
	}
	b.Inner = share
	if share == nil {
		b.Inner = slowInner(c, a, i)
	}
	b.Halo = slowHalo(c, a, i, table, b.Levels)
	for _, u := range ids {
		table[u] = -1
	}
	return b
}

func slowInner(c *Cut, a *CSR, i int) *CSR {
	p := c.Parts[i]
	g := &CSR{Indptr: make([]int64, 1, len(p.Inner)+1), Cols: len(p.Inner)}
	for _, v := range p.Inner {
		lo := len(g.Indices)
		for _, u := range a.Row(int(v)) {
			if int(c.PartOf[u]) == i {
				g.Indices = append(g.Indices, c.LocalOf[u])
			}
		}
		slices.Sort(g.Indices[lo:])
		g.Indptr = append(g.Indptr, int64(len(g.Indices)))
	}
	return g
}

func slowHalo(c *Cut, a *CSR, i int, table []int32, level []Level) HaloRows {
	h := HaloRows{Indptr: []int64{0}}
	for r, v := range c.Parts[i].Inner {
		lo := len(h.Indices)
		for _, u := range a.Row(int(v)) {
			if int(c.PartOf[u]) != i {
				h.Indices = append(h.Indices, table[u])
			}
		}
		if row := h.Indices[lo:]; len(row) > 0 {
			slices.SortFunc(row, func(x, y int32) int { return cmp.Or(cmp.Compare(level[y], level[x]), cmp.Compare(x, y)) })
			h.List = append(h.List, int32(r))
			h.Indptr = append(h.Indptr, int64(len(h.Indices)))
		}
	}
	return h
}
