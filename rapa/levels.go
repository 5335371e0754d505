package rapa

import (
	"context"
	"errors"
	"math"
	"slices"

	"capgnn/graph"
	"capgnn/rapa/multilevel"
)

// memoryTries bounds how often a partition is made anew because halos did not fit.
const memoryTries = 4

// cutMultilevel partitions u, which is g symmetrised and without loops, by package multilevel.
//
// Returns: an error if ctx ended or memory does not suffice (*InfeasibleError); l holds the partition.
//
// Method: what BalanceBy names becomes constraints. Halo rows are known only afterwards: where they do not fit, the memory of
// those parts is reduced by what the halos took, and the graph is partitioned again.
func cutMultilevel(ctx context.Context, g, u *graph.CSR, l *loads, o Options, report func(done, total int)) error {
	opt := multilevel.Options{Parts: o.Parts, Targets: o.Targets, Constraints: l.wanted(o), Seed: o.Seed, Threads: o.Threads,
		Effort: o.Effort, MaxEffort: o.MaxEffort, Progress: report}
	if o.Objective == Volume {
		opt.Objective = multilevel.Volume
	}
	if !o.balances(ByMemory) {
		part, err := cutMachines(ctx, u, opt, o.Machines)
		if err == nil {
			l.assume(part)
		}
		return err
	}
	free := make([]int64, o.Parts)
	for p, b := range o.Memory.Have {
		if free[p] = b - o.Memory.Footprint.Fixed; b == 0 {
			free[p] = math.MaxInt64 / maxParts
		}
	}
	for try := 0; ; try++ {
		memory, err := l.memory(o, free)
		if err != nil {
			return err
		}
		all := opt
		all.Constraints = append(all.Constraints[:len(all.Constraints):len(all.Constraints)], memory)
		part, err := cutMachines(ctx, u, all, o.Machines)
		if b := (*multilevel.BoundError)(nil); errors.As(err, &b) {
			return l.lacking(o, free, b, b.Constraint == len(opt.Constraints))
		}
		if err != nil {
			return err
		}
		l.assume(part)
		if need := l.overflow(g, o, free); need == nil {
			return nil
		} else if try == memoryTries {
			return need
		}
	}
}

// wanted returns the constraints other than memory that BalanceBy names.
func (l *loads) wanted(o Options) []multilevel.Constraint {
	var out []multilevel.Constraint
	for c, q := range quantityOf {
		if !o.balances(q) || c == cTrain && l.train == nil {
			continue
		}
		x := multilevel.Constraint{Bound: make([]int64, o.Parts), Hard: c == cVertices}
		for p := range x.Bound {
			x.Bound[p] = l.bound[p][c]
		}
		switch c {
		case cEdges:
			x.Weight = l.weight
		case cTrain:
			x.Weight = make([]int32, len(l.train))
			for v, is := range l.train {
				if is {
					x.Weight[v] = 1
				}
			}
		}
		out = append(out, x)
	}
	if o.balances(ByWork) {
		out = append(out, l.work(o))
	}
	if len(out) == 0 { // only training vertices, and there are none
		out = append(out, multilevel.Constraint{Bound: l.bounds(cVertices), Hard: true})
	}
	return out
}

// workTotal is what the work of all vertices adds up to, about: fine enough for the least of them, and it fits 31 bits.
const workTotal = 1 << 30

// work returns the constraint of ByWork, in units in which all vertices together have about workTotal.
func (l *loads) work(o Options) multilevel.Constraint {
	sum := 0.0
	for _, w := range l.weight {
		sum += o.Work.PerInner + o.Work.PerEdge*float64(w)
	}
	unit := sum / workTotal
	x := multilevel.Constraint{Weight: make([]int32, len(l.weight)), Bound: make([]int64, o.Parts)}
	total := int64(0)
	for v, w := range l.weight {
		x.Weight[v] = int32((o.Work.PerInner + o.Work.PerEdge*float64(w)) / unit)
		total += int64(x.Weight[v])
	}
	for p, t := range o.Targets {
		x.Bound[p] = boundOf(o.WorkBalance, t, total)
	}
	return x
}

// bounds returns the bound of every part in constraint c.
func (l *loads) bounds(c int) []int64 {
	out := make([]int64, len(l.bound))
	for p := range out {
		out[p] = l.bound[p][c]
	}
	return out
}

// lacking is the error where parts that keep all bounds were not found: by memory a part takes more than its device has
// room for, as one vertex may; otherwise it has what others have no room for.
func (l *loads) lacking(o Options, free []int64, b *multilevel.BoundError, memory bool) *InfeasibleError {
	need, unit := l.bytes(o)
	if memory {
		return &InfeasibleError{Short: []Shortage{{b.Part, b.Load * unit, b.Bound * unit, -1}}}
	}
	part := slices.Index(free, slices.Min(free))
	have := max(0, free[part])
	return &InfeasibleError{Short: []Shortage{{part, have + (b.Load-b.Bound)*(need/int64(len(l.weight))+1), have, -1}}}
}

// bytes returns what all vertices need, and how many bytes a unit of the constraint of memory is.
func (l *loads) bytes(o Options) (need, unit int64) {
	for _, w := range l.weight {
		need += o.Memory.Footprint.PerInner + o.Memory.Footprint.PerEdge*int64(w)
	}
	return need, need/(math.MaxInt32-int64(len(l.weight))) + 1
}

// memory returns the constraint that inner vertices and in-edges of part p take at most free[p] bytes. Weights are in units
// that let their sum fit 32 bits, rounded up, bounds rounded down.
func (l *loads) memory(o Options, free []int64) (multilevel.Constraint, error) {
	f := o.Memory.Footprint
	need, unit := l.bytes(o)
	have := int64(0)
	for _, b := range free {
		have += max(0, b)
	}
	x := multilevel.Constraint{Weight: make([]int32, len(l.weight)), Bound: make([]int64, o.Parts), Hard: true}
	total, room := int64(0), int64(0)
	for v, w := range l.weight {
		x.Weight[v] = int32((f.PerInner + f.PerEdge*int64(w) + unit - 1) / unit)
		total += int64(x.Weight[v])
	}
	for p, b := range free {
		x.Bound[p] = max(0, b) / unit
		room += x.Bound[p]
	}
	if room < total {
		return x, &InfeasibleError{NeedBytes: need, HaveBytes: have}
	}
	return x, nil
}

// overflow returns nil if every part with its halo fits its memory, else what is missing; free is then reduced by what the halos
// of those parts take.
func (l *loads) overflow(g *graph.CSR, o Options, free []int64) error {
	counts := make([]Counts, o.Parts)
	f := o.Memory.Footprint
	for p, s := range halos(g, l.part, o.Parts) {
		counts[p] = Counts{Inner: l.sum[p][cVertices], Halo: s.Halo, Edges: l.sum[p][cEdges]}
		if lack := o.Memory.short(p, counts[p]); lack > 0 {
			free[p] = min(free[p]-lack, o.Memory.Have[p]-f.Fixed-f.PerHalo*s.Halo)
		}
	}
	return o.Memory.Check(counts)
}

// assume takes over a whole partition.
func (l *loads) assume(part []int32) {
	for p := range l.sum {
		l.sum[p] = [constraints]int64{}
	}
	for v, p := range part {
		for c, w := range l.of(v) {
			l.sum[p][c] += w
		}
	}
	l.part = part
}
