package jaca

import (
	"math"
	"reflect"
	"slices"
	"testing"

	"capgnn/gpu"
	"capgnn/graph"
)

// TestDriftKnown is drift by hand.
func TestDriftKnown(t *testing.T) {
	old := []float32{3, 4, 0, 0, 0, 0, 1, 0, 2, 0}
	now := []float32{3, 4, 0, 0, 0, 1, 1, 1, 2, -3}
	drifts := RowDrifts(old, now, 2)
	want := []float64{0, 0, 0x1p126, 1, 1.5}
	if !slices.Equal(drifts, want) {
		t.Errorf("drifts %v, want %v", drifts, want)
	}
	if q90, q50 := drift(old, now, 2); q90 != 0x1p126 || q50 != 1 {
		t.Errorf("percentiles %g and %g", q90, q50)
	}
	root := math.Sqrt(6) // of 30/5: the typical row; only (3, 4) is larger
	if got, want := GradientDrifts(old, now, 2), []float64{0, 0, 1 / root, 1 / root, 3 / root}; !slices.Equal(got, want) {
		t.Errorf("drifts of gradients %v, want %v", got, want)
	}
	if n := CountWithin(drifts, 1); n != 3 {
		t.Errorf("%d drifts are at most 1", n)
	}
	if q90, q50 := drift(nil, nil, 2); q90 != 0 || q50 != 0 {
		t.Errorf("drift of no rows: %g, %g", q90, q50)
	}
	for _, bad := range []float32{float32(math.NaN()), float32(math.Inf(1))} {
		now[7] = bad
		q90, q50 := drift(old, now, 2)
		if n := CountWithin(RowDrifts(old, now, 2), 1); math.IsNaN(float64(bad)) && !(math.IsNaN(q90) && math.IsNaN(q50)) || math.IsInf(float64(bad), 0) && !math.IsInf(q90, 1) || n != 2 {
			t.Errorf("a row of %g: percentiles %g and %g, %d rows under 1", bad, q90, q50, n)
		}
	}
	huge := slices.Repeat([]float32{math.MaxFloat32}, 8)
	if got := RowDrifts(huge, make([]float32, 8), 8); got[0] != 1 {
		t.Errorf("the largest numbers to nothing: %v", got)
	}
}

// TestPercentile counts, for every length and percentage, how many numbers are no larger than the percentile.
func TestPercentile(t *testing.T) {
	d := &draw{seed: 16}
	for n := 1; n < 60; n++ {
		x := make([]float64, n)
		for k := range x {
			x[k] = float64(d.below(20))
		}
		before := slices.Clone(x)
		for p := 1; p <= 100; p++ {
			q := Percentile(x, p)
			below, upTo := 0, 0
			for _, v := range x {
				if v < q {
					below++
				}
				if v <= q {
					upTo++
				}
			}
			if !slices.Contains(x, q) || upTo*100 < n*p || below*100 >= n*p {
				t.Fatalf("percentile %d of %v is %g", p, x, q)
			}
		}
		if !slices.Equal(x, before) {
			t.Fatal("the numbers were sorted in place")
		}
	}
}

// TestSample: samples are as many as asked for, one in each of even runs, the same for the same ids and seed, others for
// another seed.
func TestSample(t *testing.T) {
	ids := make([]graph.NodeID, 5000)
	for k := range ids {
		ids[k] = graph.NodeID(3*k + 1)
	}
	word := func(at int) uint32 { return gpu.Philox([4]uint32{uint32(ids[at])}, gpu.SeedKey(1))[0] }
	for _, n := range []int{0, 1, 7, SampleRows, 4999, 5000, 6000} {
		s := Sample(ids, n, 1)
		want := min(n, len(ids))
		if len(s) != want || !reflect.DeepEqual(s, Sample(ids, n, 1)) {
			t.Fatalf("%d of %d", len(s), n)
		}
		for k, at := range s {
			if at < k*len(ids)/want || at >= (k+1)*len(ids)/want {
				t.Fatalf("sample %d of %d is at %d", k, want, at)
			}
			for i := k * len(ids) / want; i < (k+1)*len(ids)/want; i++ {
				if word(i) < word(at) {
					t.Fatalf("sample %d of %d is at %d, the word of %d is less", k, want, at, i)
				}
			}
		}
		if other := Sample(ids, n, 2); n > 1 && n < 4000 && slices.Equal(s, other) {
			t.Errorf("%d rows: seeds make no difference", n)
		}
	}
	if len(Sample(nil, 5, 1)) != 0 || len(Sample(ids, -1, 1)) != 0 {
		t.Error("samples of nothing")
	}
	counts := make([]int, 5) // where in a run of 5 the samples lie
	for _, at := range Sample(ids, 1000, 3) {
		counts[at%5]++
	}
	if slices.Min(counts) < 140 || slices.Max(counts) > 260 {
		t.Errorf("places in runs are uneven: %v", counts)
	}
}

// TestTrack follows one row that is epoch+1 in each epoch: period 4 from epoch 2, then 2 from epoch 11.
func TestTrack(t *testing.T) {
	type drift struct {
		epochs int
		want   float64
	}
	var k Track
	for epoch, want := range map[int][]drift{
		2: nil, 3: {{1, 1. / 3}}, 5: {{3, 3. / 3}}, 6: {{4, 4. / 3}}, 7: {{1, 1. / 7}}, 10: {{4, 4. / 7}, {8, 8. / 3}},
		11: nil, 12: {{1, 1. / 12}}, 13: {{2, 2. / 12}}, 15: {{2, 2. / 14}, {4, 4. / 12}}, 17: {{2, 2. / 16}, {4, 4. / 14}},
	} {
		k = Track{}
		var got []Drifted
		for e := 2; e <= epoch; e++ {
			s := Schedule{Period: 4, Start: 2}
			if e >= 11 {
				s = Schedule{Period: 2, Start: 11}
			}
			if e == epoch || Refreshes(e, s) {
				got = k.Take(e, s, []float32{float32(e + 1)}, 1)
			}
		}
		if len(got) != len(want) {
			t.Errorf("epoch %d: %v, want %v", epoch, got, want)
			continue
		}
		for n, d := range got {
			if d.Epochs != want[n].epochs || len(d.Rows) != 1 || math.Abs(d.Rows[0]-want[n].want) > 1e-12 {
				t.Errorf("epoch %d: %v, want %v", epoch, got, want)
			}
		}
	}
}

// drift returns the 90th and the 50th percentile of the relative drift of rows: see RowDrifts and Percentile.
func drift(old, new []float32, cols int) (q90, q50 float64) {
	drifts := RowDrifts(old, new, cols)
	return Percentile(drifts, 90), Percentile(drifts, 50)
}
