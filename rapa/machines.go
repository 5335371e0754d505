package rapa

import (
	"context"
	"errors"
	"fmt"
	"math"
	"slices"

	"capgnn/graph"
	"capgnn/rapa/multilevel"
)

// cutMachines cuts u, which is symmetric and without loops, into the parts of opt: first among machines, of which each has so many parts in
// a row, then what a machine got among its parts. Of one machine it is multilevel.Partition.
//
// Method: targets and bounds of a machine are the sums of its parts', but for half of the slack, which is kept for the cut among its parts. Between
// machines the volume counts: a row crosses to a machine once, however many parts there read it. What a machine got is cut as a graph of its own. If
// either finds no partition within the bounds, all parts are cut at once.
//
// Why: links between machines are slower than those inside by an order of magnitude or more, and parts that are cut at once and grouped
// afterwards, as well as they can be, send more rows between machines.
func cutMachines(ctx context.Context, u *graph.CSR, opt multilevel.Options, machines []int) ([]int32, error) {
	if len(machines) < 2 {
		return multilevel.Partition(ctx, u, opt)
	}
	part, err := machinesFirst(ctx, u, opt, machines)
	if bound := (*multilevel.BoundError)(nil); errors.Is(err, errFewVertices) || errors.As(err, &bound) {
		return multilevel.Partition(ctx, u, opt)
	}
	return part, err
}

// errFewVertices says that a machine got fewer vertices than it has parts.
var errFewVertices = errors.New("fewer vertices than parts")

func machinesFirst(ctx context.Context, u *graph.CSR, opt multilevel.Options, machines []int) ([]int32, error) {
	steps := 1 + len(machines)
	stage := func(k int) func(done, total int) {
		return func(done, total int) {
			if opt.Progress != nil {
				opt.Progress(k*total+done, steps*total)
			}
		}
	}
	among := amongMachines(opt, machines, u)
	among.Progress = stage(0)
	machine, err := multilevel.Partition(ctx, u, among)
	if err != nil {
		return nil, err
	}
	members := make([][]graph.NodeID, len(machines))
	for v, m := range machine {
		members[m] = append(members[m], graph.NodeID(v))
	}
	part, first := machine, 0 // each vertex's machine is read before its part is written
	for m, parts := range machines {
		ids := members[m]
		if len(ids) < parts {
			return nil, errFewVertices
		}
		within := make([]int32, len(ids))
		if parts > 1 {
			own := ofMachine(opt, first, parts, ids)
			own.Progress = stage(1 + m)
			if within, err = multilevel.Partition(ctx, inducedOn(u, ids), own); err != nil {
				return nil, err
			}
		}
		for i, v := range ids {
			part[v] = int32(first) + within[i]
		}
		first += parts
	}
	return part, nil
}

// quickEdges is the number of stored edges from which one partition among machines is made, as volumes take long: of 11 million edges three took five times
// as long and moved 4 % fewer rows.
const quickEdges = 2_000_000

// amongMachines are the options of the cut of u among machines.
func amongMachines(opt multilevel.Options, machines []int, u *graph.CSR) multilevel.Options {
	out := opt
	out.Parts, out.Objective, out.Targets, out.Constraints = len(machines), multilevel.Volume, perMachine(opt.Targets, machines), nil
	if u.Edges() > quickEdges && out.Effort == 0 {
		out.MaxEffort = 1
	}
	for _, c := range opt.Constraints {
		total, tight, room := weightOf(c, u.Rows()), make([]float64, len(c.Bound)), 0.0
		for p, b := range c.Bound {
			tight[p] = min(float64(b), math.Sqrt(opt.Targets[p]*total*float64(b)))
			room += tight[p]
		}
		merged := c
		if merged.Bound = nil; room >= total {
			for _, b := range perMachine(tight, machines) {
				merged.Bound = append(merged.Bound, int64(math.Ceil(b-1e-9)))
			}
		} else { // some part cannot hold its share: there is no slack to keep
			merged.Bound = perMachine(c.Bound, machines)
		}
		out.Constraints = append(out.Constraints, merged)
	}
	return out
}

// perMachine sums what the parts of each machine have.
func perMachine[T int64 | float64](ofPart []T, machines []int) []T {
	out := make([]T, len(machines))
	first := 0
	for m, parts := range machines {
		for _, x := range ofPart[first : first+parts] {
			out[m] += x
		}
		first += parts
	}
	return out
}

// weightOf returns what all n vertices have of a constraint.
func weightOf(c multilevel.Constraint, n int) float64 {
	if c.Weight == nil {
		return float64(n)
	}
	sum := 0.0
	for _, w := range c.Weight {
		sum += float64(w)
	}
	return sum
}

// ofMachine are the options of the cut of a machine's vertices among its parts, of which the first is given.
func ofMachine(opt multilevel.Options, first, parts int, ids []graph.NodeID) multilevel.Options {
	out := opt
	out.Parts, out.Targets, out.Constraints = parts, normalised(opt.Targets[first:first+parts]), nil
	for _, c := range opt.Constraints {
		own := c
		own.Bound = c.Bound[first : first+parts]
		if c.Weight != nil {
			own.Weight = make([]int32, len(ids))
			for i, v := range ids {
				own.Weight[i] = c.Weight[v]
			}
		}
		out.Constraints = append(out.Constraints, own)
	}
	return out
}

// inducedOn returns the graph of some vertices, in ascending order, which are then known by their index.
func inducedOn(u *graph.CSR, ids []graph.NodeID) *graph.CSR {
	at := make([]int32, u.Rows()) // index of a vertex, plus one
	for i, v := range ids {
		at[v] = int32(i) + 1
	}
	out := &graph.CSR{Cols: len(ids), Indptr: make([]int64, 1, len(ids)+1)}
	for _, v := range ids {
		for _, w := range u.Row(int(v)) {
			if k := at[w]; k > 0 {
				out.Indices = append(out.Indices, graph.NodeID(k-1))
			}
		}
		out.Indptr = append(out.Indptr, int64(len(out.Indices)))
	}
	return out
}

// BetweenMachines returns the rows that machines read of each other: Σ_v (number of other machines on which v has a
// neighbour in either direction). machines[i] is the number of consecutive parts of machine i.
func BetweenMachines(g *graph.CSR, part []int32, machines []int) int64 {
	var of []int32
	for m, parts := range machines {
		of = append(of, slices.Repeat([]int32{int32(m)}, parts)...)
	}
	machine := make([]int32, len(part))
	for v, p := range part {
		machine[v] = of[p]
	}
	_, volume := borders(g.Symmetrise().WithoutLoops(), machine, len(machines))
	return volume
}

// checkMachines says what is wrong with how parts are divided among machines.
func (o Options) checkMachines() (errs []error) {
	if len(o.Machines) == 0 {
		return nil
	}
	sum := 0
	for _, n := range o.Machines {
		if n < 1 {
			errs = append(errs, fmt.Errorf("a machine has %d parts, want at least 1", n))
		}
		sum += n
	}
	if sum != o.Parts {
		errs = append(errs, fmt.Errorf("machines %v have %d parts in sum, there are %d", o.Machines, sum, o.Parts))
	}
	return errs
}
