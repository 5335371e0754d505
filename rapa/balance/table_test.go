package balance

import (
	"context"
	"errors"
	"testing"

	"capgnn/graph/synth"
	"capgnn/rapa"
)

// device is what a part costs on a device: fixed + inner·|I| + edge·|E| + square·|I|², convex in the part; memory in bytes, 8
// for an inner vertex, 0 = no limit.
type device struct {
	fixed, inner, edge, square float64
	memory                     int64
}

func (d device) load(n rapa.Counts) float64 {
	return d.fixed + d.inner*float64(n.Inner) + d.edge*float64(n.Edges) + d.square*float64(n.Inner)*float64(n.Inner)
}

const bytesPerInner = 8

// table estimates parts by formulas, without a trainer.
type table struct {
	graph   rapa.Directions
	devices []device
	load    func(i int, n rapa.Counts) float64 // in place of the devices' formula; nil = that
	broken  func(*Estimate)                    // what an estimate is made before it is given; nil = nothing
	calls   int
	at      int // the call that is hooked, from 1 on; 0 = none
	hook    func() error
}

func (t *table) Estimate(_ context.Context, part []int32) (Estimate, error) {
	if t.calls++; t.calls == t.at {
		if err := t.hook(); err != nil {
			return Estimate{}, err
		}
	}
	counts, err := rapa.Count(t.graph, part, len(t.devices))
	if err != nil {
		return Estimate{}, err
	}
	e := Estimate{Counts: counts, Memory: rapa.Memory{Footprint: rapa.Footprint{PerInner: bytesPerInner}}}
	for i, d := range t.devices {
		x := d.load(counts[i])
		cost := rapa.PartCost{Fixed: d.fixed, PerInner: d.inner + d.square*float64(counts[i].Inner), PerEdge: d.edge}
		if t.load != nil {
			x = t.load(i, counts[i])
			cost = rapa.PartCost{PerInner: x / float64(counts[i].Inner)}
		}
		e.Load, e.Costs, e.Score = append(e.Load, x), append(e.Costs, cost), max(e.Score, x)
		e.Memory.Have = append(e.Memory.Have, d.memory)
		if d.memory > 0 {
			e.Lack += max(0, bytesPerInner*counts[i].Inner-d.memory)
		}
	}
	if t.broken != nil {
		t.broken(&e)
	}
	return e, nil
}

// problem is a graph of n vertices in communities, cut into equal parts by one attempt.
func problem(t *testing.T, n, parts int, seed uint64) Problem {
	t.Helper()
	g, _, err := synth.Blocks(n, 8, 10, 0.9, seed)
	if err != nil {
		t.Fatal(err)
	}
	opt := rapa.Options{Parts: parts, Seed: seed, Effort: 1}
	plan, err := rapa.Partition(t.Context(), g, nil, opt, nil)
	if err != nil {
		t.Fatal(err)
	}
	return Problem{Graph: rapa.NewDirections(g), Plan: plan, Partition: opt}
}

// all returns options for all steps without loss.
func all(p Problem) Options {
	return Options{ByWork: true, Assign: true, Move: true, Cut: func(ctx context.Context, opt rapa.Options) (*rapa.Plan, error) {
		return rapa.Partition(ctx, p.Graph.In, p.Train, opt, nil)
	}}
}

// largest returns the largest load of a partition.
func (t *table) largest(tb testing.TB, part []int32) float64 {
	tb.Helper()
	e, err := (&table{graph: t.graph, devices: t.devices, load: t.load}).Estimate(tb.Context(), part)
	if err != nil {
		tb.Fatal(err)
	}
	return e.Score
}

var errTable = errors.New("the table is torn")
