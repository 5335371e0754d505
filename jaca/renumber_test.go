package jaca

import (
	"reflect"
	"slices"
	"testing"
)

// rowsIn returns which halo rows of a part have a local and a global slot, by looking them up in the tables.
func rowsIn(t *Table, part int) (local, global []bool) {
	r := &t.Readers[part]
	for _, at := range r.Place {
		local = append(local, at >= 0 && int(at) < len(r.Local))
	}
	for _, slot := range r.Global {
		global = append(global, slot >= 0)
	}
	return local, global
}

// TestRenumberChain takes a layer through 1 → 2 → 4 → 16 → 1: tables hold to their doc comments in each, the same rows keep
// local and global slots, the time that a replay of the new tables takes is what the placement predicts for the new period, and
// tables depend on the period alone, not on the way to it. The other layer's tables are the same objects.
func TestRenumberChain(t *testing.T) {
	d := &draw{seed: 12}
	for _, policy := range Policies {
		for range 25 {
			first := randomPlan(t, d, policy, 1)
			one := *first
			one.Tables = []*Table{first.Tables[0], otherLayer(first.Tables[0], 1, Backward), otherLayer(first.Tables[0], 2, Forward)}
			plan := &one
			for _, period := range []int{2, 4, 16, 1} {
				before := slices.Clone(plan.Tables)
				next := plan.Renumber(1, period)
				if !slices.Equal(plan.Tables, before) {
					t.Fatal("the plan that was renumbered has changed")
				}
				if plan = next; plan.Tables[2] != one.Tables[2] {
					t.Fatal("layer 2 was renumbered with layer 1")
				}
				for e := range 2 {
					checkRenumbered(t, plan, e, one.Tables[e], period)
				}
			}
			if !reflect.DeepEqual(plan.Tables[0], one.Tables[0]) {
				t.Fatalf("%s: tables differ once back at period 1", policy)
			}
		}
	}
}

// otherLayer returns a table as one of another exchange.
func otherLayer(t *Table, layer int, dir Direction) *Table {
	u := *t
	u.Layer, u.Dir = layer, dir
	return &u
}

// checkRenumbered holds one table of a plan against the one that it came from, of period 1.
func checkRenumbered(t *testing.T, p *Plan, e int, from *Table, period int) {
	t.Helper()
	u := p.Tables[e]
	if u.Period != period || u.Layer != from.Layer || u.Dir != from.Dir {
		t.Fatalf("layer %d %s of period %d, want layer %d %s of %d", u.Layer, u.Dir, u.Period, from.Layer, from.Dir, period)
	}
	if err := checkTable(p, u); err != nil {
		t.Fatalf("%s, period %d: %v", p.Policy, period, err)
	}
	if direct := from.Renumber(period); !reflect.DeepEqual(direct, u) {
		t.Fatalf("%s, period %d: tables depend on the periods before", p.Policy, period)
	}
	for i := range u.Readers {
		local, global := rowsIn(u, i)
		wantLocal, wantGlobal := rowsIn(from, i)
		if !slices.Equal(local, wantLocal) || !slices.Equal(global, wantGlobal) {
			t.Fatalf("%s, period %d, part %d: other rows have slots", p.Policy, period, i)
		}
	}
	if p.Policy.Static() {
		one := *p
		one.Tables = []*Table{u}
		checkSeconds(t, &one, Schedule{Period: period, Lag: 1, Start: 5})
	}
}

// TestSlotsFilled: whatever they save, local slots are given while a part has rows for them.
func TestSlotsFilled(t *testing.T) {
	d := &draw{seed: 13}
	for _, policy := range Policies {
		if policy == None || !policy.Static() {
			continue
		}
		for n := range 100 {
			p := randomPlan(t, d, policy, 1+n%(MaxStaleness+1))
			for i := range p.Tables[0].Readers {
				got, want := len(p.Tables[0].Readers[i].Local), min(p.Capacities.Local[i], p.Tables[0].Halos[i].rows())
				if got != want {
					t.Fatalf("%s, part %d: %d of %d slots are used", policy, i, got, want)
				}
			}
		}
	}
}
