package jaca

import (
	"errors"
	"fmt"

	"capgnn/graph"
)

// Options decide which rows get slots.
type Options struct {
	Policy Policy // "" = JACA
	Links  Links  // for JACA; zero = equal rates, no peer access
	Period int    // refresh period p of all exchanges, 1 to MaxStaleness+1; 0 = 1
	// Crossing says which rows come from other ranks; nil: none.
	Crossing *Crossing
}

// Plan says which halo rows have slots, in which order, and when they are refreshed.
type Plan struct {
	Policy     Policy
	Capacities Capacities
	Links      Links
	Tables     []*Table // by exchange
}

// Build plans the caches of exchanges of the same parts.
func Build(exchanges []Exchange, caps *Capacities, o Options) (*Plan, error) {
	if err := o.resolve(exchanges, caps); err != nil {
		return nil, fmt.Errorf("plan caches: %w", err)
	}
	p := &Plan{Policy: o.Policy, Capacities: *caps, Links: o.Links}
	for e := range exchanges {
		p.Tables = append(p.Tables, newTables(&exchanges[e], caps, &o))
	}
	return p, nil
}

// resolve fills defaults in and says what is wrong.
func (o *Options) resolve(exchanges []Exchange, caps *Capacities) error {
	var errs []error
	if o.Policy == "" {
		o.Policy = JACA
	}
	if _, err := ParsePolicy(string(o.Policy)); err != nil && !o.Policy.Dynamic() && o.Policy != LowOverlap {
		errs = append(errs, err)
	}
	if o.Period == 0 {
		o.Period = 1
	}
	if o.Period < 1 || o.Period > MaxStaleness+1 {
		errs = append(errs, fmt.Errorf("period %d is not in [1, %d]", o.Period, MaxStaleness+1))
	}
	parts := len(caps.Local)
	errs = append(errs, o.Links.validate(parts), o.Crossing.validate(parts))
	for e := range exchanges {
		x := &exchanges[e]
		if err := x.validate(); err != nil {
			errs = append(errs, err)
			continue
		}
		if len(x.Halos) != parts {
			errs = append(errs, fmt.Errorf("%d parts, capacities of %d", len(x.Halos), parts))
		}
	}
	return errors.Join(errs...)
}

// Table is the plan of one exchange.
type Table struct {
	Exchange
	Period int
	// Across is Period where there are other ranks, else 0. Classes of their rows follow the others: class Period + c is due as class c.
	Across int
	// Global is the vertex of every global slot. Slots are grouped by class, then owner, then ascend in id: those that owner o
	// publishes for class c are GlobalAt[c·parts+o] to GlobalAt[c·parts+o+1].
	Global   []graph.NodeID
	GlobalAt []int
	Readers  []Reader // by part

	ix       *index
	slots    *placement
	policy   Policy
	crossing *Crossing
}

// Classes is the number of refresh classes.
func (t *Table) Classes() int { return t.Period + t.Across }

// Reader is one part's side of an exchange. Sources of rows are numbered: first the owners, by their place in
// Halo.Owners, for rows that come straight from them, then the global cache.
type Reader struct {
	// Local is the halo index of every local slot. Slots are grouped by class, then source, then ascend in halo index or global
	// slot: those of class c from source g are LocalAt[c·(owners+1)+g] to LocalAt[c·(owners+1)+g+1].
	Local   []int32
	LocalAt []int
	// Transient lists the rows without a local slot, which are sent in every epoch and stored after the local slots,
	// grouped in the same way: those from source g are TransientAt[g] to TransientAt[g+1].
	Transient   []int32
	TransientAt []int
	Place       []int32 // by halo index: local slot, or len(Local) + place in Transient; −1 = not exchanged
	Global      []int32 // by halo index: global slot, −1 = none
	Class       []int32 // by halo index: refresh class, −1 = no slot, so exchanged in every epoch
}

func newTables(x *Exchange, caps *Capacities, o *Options) *Table {
	t := &Table{Exchange: *x, Period: o.Period, ix: newIndex(x), policy: o.Policy, crossing: o.Crossing}
	switch {
	case o.Policy == JACA:
		t.slots = place(x, t.ix, newCosts(t.ix, o), caps)
	case o.Policy == Paper:
		t.slots = rankBoth(x, t.ix, caps, 1)
	case o.Policy == LowOverlap:
		t.slots = rankBoth(x, t.ix, caps, -1)
	default:
		t.slots = newPlacement(x, t.ix)
	}
	t.number()
	return t
}

// number gives the rows in slots their classes and numbers.
func (t *Table) number() {
	if t.crossing != nil {
		t.Across = t.Period
	}
	class := classify(&t.Exchange, t.ix, t.slots, t.Period, t.crossing)
	slotOf := t.numberGlobal(class)
	for i := range t.Halos {
		t.Readers = append(t.Readers, t.numberLocal(i, class, slotOf))
	}
}

// numberGlobal fills Global and GlobalAt and returns the global slot of every row, −1 = none.
func (t *Table) numberGlobal(class *classed) []int32 {
	parts := len(t.Halos)
	slotOf := newLinks(len(t.ix.ids))
	t.GlobalAt = make([]int, t.Classes()*parts+1)
	group := func(r int) int { return int(class.row[r])*parts + int(t.ix.owner[r]) }
	for r := range t.ix.ids {
		if t.slots.global[r] {
			t.GlobalAt[group(r)+1]++
		}
	}
	next := prefix(t.GlobalAt)
	t.Global = make([]graph.NodeID, t.GlobalAt[len(t.GlobalAt)-1])
	for r, v := range t.ix.ids {
		if t.slots.global[r] {
			k := group(r)
			slotOf[r] = int32(next[k])
			t.Global[next[k]] = v
			next[k]++
		}
	}
	return slotOf
}

// prefix turns counts, each one place behind its group, into the groups' beginnings, and returns a copy of these.
func prefix(at []int) []int {
	for k := 1; k < len(at); k++ {
		at[k] += at[k-1]
	}
	return append([]int(nil), at[:len(at)-1]...)
}
