package dataset

import (
	"bytes"
	"errors"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"capgnn/internal/npy"
)

func nan() float32 { return float32(math.NaN()) }

func TestValidate(t *testing.T) {
	if err := errors.Join(tiny(t)[0].Validate(), tiny(t)[1].Validate(), tiny(t)[2].Validate()); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		want  string
		which int
		spoil func(d *Dataset)
	}{
		{"no vertices", 0, func(d *Dataset) { d.Graph = nil }},
		{"but 6 columns", 0, func(d *Dataset) { g := *d.Graph; g.Cols = 6; d.Graph = &g }},
		{"features: 9 values", 0, func(d *Dataset) { d.Features.Dense = d.Features.Dense[:9] }},
		{"row 1, column 0 is NaN", 0, func(d *Dataset) { d.Features.Dense[2] = nan() }},
		{"both dense and sparse", 1, func(d *Dataset) { d.Features.Dense = []float32{1} }},
		{"not ascending", 1, func(d *Dataset) { d.Features.Indices[1] = 0 }},
		{"both one class", 0, func(d *Dataset) { d.Targets = []uint8{1} }},
		{"classes without labels", 2, func(d *Dataset) { d.Classes = 3 }},
		{"label -2", 0, func(d *Dataset) { d.Labels[0] = -2 }},
		{"neither 0 nor 1", 1, func(d *Dataset) { d.Targets[3] = 7 }},
		{"9 entries for 5", 1, func(d *Dataset) { d.Targets = d.Targets[:9] }},
		{"val_mask: 4 entries", 0, func(d *Dataset) { d.Val = d.Val[:4] }},
		{"ids: 2 entries", 0, func(d *Dataset) { d.IDs = d.IDs[:2] }},
	} {
		d := tiny(t)[c.which]
		c.spoil(d)
		if err := d.Validate(); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("got %v, want %q", err, c.want)
		}
	}
}

func TestBenchmarkFaults(t *testing.T) {
	good := []npy.Entry{
		{Key: "adj_data", Data: []float64{1, 1}}, {Key: "adj_indices", Data: []int32{1, 0}}, {Key: "adj_indptr", Data: []int32{0, 1, 2}}, {Key: "adj_shape", Data: []int64{2, 2}},
		{Key: "attr_data", Data: []float64{1, 1}}, {Key: "attr_indices", Data: []int32{1, 0}}, {Key: "attr_indptr", Data: []int32{0, 2, 2}}, {Key: "attr_shape", Data: []int64{2, 3}},
		{Key: "labels", Data: []int8{1, 0}},
	}
	d, err := Load(npz(t, good...), Options{})
	if err != nil || d.Classes != 2 || !slices.Equal(d.Features.Indices, []int32{0, 1}) || len(d.Notes) != 1 || !strings.Contains(d.Notes[0], "<f8 were converted") {
		t.Errorf("got %+v, %v", d, err)
	}
	for _, c := range []struct {
		want string
		e    npy.Entry
	}{
		{"adj_data.npy: byte 136: edge 1 has the weight 0.5", npy.Entry{Key: "adj_data", Data: []float64{1, 0.5}}},
		{"weight NaN", npy.Entry{Key: "adj_data", Data: []float32{1, nan()}}},
		{"adj_data.npy: has 1 entries, want 2", npy.Entry{Key: "adj_data", Data: []float32{1}}},
		{"is 2 × 3, want a square", npy.Entry{Key: "adj_shape", Data: []int64{2, 3}}},
		{"dimension -2 is outside", npy.Entry{Key: "adj_shape", Data: []int64{-2, -2}}},
		{"dimension 1099511627776", npy.Entry{Key: "adj_shape", Data: []int64{1 << 40, 1 << 40}}},
		{"has 3 row pointers; want 2000000001", npy.Entry{Key: "adj_shape", Data: []int64{2e9, 2e9}}},
		{"row 1: neighbour 2 is outside [0, 2)", npy.Entry{Key: "adj_indices", Data: []int32{1, 2}}},
		{"attr_shape.npy: is 3 × 3", npy.Entry{Key: "attr_shape", Data: []int64{3, 3}}},
		{"attr_shape.npy: is 2 × 2147483646", npy.Entry{Key: "attr_shape", Data: []int64{2, math.MaxInt32 - 1}}},
		{"column 3 is outside [0, 3)", npy.Entry{Key: "attr_indices", Data: []int32{1, 3}}},
		{"value 1 (column 0) is NaN", npy.Entry{Key: "attr_data", Data: []float64{1, math.NaN()}}},
		{"value 1e+300 does not fit float32", npy.Entry{Key: "attr_data", Data: []float64{1, 1e300}}},
		{"label -7 is below -1", npy.Entry{Key: "labels", Data: []int32{1, -7}}},
		{"has shape [3]", npy.Entry{Key: "labels", Data: []int32{1, 0, 0}}},
	} {
		if _, err := Load(npz(t, with(good, c.e)...), Options{}); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("got %v, want %q", err, c.want)
		}
	}
}

func TestPathsThatAreNoDataset(t *testing.T) {
	dir := t.TempDir()
	file := filepath.Join(dir, "notes.md")
	text := filepath.Join(dir, "text.npz")
	if err := errors.Join(os.WriteFile(file, []byte("hello"), 0o600), os.WriteFile(text, []byte("hello"), 0o600)); err != nil {
		t.Fatal(err)
	}
	for path, want := range map[string]string{
		filepath.Join(dir, "absent"): "no such file", file: "no data set that can be read", text: "not a complete .npz", t.TempDir(): "no data set was found",
	} {
		if _, err := Load(path, Options{}); err == nil || !strings.Contains(err.Error(), want) || !strings.Contains(err.Error(), path) {
			t.Errorf("got %v, want %q", err, want)
		}
	}
}

func TestSplit(t *testing.T) {
	labels := make([]int32, 1000)
	for v := range 100 {
		labels[7*v] = -1
	}
	train, val, test, err := Split(1000, labels, 1, DefaultFractions)
	if err != nil || countTrue(train) != 630 || countTrue(val) != 180 || countTrue(test) != 90 {
		t.Fatalf("%d/%d/%d, %v, want 630/180/90", countTrue(train), countTrue(val), countTrue(test), err)
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
	again, _, _, _ := Split(1000, labels, 1, DefaultFractions)
	other, _, _, _ := Split(1000, labels, 2, DefaultFractions)
	if !slices.Equal(train, again) || slices.Equal(train, other) {
		t.Error("a split must depend on its seed, and on nothing else")
	}
	few, _, rest, err := Split(3, nil, 1, [3]float64{0.1, 0, 0.4})
	if err != nil || countTrue(few) != 1 || countTrue(rest) != 1 {
		t.Errorf("%v, %v, %v: want one each", few, rest, err)
	}
	all, _, none, err := Split(3, nil, 1, [3]float64{1, 0, 0})
	if err != nil || countTrue(all) != 3 || countTrue(none) != 0 {
		t.Errorf("%v, %v, %v: want three and none", all, none, err)
	}
	for _, bad := range [][3]float64{{0.7, 0.7, 0}, {-0.1, 0.5, 0.5}, {math.NaN(), 0, 0}} {
		if _, _, _, err := Split(10, nil, 1, bad); err == nil {
			t.Errorf("%v was accepted", bad)
		}
	}
	if _, _, _, err := Split(10, labels, 1, DefaultFractions); err == nil {
		t.Error("1000 labels for 10 vertices were accepted")
	}
}

// TestSplitIsUniform: over 4000 seeds each of 10 vertices trains about 2000 times. The count is binomial with standard
// deviation 32; six of them are exceeded once in 5·10⁸ draws, and the seeds are fixed.
func TestSplitIsUniform(t *testing.T) {
	var count [10]int
	for seed := range uint64(4000) {
		train, _, _, err := Split(10, nil, seed, [3]float64{0.5, 0.5, 0})
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

func FuzzMeta(f *testing.F) {
	f.Add([]byte(`{"capgnn_store": 1, "name": "cora", "vertices": 5, "edges": 7, "features": 2, "sparse": false, "classes": 3, "multi_label": false, "train": 2}`))
	f.Add([]byte(`{"vertices": -1}`))
	f.Fuzz(func(t *testing.T, b []byte) {
		m, err := parseMeta("meta.json", b)
		if err == nil && (or(m.Vertices) < -1 || or(m.Features) > maxCols || !plainName(m.Name) || filepath.Base("x"+m.Name) != "x"+m.Name) {
			t.Fatalf("accepted %+v", m)
		}
	})
}

// FuzzArchive loads any bytes as an .npz data set: an error, or a valid data set.
func FuzzArchive(f *testing.F) {
	for _, d := range tiny(f) {
		var b bytes.Buffer
		if err := npy.WriteArchive(&b, d.entries(), npy.Archiving{}); err != nil {
			f.Fatal(err)
		}
		f.Add(b.Bytes())
	}
	f.Fuzz(func(t *testing.T, b []byte) {
		z, err := npy.ReadArchive(bytes.NewReader(b), int64(len(b)), "d.npz")
		if err != nil {
			return
		}
		d, err := loadArchive(z, Options{})
		if err == nil {
			err = d.Validate()
		}
		if err != nil && strings.Contains(err.Error(), "\n") {
			t.Fatalf("more than one line: %q", err)
		}
	})
}

// FuzzStoreArrays loads arrays of any content with valid headers and checksums: an error, or a valid data set.
func FuzzStoreArrays(f *testing.F) {
	f.Add([]byte{0, 2, 3}, []byte{1, 0, 0}, []byte{0, 1, 2}, []byte{1, 1, 255, 0}, uint8(3), uint8(0))
	f.Add([]byte{0, 0}, []byte{}, []byte{0, 1}, []byte{0}, uint8(200), uint8(1))
	f.Fuzz(func(t *testing.T, indptr, indices, xptr, y []byte, cols, edges uint8) {
		wide := func(b []byte) (out []int64) {
			for _, v := range b {
				out = append(out, int64(int8(v)))
			}
			return out
		}
		entries := []npy.Entry{
			{Key: "indptr", Data: wide(indptr)}, {Key: "indices", Data: wide(indices)}, {Key: "y", Data: wide(y)},
			{Key: "x_indptr", Data: wide(xptr)}, {Key: "x_indices", Data: wide(indices)}, {Key: "x_data", Data: make([]float32, len(indices))},
			{Key: "x_shape", Data: []int64{int64(len(indptr) - 1), int64(cols)}}, {Key: "train_mask", Data: y},
		}
		var b bytes.Buffer
		if err := npy.WriteArchive(&b, entries[:4+int(cols)%5], npy.Archiving{}); err != nil {
			t.Fatal(err)
		}
		z, err := npy.ReadArchive(bytes.NewReader(b.Bytes()), int64(b.Len()), "d.npz")
		if err != nil {
			t.Fatal(err)
		}
		d, err := loadArchive(z, Options{Edges: []string{Auto, Symmetric, Directed, Reversed}[edges%4]})
		if err != nil {
			return
		}
		if err := d.Validate(); err != nil {
			t.Fatal(err)
		}
	})
}
