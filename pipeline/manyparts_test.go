package pipeline

import (
	"context"
	"runtime"
	"testing"
	"time"

	"capgnn/gnn"
	"capgnn/gpu"
	"capgnn/gpu/host"
	"capgnn/gpu/ledger"
	"capgnn/graph"
	"capgnn/graph/synth"
	"capgnn/internal/learn"
	"capgnn/internal/long"
	"capgnn/internal/named"
	"capgnn/jaca"
	"capgnn/pipeline/halo"
)

// As many parts as vertices, on a graph of Cora's size: what a part takes on the host, on ledgers as before a run, does not grow with
// the number of parts. All parts took 13 GB when pairs of parts had tables.
func TestManyParts(t *testing.T) {
	if testing.Short() {
		t.Skip("measures memory, of which the race detector takes more")
	}
	const n = 2708
	g, err := synth.Random(n, 2*n, false, 7)
	if err != nil {
		t.Fatal(err)
	}
	p := &learn.Problem{Graph: g, Loops: graph.LoopsAdded, Features: learn.Features{Cols: 4, Dense: make([]float32, 4*n)}, Labels: make([]int32, n), Classes: 2, Train: make([]bool, n)}
	part := make([]int32, n)
	for v := range part {
		part[v], p.Labels[v], p.Train[v] = int32(v), int32(v%2), v%3 > 0
	}
	dev, err := host.Open(host.Spec{Name: "cpu:0", Threads: 1})
	if err != nil {
		t.Fatal(err)
	}
	defer dev.Close()
	caches := []halo.Options{{}, {Policy: jaca.JACA}, {Policy: jaca.JACA, Staleness: 4, Pipeline: true}}
	if !long.Wanted() {
		caches = caches[3:] // that of which most is kept
	}
	for _, c := range caches {
		book, before := ledger.InPlaceOf(dev, 0), heap()
		o := Options{
			Training: Training{Model: netOf(named.Model{Kind: named.GCN, Layers: 3, Hidden: 16, In: 4, Out: 2, Seed: 1}),
				Optimizer: gnn.Optimizer{Kind: gnn.Adam, LR: 0.01}, Epochs: 1},
			Part: part, Cache: c, Devices: make([]gpu.Device, n),
		}
		for i := range o.Devices {
			o.Devices[i] = book
		}
		start := time.Now()
		tr, err := New(context.Background(), p, o)
		if err != nil {
			t.Fatal(err)
		}
		took, grown := time.Since(start), heap()-before
		t.Logf("%s, staleness %d: %d MiB in %v", c.Policy, c.Staleness, grown>>20, took)
		if grown > 300<<20 {
			t.Errorf("%s, staleness %d: %d MiB on the host", c.Policy, c.Staleness, grown>>20)
		}
		tr.Close()
	}
}

// heap returns the bytes that are in use.
func heap() int64 {
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return int64(m.HeapAlloc)
}
