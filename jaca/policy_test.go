package jaca

import (
	"slices"
	"testing"

	"capgnn/graph"
)

// TestStaticPolicies gives one slot per cache on four forward (see there): part 0 reads 2 (R = 1, two edges) and 3 (R = 2), part 1
// reads 0 and 3 (R = 2 both), part 2 reads 0. Rows 0 and 3 have two edges each.
func TestStaticPolicies(t *testing.T) {
	x, _ := four(t)
	degree := [2][]int32{{1, 1, 9, 5}, nil}
	for _, tc := range []struct {
		policy Policy
		global graph.NodeID
		local  []graph.NodeID
	}{
		{Paper, 0, ids(3, 0, 0)}, {LowOverlap, 2, ids(2, 0, 0)}, {Degree, 2, ids(2, 3, 0)},
	} {
		plan, err := Build([]Exchange{x}, &Capacities{Global: 1, Local: []int{1, 1, 1}}, Options{Policy: tc.policy, Degree: degree})
		if err != nil {
			t.Fatal(err)
		}
		table := plan.Tables[0]
		var local []graph.NodeID
		for i, r := range table.Readers {
			local = append(local, x.Halos[i].IDs[r.Local[0]])
		}
		if table.Global[0] != tc.global || !slices.Equal(local, tc.local) {
			t.Errorf("%s: global %v, local %v, want %d, %v", tc.policy, table.Global, local, tc.global, tc.local)
		}
	}
}

// TestRandom: rows are drawn evenly, by the seed, and by each cache on its own. Over 2000 seeds each of 5 rows gets the one slot
// 400 times on average, with a deviation of √(2000·0.2·0.8) = 18; 5 of these are allowed.
func TestRandom(t *testing.T) {
	x := Exchange{Layer: 1, RowBytes: 4, Halos: []Halo{
		{},
		{IDs: ids(0, 1, 2, 3, 4), Owners: owners(0, 5), Count: []int{5}, Edges: make([]int32, 5)},
	}}
	const seeds = 2000
	global, local, both := make([]int, 5), make([]int, 5), 0
	for seed := range uint64(seeds) {
		plan, err := Build([]Exchange{x}, &Capacities{Global: 1, Local: []int{1, 1}}, Options{Policy: Random, Seed: seed})
		if err != nil {
			t.Fatal(err)
		}
		g, l := plan.Tables[0].Global[0], plan.Tables[0].Readers[1].Local[0]
		global[g]++
		local[l]++
		if int32(g) == l {
			both++
		}
	}
	for _, n := range slices.Concat(global, local, []int{both}) {
		if n < seeds/5-90 || n > seeds/5+90 {
			t.Errorf("global %v, local %v, %d times the same: want about %d each", global, local, both, seeds/5)
			break
		}
	}
}

func TestParsePolicy(t *testing.T) {
	for _, p := range Policies {
		if got, err := ParsePolicy(string(p)); got != p || err != nil {
			t.Errorf("%s: %s, %v", p, got, err)
		}
	}
	if _, err := ParsePolicy("mru"); err == nil {
		t.Error("mru was accepted")
	}
}
