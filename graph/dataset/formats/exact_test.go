package formats

import (
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"

	"capgnn/graph/dataset"
	"capgnn/graph/dataset/internal/datatest"
	"capgnn/graph/dataset/stores"
	"capgnn/internal/npy"
)

// Times in seconds keep their differences when they are standardised, however they are stored; without, a note says that they do not. The mean and deviation that
// training has used give the same bits again.
func TestExactColumns(t *testing.T) {
	const n = 6
	times := [n]float64{1700000001, 1700000002, 1700000003, 1700000005, 1700000000, 1700000009}
	small := [n]float64{0.1, 0.2, 0.7, 0.4, 0.5, 0.6}
	var rows []float64
	var turned strings.Builder
	whole := make([]int64, 0, 2*n)
	for v := range n {
		rows = append(rows, small[v], times[v])
		whole = append(whole, int64(10*small[v]), int64(times[v]))
	}
	turned.WriteString("id,small,time\n")
	for v := n - 1; v >= 0; v-- {
		fmt.Fprintf(&turned, "%d,%g,%.0f\n", v, small[v], times[v])
	}
	columns := append(slices.Clone(small[:]), times[:]...)
	fortran := strings.Replace(string(array(t, []int{n, 2}, columns)), "'fortran_order': False", "'fortran_order': True ", 1)
	store := t.TempDir() + "/store"
	if err := stores.Write(store, topology(n, dataset.Dataset{Features: dataset.Features{Cols: 2, Dense: make([]float32, 2*n)}, Train: []bool{true, true, true, false, false, false}}), nil); err != nil {
		t.Fatal(err)
	}
	if err := npy.WriteFile(store+"/x.npy", []int{n, 2}, rows); err != nil {
		t.Fatal(err)
	}
	base := map[string][]byte{"edges.csv": []byte("u,v\n0,5\n"), "train.csv": []byte("v\n0\n1\n2\n")}
	folder := func(name, content string) string {
		files := map[string][]byte{name: []byte(content)}
		for k, b := range base {
			files[k] = b
		}
		return datatest.Put(t, files)
	}
	// The training rows are 1, 2, 3 behind 1.7e9: mean 2, deviation sqrt(2/3).
	deviation := math.Sqrt(2.0 / 3)
	for name, path := range map[string]string{
		"text": folder("features.csv", turned.String()), "float64": folder("features.npy", string(array(t, []int{n, 2}, rows))), "int64": folder("features.npy", string(array(t, []int{n, 2}, whole))),
		"Fortran": folder("features.npy", fortran), "store": store,
	} {
		d, err := Load(path, dataset.Options{Standardize: dataset.StandardizeTrain})
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		for v := range n {
			want := float32((times[v] - 1700000002) / deviation)
			if got := d.Features.Dense[2*v+1]; math.Abs(float64(got-want)) > 1e-6*math.Abs(float64(want)) {
				t.Errorf("%s: vertex %d is %g, want %g", name, v, got, want)
			}
		}
		if d.Scaling.Mean[1] != 1700000002 || d.Scaling.Deviation[1] != deviation || d.Exact != nil || strings.Contains(strings.Join(d.Notes, "\n"), "rounds differences") {
			t.Errorf("%s: scaling %v, exact %v, notes %q", name, d.Scaling, d.Exact, d.Notes)
		}
		again, err := Load(path, dataset.Options{Scaling: d.Scaling})
		if err != nil || !slices.Equal(again.Features.Dense, d.Features.Dense) {
			t.Errorf("%s: with the same scaling %v, %v, want %v", name, again.Features.Dense, err, d.Features.Dense)
		}
		raw, err := Load(path, dataset.Options{})
		if err != nil {
			t.Fatal(err)
		}
		title := map[bool]string{true: `"time"`, false: `"1"`}[name == "text"]
		noted := strings.Contains(strings.Join(raw.Notes, "\n"), "features: float32 rounds differences away in columns "+title+", whose values are as large as 1.7e+09: --standardize train keeps them")
		if raw.Features.Dense[1] != float32(times[0]) || raw.Exact != nil || !noted {
			t.Errorf("%s: features %v, notes %q", name, raw.Features.Dense, raw.Notes)
		}
		for _, d := range []*dataset.Dataset{d, again, raw} {
			d.Close()
		}
	}
	// Columns in a run's order are standardised with its scaling.
	path := folder("features.csv", turned.String())
	there, err1 := Load(path, dataset.Options{Standardize: dataset.StandardizeTrain})
	if err1 != nil {
		t.Fatal(err1)
	}
	s := there.Scaling
	back, err2 := Load(path, dataset.Options{Columns: []string{"time", "small"}, Scaling: &dataset.Scaling{Mean: []float64{s.Mean[1], s.Mean[0]}, Deviation: []float64{s.Deviation[1], s.Deviation[0]}}})
	if err2 != nil {
		t.Fatal(err2)
	}
	for v := range n {
		if a, b := there.Features.Dense[2*v:2*v+2], back.Features.Dense[2*v:2*v+2]; a[0] != b[1] || a[1] != b[0] {
			t.Errorf("vertex %d: %v in the order of a run is %v", v, a, b)
		}
	}
	// Columns that float32 holds, or whose spread is large, stay as they were.
	d, err := Load(folder("features.csv", "x,y\n16777216,0.1\n16777218,5\n0,7\n1,1\n2,2\n3,3\n"), dataset.Options{})
	if err != nil || strings.Contains(strings.Join(d.Notes, "\n"), "float32") {
		t.Errorf("notes %q, %v", d.Notes, err)
	}
}

// Features of 16 bits are read as the same numbers of 32.
func TestFloat16Features(t *testing.T) {
	header := "{'descr': '<f2', 'fortran_order': False, 'shape': (3, 2), }"
	file := "\x93NUMPY\x01\x00\x76\x00" + header + strings.Repeat(" ", 0x76-1-len(header)) + "\n" + "\x00\x3c\x00\x00\x00\x3c\x00\x3c\x00\x00\x00\x3c"
	dir := datatest.Put(t, map[string][]byte{"edges.csv": []byte("u,v\n0,1\n"), "features.npy": []byte(file)})
	d, err := Load(dir, dataset.Options{})
	if err != nil || !slices.Equal(d.Features.Dense, []float32{1, 0, 1, 1, 0, 1}) || !strings.Contains(strings.Join(d.Notes, "\n"), "values of type <f2 were converted to float32") {
		t.Errorf("got %+v, %v", d, err)
	}
}
