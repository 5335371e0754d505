package halo

import (
	"context"
	"fmt"
	"log/slog"
	"testing"
	"time"

	"capgnn/gnn"
	"capgnn/gpu"
	"capgnn/gpu/ledger"
	"capgnn/graph"
	"capgnn/graph/synth"
	"capgnn/hostmem"
	"capgnn/internal/meet"
	"capgnn/internal/named"
	"capgnn/jaca"
)

// A process has the blocks of the global cache that its parts make or read, and no others: parts 0 and 1 touch each other, and so do 2 and 3.
func TestRegionOfAProcess(t *testing.T) {
	const n, parts = 60, 4
	one, err := synth.Random(n, 4*n, false, 5)
	if err != nil {
		t.Fatal(err)
	}
	g := &graph.CSR{Indptr: []int64{0}, Cols: 2 * n} // two of it side by side
	part := make([]int32, 2*n)
	for v := range 2 * n {
		for _, u := range one.Row(v % n) {
			g.Indices = append(g.Indices, u+graph.NodeID(v/n*n))
		}
		g.Indptr = append(g.Indptr, int64(len(g.Indices)))
		part[v] = int32(v/n*2 + v%2)
	}
	model := named.Model{Kind: named.GCN, Layers: 2, Hidden: 8, In: 8, Out: 8}
	plan := func(own graph.Range, facts []Facts) (*Plan, []Facts) {
		c, err := graph.SplitRange(g, graph.LoopsAdded, part, parts, own, graph.AllNeeded(2*n, 2), 2, nil, nil)
		if err != nil {
			t.Fatal(err)
		}
		hub := meet.NewHub(context.Background(), time.Minute)
		config := Config{Model: netOf(model), Order: gnn.Plan{Input: gnn.Precomputed, Layers: make([]gnn.LayerPlan, 2)}, Cuts: Cuts{c, c}, Facts: facts, Hub: hub,
			Log: slog.New(slog.DiscardHandler)}
		config.Options = Options{Policy: jaca.JACA, NoPeer: true, Staleness: 2, Local: jaca.Rows(0), Host: hostmem.LockOptions{Heap: true}}
		for i := own.Lo; i < own.Hi; i++ {
			dev := ledger.New(gpu.Info{Name: fmt.Sprintf("cpu:%d", i)})
			config.Ends = append(config.Ends, &Endpoint{Part: i, Device: dev, Accounts: true, Local: dev.NewQueue("local")})
		}
		Connect(config.Ends, parts, true)
		mine := config.OwnFacts()
		if facts == nil {
			config.Facts = mine
		}
		p, err := NewPlan(config)
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(p.Close)
		return p, mine
	}
	whole, facts := plan(graph.Range{Lo: 0, Hi: parts}, nil)
	all, _ := whole.HostMemory()
	for _, c := range []struct {
		own     graph.Range
		touches [parts]bool
	}{
		{graph.Range{Lo: 0, Hi: 2}, [parts]bool{true, true}},
		{graph.Range{Lo: 2, Hi: 3}, [parts]bool{2: true, 3: true}},
		{graph.Range{Lo: 1, Hi: 3}, [parts]bool{true, true, true, true}},
	} {
		p, mine := plan(c.own, facts)
		for k, f := range mine {
			if fmt.Sprint(f.Device, f.Reach, f.Free) != fmt.Sprint(facts[c.own.Lo+k].Device, facts[c.own.Lo+k].Reach, facts[c.own.Lo+k].Free) {
				t.Errorf("parts %v: %+v of part %d, of all parts %+v", c.own, f, c.own.Lo+k, facts[c.own.Lo+k])
			}
		}
		blocks := 0
		for k, l := range p.training {
			for class := range l.global {
				for o, ids := range l.global[class] {
					there := l.blocks != nil && l.blocks[class][o] != nil
					if there != (c.touches[o] && len(ids) > 0) {
						t.Errorf("parts %v: %v, class %d of part %d: there is a block: %t", c.own, l.ID, class, o, there)
					}
					if there != (whole.training[k].blocks[class][o] != nil) {
						blocks++
					}
				}
			}
		}
		touchesAll := c.touches == [parts]bool{true, true, true, true}
		if cache, _ := p.HostMemory(); (cache < all) == touchesAll || (blocks > 0) == touchesAll || cache == 0 {
			t.Errorf("parts %v: %d bytes of %d in the global cache, %d blocks less", c.own, cache, all, blocks)
		}
	}
}
