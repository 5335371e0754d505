package formats

import (
	"math"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"

	"capgnn/graph/dataset"
	"capgnn/graph/dataset/internal/datatest"
	"capgnn/graph/dataset/stores"
)

// TestStandardizeOtherFormats: the option works wherever there are dense rows and a train_mask, and says so elsewhere.
func TestStandardizeOtherFormats(t *testing.T) {
	all := datatest.Tiny(t)
	dir := t.TempDir()
	for _, d := range all {
		if err := stores.Write(filepath.Join(dir, d.Name), d, nil); err != nil {
			t.Fatal(err)
		}
	}
	d, err := Load(filepath.Join(dir, "dense"), dataset.Options{Standardize: dataset.StandardizeTrain})
	if err != nil {
		t.Fatal(err)
	}
	// The training rows are 0 1 and 2 3: mean 1 and 2, deviation 1.
	if want := []float32{-1, -1, 1, 1, 3, 3, 5, 5, 7, 7}; !slices.Equal(d.Features.Dense, want) || len(d.Notes) != 1 {
		t.Errorf("got %v, %q, want %v", d.Features.Dense, d.Notes, want)
	}
	d.Close()
	for _, o := range []string{"", dataset.Auto, dataset.StandardizeNone} {
		d, err := Load(filepath.Join(dir, "dense"), dataset.Options{Standardize: o})
		if err != nil || !reflect.DeepEqual(d.Features, all[0].Features) {
			t.Errorf("%q: got %v, %v", o, d, err)
			continue
		}
		d.Close()
	}
	for name, want := range map[string]string{"sparse": "has sparse features", "topology": "has no features"} {
		if _, err := Load(filepath.Join(dir, name), dataset.Options{Standardize: dataset.StandardizeTrain}); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: got %v, want %q", name, err, want)
		}
	}
	noMask := *all[0]
	noMask.Name, noMask.Train, noMask.Val, noMask.Test = "nomask", nil, nil, nil
	held := *all[0]
	held.Name, held.Train = "held", nil
	for _, d := range []*dataset.Dataset{&noMask, &held} {
		if err := stores.Write(filepath.Join(dir, d.Name), d, nil); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := Load(filepath.Join(dir, "nomask"), dataset.Options{Standardize: dataset.StandardizeTrain}); err == nil || !strings.Contains(err.Error(), "no train_mask") {
		t.Errorf("got %v", err)
	}
	// Statistics are of the rows that train, whatever chose them: those that are neither validated nor tested, or those of a draw.
	for _, c := range []struct {
		name string
		draw *dataset.Draw
	}{
		{"held", nil}, {"nomask", &dataset.Draw{Shares: [3]float64{0.5, 0.5, 0}, Seed: 3}}, {"nomask", &dataset.Draw{By: dataset.Stratified, Shares: [3]float64{0.3, 0.3, 0.4}, Seed: 3}},
		{"nomask", &dataset.Draw{By: dataset.PerClass, Counts: [3]int{1, 0, 1}, Seed: 3}},
	} {
		d, err := Load(filepath.Join(dir, c.name), dataset.Options{Standardize: dataset.StandardizeTrain, Draw: c.draw})
		if err != nil {
			t.Fatalf("%s by %+v: %v", c.name, c.draw, err)
		}
		mean, count := 0.0, 0.0
		for v, in := range d.Train {
			if in {
				mean, count = mean+2*float64(v), count+1
			}
		}
		if mean /= count; d.Scaling == nil || d.Scaling.Mean[0] != mean || d.Scaling.Mean[1] != mean+1 || c.draw == nil && mean != 1 {
			t.Errorf("%s by %+v: training rows %v have the mean %v, standardised with %v", c.name, c.draw, d.Train, mean, d.Scaling)
		}
		d.Close()
	}
	if _, err := Load(filepath.Join(dir, "dense"), dataset.Options{Standardize: "all"}); err == nil || !strings.Contains(err.Error(), `standardize "all"`) {
		t.Errorf("got %v", err)
	}
	// Given ones are used in place of the training rows', and no train_mask is needed.
	given := &dataset.Scaling{Mean: []float64{1, 2}, Deviation: []float64{2, 0}}
	for _, name := range []string{"dense", "nomask"} {
		d, err := Load(filepath.Join(dir, name), dataset.Options{Scaling: given})
		if want := []float32{-0.5, -1, 0.5, 1, 1.5, 3, 2.5, 5, 3.5, 7}; err != nil || !slices.Equal(d.Features.Dense, want) || d.Scaling != given || !strings.Contains(strings.Join(d.Notes, "\n"), "of the run") {
			t.Errorf("%s: got %v, %v, want %v", name, d, err, want)
			continue
		}
		d.Close()
	}
	for want, s := range map[string]*dataset.Scaling{
		"mean and deviation are of 1 and 2":        {Mean: []float64{1}, Deviation: []float64{1, 1}},
		"column 1: mean 0 and deviation -1 cannot": {Mean: []float64{0, 0}, Deviation: []float64{1, -1}},
		"column 0: mean NaN":                       {Mean: []float64{math.NaN(), 0}, Deviation: []float64{1, 1}},
	} {
		if _, err := Load(filepath.Join(dir, "dense"), dataset.Options{Scaling: s}); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("got %v, want %q", err, want)
		}
	}
}

// By rows, dense and sparse features, mapped or not, have rows whose absolute values add up to 1, in every format; rows of zeros stay.
func TestStandardizeRows(t *testing.T) {
	dir := t.TempDir()
	for _, d := range datatest.Tiny(t) {
		if err := stores.Write(filepath.Join(dir, d.Name), d, nil); err != nil {
			t.Fatal(err)
		}
		got, err := Load(filepath.Join(dir, d.Name), dataset.Options{Standardize: dataset.StandardizeRows})
		if !d.Features.Present() {
			if err == nil || !strings.Contains(err.Error(), "has no features whose rows") {
				t.Errorf("%s: %v", d.Name, err)
			}
			continue
		}
		if err != nil {
			t.Fatal(err)
		}
		defer got.Close()
		want, is := slices.Clone(d.Features.Dense), got.Features.Dense
		row := func(v int) (lo, hi int) { return v * d.Features.Cols, (v + 1) * d.Features.Cols }
		if d.Features.Sparse() {
			want, is = slices.Clone(d.Features.Data), got.Features.Data
			row = func(v int) (lo, hi int) { return int(d.Features.Indptr[v]), int(d.Features.Indptr[v+1]) }
		}
		for v := range d.Graph.Rows() {
			lo, hi := row(v)
			sum := 0.0
			for _, x := range want[lo:hi] {
				sum += math.Abs(float64(x))
			}
			for i := lo; i < hi && sum > 0; i++ {
				want[i] = float32(float64(want[i]) / sum)
			}
		}
		if !slices.Equal(is, want) || len(got.Notes) != 1 || got.Scaling != nil || got.Features.Cols != d.Features.Cols {
			t.Errorf("%s: got %v, %q, want %v", d.Name, is, got.Notes, want)
		}
	}
	for _, values := range [][]float32{{0, 0}, {-3, 1}, {math.MaxFloat32, -math.MaxFloat32}, {1e-45, 0}, {}} {
		out := make([]float32, len(values))
		scaleRow(out, values)
		sum := 0.0
		for _, x := range out {
			sum += math.Abs(float64(x))
		}
		if zero := !slices.ContainsFunc(values, func(x float32) bool { return x != 0 }); zero != (sum == 0) || !zero && math.Abs(sum-1) > 1e-6 {
			t.Errorf("%v becomes %v", values, out)
		}
	}
}
