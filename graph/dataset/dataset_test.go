package dataset_test

import (
	"errors"
	"math"
	"slices"
	"strings"
	"testing"

	"capgnn/graph/dataset"
	"capgnn/graph/dataset/internal/check"
	"capgnn/graph/dataset/internal/datatest"
)

func TestValidate(t *testing.T) {
	if err := errors.Join(datatest.Tiny(t)[0].Validate(), datatest.Tiny(t)[1].Validate(), datatest.Tiny(t)[2].Validate()); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		want  string
		which int
		spoil func(d *dataset.Dataset)
	}{
		{"no vertices", 0, func(d *dataset.Dataset) { d.Graph = nil }},
		{"but 6 columns", 0, func(d *dataset.Dataset) { g := *d.Graph; g.Cols = 6; d.Graph = &g }},
		{"features: 9 values", 0, func(d *dataset.Dataset) { d.Features.Dense = d.Features.Dense[:9] }},
		{"row 1, column 0 is NaN", 0, func(d *dataset.Dataset) { d.Features.Dense[2] = float32(math.NaN()) }},
		{"both dense and sparse", 1, func(d *dataset.Dataset) { d.Features.Dense = []float32{1} }},
		{"not ascending", 1, func(d *dataset.Dataset) { d.Features.Indices[1] = 0 }},
		{"both one class", 0, func(d *dataset.Dataset) { d.Targets = []uint8{1} }},
		{"classes without labels", 2, func(d *dataset.Dataset) { d.Classes = 3 }},
		{"label -2", 0, func(d *dataset.Dataset) { d.Labels[0] = -2 }},
		{"neither 0 nor 1", 1, func(d *dataset.Dataset) { d.Targets[3] = 7 }},
		{"9 entries for 5", 1, func(d *dataset.Dataset) { d.Targets = d.Targets[:9] }},
		{"val_mask: 4 entries", 0, func(d *dataset.Dataset) { d.Val = d.Val[:4] }},
		{"ids: 2 entries", 0, func(d *dataset.Dataset) { d.IDs = d.IDs[:2] }},
	} {
		d := datatest.Tiny(t)[c.which]
		c.spoil(d)
		if err := d.Validate(); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("got %v, want %q", err, c.want)
		}
	}
}

func TestSplit(t *testing.T) {
	labels := make([]int32, 1000)
	for v := range 100 {
		labels[7*v] = -1
	}
	train, val, test, err := dataset.Split(1000, labels, 1, dataset.DefaultFractions)
	if err != nil || check.CountTrue(train) != 630 || check.CountTrue(val) != 180 || check.CountTrue(test) != 90 {
		t.Fatalf("%d/%d/%d, %v, want 630/180/90", check.CountTrue(train), check.CountTrue(val), check.CountTrue(test), err)
	}
	for v := range labels {
		in := 0
		for _, mask := range [][]bool{train, val, test} {
			if mask[v] {
				in++
			}
		}
		if want := int(labels[v]) + 1; in != want {
			t.Errorf("vertex %d with label %d is in %d splits, want %d", v, labels[v], in, want)
		}
	}
	again, _, _, _ := dataset.Split(1000, labels, 1, dataset.DefaultFractions)
	other, _, _, _ := dataset.Split(1000, labels, 2, dataset.DefaultFractions)
	if !slices.Equal(train, again) || slices.Equal(train, other) {
		t.Error("a split must depend on its seed, and on nothing else")
	}
	few, _, rest, err := dataset.Split(3, nil, 1, [3]float64{0.1, 0, 0.4})
	if err != nil || check.CountTrue(few) != 1 || check.CountTrue(rest) != 1 {
		t.Errorf("%v, %v, %v: want one each", few, rest, err)
	}
	all, _, none, err := dataset.Split(3, nil, 1, [3]float64{1, 0, 0})
	if err != nil || check.CountTrue(all) != 3 || check.CountTrue(none) != 0 {
		t.Errorf("%v, %v, %v: want three and none", all, none, err)
	}
	for _, bad := range [][3]float64{{0.7, 0.7, 0}, {-0.1, 0.5, 0.5}, {math.NaN(), 0, 0}} {
		if _, _, _, err := dataset.Split(10, nil, 1, bad); err == nil {
			t.Errorf("%v was accepted", bad)
		}
	}
	if _, _, _, err := dataset.Split(10, labels, 1, dataset.DefaultFractions); err == nil {
		t.Error("1000 labels for 10 vertices were accepted")
	}
}

// TestSplitIsUniform: over 4000 seeds each of 10 vertices trains about 2000 times. The count is binomial with standard
// deviation 32; six of them are exceeded once in 5·10⁸ draws, and the seeds are fixed.
func TestSplitIsUniform(t *testing.T) {
	var count [10]int
	for seed := range uint64(4000) {
		train, _, _, err := dataset.Split(10, nil, seed, [3]float64{0.5, 0.5, 0})
		if err != nil {
			t.Fatal(err)
		}
		for v, in := range train {
			if in {
				count[v]++
			}
		}
	}
	for v, n := range count {
		if n < 2000-190 || n > 2000+190 {
			t.Errorf("vertex %d trains in %d of 4000 splits, want 2000 ± 190", v, n)
		}
	}
}
