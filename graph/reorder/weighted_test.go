package reorder

import (
	"context"
	"slices"
	"testing"

	"capgnn/graph/synth"
)

// What a contraction stores is the number of edges between clusters, where samples are whole rows.
func TestContractCounts(t *testing.T) {
	g, err := synth.Random(300, 1500, false, 5)
	if err != nil {
		t.Fatal(err)
	}
	const k = 17
	label := make([]int32, 300)
	want := make(map[[2]int32]int64)
	for v := range label {
		label[v] = int32(v * 7 % k)
	}
	for v := range label {
		for _, u := range g.Row(v) {
			want[[2]int32{label[v], label[u]}] += orderUnit
		}
	}
	a := newAgglomeration(context.Background(), 3)
	w, err := a.sample(g)
	if err != nil {
		t.Fatal(err)
	}
	out, err := a.contract(w, label, k)
	if err != nil {
		t.Fatal(err)
	}
	for l := range int32(k) {
		sum := int64(0)
		for e := out.begin[l]; e < out.begin[l+1]; e++ {
			key := [2]int32{l, out.to[e]}
			if out.weight[e] != want[key] {
				t.Fatalf("weight of %v is %d, want %d", key, out.weight[e], want[key])
			}
			delete(want, key)
			sum += out.weight[e]
		}
		if sum != out.sum[l] || sum != out.strength[l] {
			t.Errorf("cluster %d: weights sum to %d, noted as %d, strength %d", l, sum, out.sum[l], out.strength[l])
		}
	}
	if len(want) != 0 || out.total != g.Edges()*orderUnit {
		t.Errorf("pairs of clusters left out: %v; total %d", want, out.total)
	}
}

// Samples are distinct neighbours and no loops.
func TestSample(t *testing.T) {
	g, err := synth.RMAT(10, 60, 3)
	if err != nil {
		t.Fatal(err)
	}
	g = g.Symmetrise().WithLoops()
	w, err := newAgglomeration(context.Background(), 2).sample(g)
	if err != nil {
		t.Fatal(err)
	}
	cut := 0
	for v := range g.Rows() {
		row := w.to[w.begin[v]:w.begin[v+1]]
		d := len(g.Row(v)) - 1
		if len(row) != min(d, orderSample) {
			t.Fatalf("vertex %d of degree %d has %d samples", v, d, len(row))
		}
		if d > orderSample {
			cut++
		}
		for k, u := range row {
			if _, ok := slices.BinarySearch(g.Row(v), u); !ok || int(u) == v || k > 0 && u <= row[k-1] {
				t.Fatalf("vertex %d: samples %v are not distinct neighbours of %v", v, row, g.Row(v))
			}
		}
	}
	if cut < 100 {
		t.Errorf("only %d vertices have more neighbours than a sample", cut)
	}
}
