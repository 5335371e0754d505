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
	for _, tc := range []struct {
		policy Policy
		global graph.NodeID
		local  []graph.NodeID
	}{
		{Paper, 0, ids(3, 0, 0)}, {LowOverlap, 2, ids(2, 0, 0)},
	} {
		plan, err := Build([]Exchange{x}, &Capacities{Global: 1, Local: []int{1, 1, 1}}, Options{Policy: tc.policy})
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
