package learn

import (
	"slices"
	"testing"

	"capgnn/graph"
)

// Scores are of labelled vertices of a split; in shards, whose splits are known to their own processes alone, of any vertex with a label.
func TestScored(t *testing.T) {
	no, yes := false, true
	g := &graph.CSR{Indptr: make([]int64, 5), Cols: 4}
	p := &Problem{Graph: g, Classes: 2, Labels: []int32{0, 1, -1, 1}, Train: []bool{yes, no, no, no}, Test: []bool{no, no, yes, yes}}
	check := func(what string, p *Problem, want ...bool) {
		t.Helper()
		if got := p.Scored(); !slices.Equal(got, want) {
			t.Errorf("%s: %v, want %v", what, got, want)
		}
	}
	check("labels", p, yes, no, no, yes)
	multi := *p
	multi.Labels, multi.Targets = nil, make([]uint8, 8)
	check("targets", &multi, yes, no, yes, yes)
	multi.Val = []bool{no, yes, no, no}
	check("all", &multi)
	shards := *p
	shards.Shards = &Shards{Outline: graph.Outline{PartOf: make([]int32, 4)}}
	check("shards", &shards, yes, yes, no, yes)
	shards.Labels, shards.Targets = nil, multi.Targets
	check("targets in shards", &shards)
}
