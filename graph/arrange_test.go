package graph

import (
	"cmp"
	"math/rand/v2"
	"slices"
	"testing"
)

// A cut that is only arranged has the parts and degrees of Split, vertices of the loss first, and gives the same edges of pairs.
func TestArrange(t *testing.T) {
	for seed := range uint64(12) {
		r := rand.New(rand.NewPCG(seed, 9))
		n, parts := 20+r.IntN(80), 2+r.IntN(5)
		g, err := Random(n, r.IntN(6*n), seed%2 == 0, seed)
		if err != nil {
			t.Fatal(err)
		}
		loops := []Loops{LoopsKept, LoopsAdded, LoopsRemoved}[r.IntN(3)]
		part, loss, rank := make([]int32, n), make([]bool, n), make([]int32, n)
		for v, k := range r.Perm(n) {
			part[v], loss[v], rank[v] = int32(v%parts), r.IntN(3) == 0, int32(k)
		}
		want, err := Split(g, loops, part, parts, AllNeeded(n, 2), 2, nil, nil)
		if err != nil {
			t.Fatal(err)
		}
		c, err := Arrange(g, loops, part, parts, loss, 2, rank)
		if err != nil {
			t.Fatal(err)
		}
		if !slices.Equal(c.InDegree, want.InDegree) || !slices.Equal(c.OutDegree, want.OutDegree) || c.Symmetric != want.Symmetric {
			t.Errorf("seed %d: degrees differ", seed)
		}
		for k, p := range c.Parts {
			var order []NodeID
			for v := range part {
				if int(part[v]) == k {
					order = append(order, NodeID(v))
				}
			}
			late := map[bool]int{true: 0, false: 1}
			slices.SortFunc(order, func(a, b NodeID) int {
				return cmp.Or(cmp.Compare(late[loss[a]], late[loss[b]]), cmp.Compare(rank[a], rank[b]))
			})
			if !slices.Equal(p.Inner, order) || p.Rows[0] != len(order) || p.Rows[1] != len(order) || slices.ContainsFunc(order[:p.Rows[2]], func(v NodeID) bool { return !loss[v] }) ||
				slices.ContainsFunc(order[p.Rows[2]:], func(v NodeID) bool { return loss[v] }) {
				t.Errorf("seed %d: part %d is %v with rows %v, want %v", seed, k, p.Inner, p.Rows, order)
			}
			for i, v := range p.Inner {
				if c.LocalOf[v] != int32(i) {
					t.Fatalf("seed %d: vertex %d is at %d, not %d", seed, v, c.LocalOf[v], i)
				}
			}
		}
		between := c.EdgesBetween(g, loops)
		checkPair(t, c, g, loops, 0, parts-1, between)
		checkPair(t, c, g, loops, parts-1, 0, between)
	}
	g, err := Random(5, 5, true, 1)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := Arrange(g, LoopsKept, []int32{0, 0, 0, 0, 2}, 2, nil, 1, nil); err == nil {
		t.Error("a part that there is none of is taken")
	}
	if _, err := Arrange(g, LoopsKept, []int32{0}, 2, nil, 1, nil); err == nil {
		t.Error("one entry is taken for five vertices")
	}
	c, err := Arrange(g, LoopsKept, []int32{0, 0, 0, 1, 1}, 2, nil, 1, nil)
	if err != nil || c.Parts[0].Rows[1] != 3 || c.Parts[1].Rows[1] != 2 {
		t.Errorf("without marks not every row is the loss's: %v", err)
	}
}
