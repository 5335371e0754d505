package jaca

import (
	"errors"
	"fmt"
	"reflect"
	"slices"
	"testing"

	"capgnn/graph"
)

// allPolicies are those by which rows are exchanged, and those that are replayed only.
var allPolicies = append(slices.Clone(Policies), FIFO, LRU, LowOverlap)

// randomPlan draws an exchange, capacities and links and plans them.
func randomPlan(t *testing.T, d *draw, policy Policy, period int) *Plan {
	parts := 2 + d.below(4)
	x := tiny(d, parts, 1+d.below(60))
	caps := &Capacities{Global: d.below(40), Local: make([]int, parts)}
	for i := range caps.Local {
		caps.Local[i] = d.below(25)
	}
	o := Options{Policy: policy, Links: randomLinks(d, parts), Period: period}
	p, err := Build([]Exchange{x}, caps, o)
	if err != nil {
		t.Fatal(err)
	}
	again, err := Build([]Exchange{x}, caps, o)
	if err != nil || !reflect.DeepEqual(p, again) {
		t.Fatalf("%s: two plans of the same arguments differ (%v)", policy, err)
	}
	return p
}

// TestPlan holds the tables of every policy and period to their doc comments.
func TestPlan(t *testing.T) {
	d := &draw{seed: 4}
	for _, policy := range allPolicies {
		for n := range 60 {
			p := randomPlan(t, d, policy, 1+n%(MaxStaleness+1))
			if err := checkTable(p, p.Tables[0]); err != nil {
				t.Fatalf("%s: %v", policy, err)
			}
			if n := len(p.Tables[0].Global); (policy == None || policy.Dynamic()) && n > 0 {
				t.Fatalf("%s: %d global slots", policy, n)
			}
		}
	}
}

func checkTable(p *Plan, t *Table) error {
	parts := len(t.Halos)
	if len(t.Global) > p.Capacities.Global {
		return fmt.Errorf("%d global slots, capacity %d", len(t.Global), p.Capacities.Global)
	}
	classOf := map[graph.NodeID]int{}
	least, most := len(t.Global), 0
	for c := range t.Period {
		lo, hi := t.GlobalAt[c*parts], t.GlobalAt[(c+1)*parts]
		least, most = min(least, hi-lo), max(most, hi-lo)
		for s := lo; s < hi; s++ {
			classOf[t.Global[s]] = c
		}
	}
	if most-least > 1 || len(classOf) != len(t.Global) {
		return fmt.Errorf("classes of %d to %d global slots, %d vertices in %d", least, most, len(classOf), len(t.Global))
	}
	for i := range t.Readers {
		if len(t.Readers[i].Local) > p.Capacities.Local[i] {
			return fmt.Errorf("part %d: %d local slots, capacity %d", i, len(t.Readers[i].Local), p.Capacities.Local[i])
		}
		if err := checkReader(t, i, classOf); err != nil {
			return fmt.Errorf("part %d: %w", i, err)
		}
	}
	return nil
}

// checkReader looks every exchanged row up in the tables of a part.
func checkReader(t *Table, part int, classOf map[graph.NodeID]int) error {
	r, h, parts := &t.Readers[part], &t.Halos[part], len(t.Halos)
	owners := len(h.Count)
	seen := make([]bool, h.rows())
	var err error
	h.each(func(at, k int) {
		owner := int(h.Owners.Parts[at])
		c, isGlobal := classOf[h.IDs[k]]
		source, at := at, int(r.Place[k])
		if isGlobal {
			source = owners
			if s := r.Global[k]; t.Global[s] != h.IDs[k] || int(s) < t.GlobalAt[c*parts+owner] || int(s) >= t.GlobalAt[c*parts+owner+1] {
				err = fmt.Errorf("row %d has global slot %d of class %d, owner %d", k, s, c, owner)
			}
		} else if r.Global[k] != -1 {
			err = fmt.Errorf("row %d has a global slot that is not its own", k)
		}
		if seen[at] {
			err = fmt.Errorf("place %d has two rows", at)
		}
		seen[at] = true
		local := at < len(r.Local)
		class := int(r.Class[k])
		switch {
		case isGlobal && class != c:
			err = fmt.Errorf("row %d has class %d here, %d in the global cache", k, class, c)
		case !isGlobal && local != (class >= 0):
			err = fmt.Errorf("row %d, local %v, has class %d", k, local, class)
		case local && r.Local[at] != int32(k), !local && r.Transient[at-len(r.Local)] != int32(k):
			err = fmt.Errorf("row %d lies in the place of another", k)
		case local && (at < r.LocalAt[class*(owners+1)+source] || at >= r.LocalAt[class*(owners+1)+source+1]):
			err = fmt.Errorf("row %d is in slot %d, not among class %d from source %d", k, at, class, source)
		case !local && (at-len(r.Local) < r.TransientAt[source] || at-len(r.Local) >= r.TransientAt[source+1]):
			err = fmt.Errorf("row %d is in place %d, not among those from source %d", k, at, source)
		}
	})
	for g := range len(r.LocalAt) - 1 {
		err = errors.Join(err, checkOrder(r, r.Local[r.LocalAt[g]:r.LocalAt[g+1]], g%(owners+1) == owners))
	}
	for g := range owners + 1 {
		err = errors.Join(err, checkOrder(r, r.Transient[r.TransientAt[g]:r.TransientAt[g+1]], g == owners))
	}
	if err == nil && slices.Contains(seen, false) {
		err = fmt.Errorf("places are empty")
	}
	return err
}

// checkOrder wants the rows of one source to ascend in halo index, or in global slot.
func checkOrder(r *Reader, list []int32, global bool) error {
	for k := 1; k < len(list); k++ {
		a, b := list[k-1], list[k]
		if global && r.Global[a] >= r.Global[b] || !global && a >= b {
			return fmt.Errorf("rows %d and %d stand in the wrong order", a, b)
		}
	}
	return nil
}

// TestCoverageAtOnce: at p = 1 slots of two parts save nothing, and yet rows without one come first.
func TestCoverageAtOnce(t *testing.T) {
	x := Exchange{Layer: 1, RowBytes: 4, Halos: []Halo{
		{},
		{IDs: ids(0, 1, 2, 3), Owners: owners(0, 4), Count: []int{4}, Edges: []int32{3, 9, 1, 2}},
	}}
	plan, err := Build([]Exchange{x}, &Capacities{Global: 2, Local: []int{2, 2}}, Options{})
	if err != nil {
		t.Fatal(err)
	}
	r := &plan.Tables[0].Readers[1]
	if !slices.Equal(plan.Tables[0].Global, ids(0, 1)) || !slices.Equal(r.Local, []int32{2, 3}) {
		t.Errorf("global %v, local %v", plan.Tables[0].Global, r.Local)
	}
}

// TestEven: one part's local slots without global ones are cut evenly, and so are parts that share all rows with the global
// cache, which needs swaps: pairs of parts share rows in uneven numbers.
func TestEven(t *testing.T) {
	d := &draw{seed: 6}
	worst := map[Policy]int{}
	for range 300 {
		for _, policy := range []Policy{JACA, Paper} {
			parts := 2 + d.below(4)
			x := tiny(d, parts, 40+d.below(200))
			caps := &Capacities{Global: 20 + d.below(200), Local: make([]int, parts)}
			for i := range caps.Local {
				caps.Local[i] = d.below(200)
			}
			p, err := Build([]Exchange{x}, caps, Options{Policy: policy, Period: 1 + d.below(MaxStaleness+1)})
			if err != nil {
				t.Fatal(err)
			}
			worst[policy] = max(worst[policy], p.Tables[0].Uneven())
			for i, r := range p.Tables[0].Readers {
				free := 0
				for _, k := range r.Local {
					if r.Global[k] < 0 {
						free++
					}
				}
				if least, most := classSizes(p.Tables[0], i); most-least > 1 && free > 0 && least < most-1 && freeIn(p.Tables[0], i, most) {
					t.Fatalf("part %d: classes of %d to %d slots, and the largest has rows that could be in another", i, least, most)
				}
			}
		}
	}
	t.Logf("largest difference between two classes of a part: %v", worst)
	if worst[JACA] > 2 || worst[Paper] > 2 {
		t.Errorf("classes differ by %v", worst)
	}
}

func classSizes(t *Table, part int) (least, most int) {
	r := &t.Readers[part]
	least = len(r.Local)
	for c := range t.Period {
		lo, hi := r.ClassSlots(c)
		least, most = min(least, hi-lo), max(most, hi-lo)
	}
	return least, most
}

// freeIn reports whether a class of that size has a local slot without a global one.
func freeIn(t *Table, part, size int) bool {
	r := &t.Readers[part]
	for c := range t.Period {
		lo, hi := r.ClassSlots(c)
		if hi-lo == size && slices.ContainsFunc(r.Local[lo:hi], func(k int32) bool { return r.Global[k] < 0 }) {
			return true
		}
	}
	return false
}

func TestBuildRefused(t *testing.T) {
	x, _ := four(t)
	caps := &Capacities{Local: make([]int, 3)}
	for name, o := range map[string]Options{
		"policy":   {Policy: "mru"},
		"period":   {Period: MaxStaleness + 2},
		"h2d":      {Links: Links{H2D: []float64{1, 1}}},
		"no speed": {Links: Links{D2H: []float64{1, 0, 1}}},
		"peers":    {Links: Links{Peer: [][]float64{{0, -1, 0}, {0, 0, 0}, {0, 0, 0}}}},
	} {
		if _, err := Build([]Exchange{x}, caps, o); err == nil {
			t.Errorf("%s was accepted", name)
		}
	}
	if _, err := Build([]Exchange{x}, &Capacities{Local: make([]int, 2)}, Options{}); err == nil {
		t.Error("capacities of two parts were accepted for three")
	}
}

// TestSlotsFilled: whatever they save, local slots are given while a part has rows for them.
func TestSlotsFilled(t *testing.T) {
	d := &draw{seed: 13}
	for _, policy := range Policies {
		if policy == None {
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
