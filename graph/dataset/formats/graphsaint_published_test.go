package formats

import (
	"bytes"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"capgnn/graph"
	"capgnn/graph/dataset"
	"capgnn/graph/dataset/internal/datatest"
	"capgnn/graph/dataset/internal/textfile"
	"capgnn/internal/published"
)

// TestPublishedSaint holds the reader of format D to the figures in data/README.md.
func TestPublishedSaint(t *testing.T) {
	dir := published.Path(t, "ppi")
	d, err := Load(dir, dataset.Options{Standardize: dataset.StandardizeNone})
	if err != nil {
		t.Fatal(err)
	}
	p, loops := pairs(d)
	if d.Graph.Rows() != 14755 || d.Graph.Edges() != 450540 || p != 222109 || loops != 6322 || maxDegree(d) != 721 || !d.Graph.Symmetric() {
		t.Errorf("%d vertices, %d edges, %d pairs, %d loops, degree %d", d.Graph.Rows(), d.Graph.Edges(), p, loops, maxDegree(d))
	}
	isolated, zero := 0, 0
	for v := range d.Graph.Rows() {
		row := d.Graph.Row(v)
		if len(row) == 0 || len(row) == 1 && int(row[0]) == v {
			isolated++
		}
		if sum(d.Features.Dense[v*50:(v+1)*50]) == 0 {
			zero++
		}
	}
	if isolated != 54 || zero != 6410 || d.Features.Cols != 50 || sum(d.Features.Dense) != 13306 {
		t.Errorf("%d isolated, %d rows of zeros, %d columns, sum %.0f", isolated, zero, d.Features.Cols, sum(d.Features.Dense))
	}
	ones := 0
	for _, y := range d.Targets {
		ones += int(y)
	}
	if d.Classes != 121 || ones != 533197 || len(d.Targets) != 121*14755 || d.Name != "ppi" {
		t.Errorf("%d classes, %d ones in %d targets, name %q", d.Classes, ones, len(d.Targets), d.Name)
	}
	for v := range d.Train {
		if d.Train[v] != (v < 9716) || d.Val[v] != (v >= 9716 && v < 11541) || d.Test[v] != (v >= 11541) {
			t.Fatalf("vertex %d is in the wrong split", v)
		}
	}
	checkDirections(t, "ppi", 450540, 3308660667)
	checkTrainMatrix(t, dir, d)
}

// checkTrainMatrix: adj_train is adj_full restricted to the training vertices.
func checkTrainMatrix(t *testing.T, dir string, d *dataset.Dataset) {
	t.Helper()
	sub, counts, err := readScipy(&dataset.Dataset{}, filepath.Join(dir, "adj_train.npz"), dataset.Options{}, 14755)
	if err != nil {
		t.Fatal(err)
	}
	empty := 0
	for v := range sub.Rows() {
		var want []graph.NodeID
		for _, u := range d.Graph.Row(v) {
			if d.Train[v] && d.Train[u] {
				want = append(want, u)
			}
		}
		if !slices.Equal(sub.Row(v), want) {
			t.Fatalf("row %d of adj_train differs from adj_full", v)
		}
		if !d.Train[v] && len(sub.Row(v)) == 0 {
			empty++
		}
	}
	if counts.Stored != 301925 || sum(sub.Indices) != 1475378469 || empty != 5039 {
		t.Errorf("adj_train: %d entries, sum %.0f, %d empty rows", counts.Stored, sum(sub.Indices), empty)
	}
	for _, note := range d.Notes {
		if strings.Contains(note, "join a training vertex") {
			t.Errorf("note %q, but no edge leaves the training vertices", note)
		}
	}
}

// TestPublishedSaintStandardised: a column of zeros and ones with the share p of ones among the training rows becomes
// (x - p) / sqrt(p (1 - p)); so mean and deviation over the training rows are 0 and 1.
func TestPublishedSaintStandardised(t *testing.T) {
	raw, err1 := Load(published.Path(t, "ppi"), dataset.Options{Standardize: dataset.StandardizeNone})
	d, err2 := Load(published.Path(t, "ppi"), dataset.Options{})
	named, err3 := Load(published.Path(t, "ppi", "feats.npy"), dataset.Options{Standardize: dataset.StandardizeTrain})
	if err1 != nil || err2 != nil || err3 != nil {
		t.Fatal(err1, err2, err3)
	}
	if !datatest.Equal(d, named) || !strings.Contains(strings.Join(d.Notes, "\n"), "9716 training rows") {
		t.Errorf("auto and train differ, or notes %q say nothing of it", d.Notes)
	}
	// Every value is one rounding to float32 away, relatively 2^-24; as the values of a column have mean square 1, its mean
	// and deviation are no further off. One per cent is for the float64 sums.
	const tolerance = 1.01 / (1 << 24)
	constant := 0
	for c := range 50 {
		ones, mean, square := 0.0, 0.0, 0.0
		for v := range 9716 {
			z := float64(d.Features.Dense[v*50+c])
			ones, mean, square = ones+float64(raw.Features.Dense[v*50+c]), mean+z/9716, square+z*z/9716
		}
		share := ones / 9716
		deviation := math.Sqrt(share * (1 - share))
		if deviation == 0 {
			constant++
			deviation = 1
		} else if math.Abs(mean) > tolerance || math.Abs(math.Sqrt(square-mean*mean)-1) > tolerance {
			t.Errorf("column %d: mean %g, variance %g", c, mean, square-mean*mean)
		}
		for v := range 14755 {
			want := (float64(raw.Features.Dense[v*50+c]) - share) / deviation
			if got := float64(d.Features.Dense[v*50+c]); math.Abs(got-want) > tolerance*math.Abs(want) {
				t.Fatalf("row %d, column %d: %g, want %g", v, c, got, want)
			}
		}
	}
	if constant == 50 {
		t.Error("no column was tested")
	}
}

// TestDamagedPublishedSaint cuts the real files.
func TestDamagedPublishedSaint(t *testing.T) {
	for _, name := range []string{"class_map.json", "role.json"} {
		path := published.Path(t, "ppi", name)
		good, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		for i := range 40 {
			n := i * len(good) / 40
			s := textfile.NewScanner(path, bytes.NewReader(good[:n]))
			if name == "role.json" {
				err = scanRoles(&dataset.Dataset{}, s, 14755)
			} else {
				err = scanClassMap(&dataset.Dataset{}, s, int64(n), 14755)
			}
			if err == nil || !strings.HasPrefix(err.Error(), path+": byte ") {
				t.Errorf("%s cut to %d bytes: %v", name, n, err)
			}
		}
	}
}
