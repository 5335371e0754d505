package formats

import (
	"fmt"
	"path/filepath"
	"strings"
	"testing"

	"capgnn/graph/dataset"
	"capgnn/graph/dataset/internal/datatest"
	"capgnn/internal/npy"
)

// features.json and features.npz of a CSV folder hold sparse features; labels say how many vertices there are.
func TestCSVSparseFeatures(t *testing.T) {
	for name, tc := range map[string]struct {
		files map[string]string
		want  string // of the error; "" none
		rows  int
	}{
		"lists":      {files: map[string]string{"features.json": `{"2": [4], "0": [1, 0, 1]}`}, rows: 3},
		"labels say": {files: map[string]string{"features.json": `{"0": [4]}`, "labels.csv": "y\n0\n1\n1\n0\n"}, rows: 4},
		"rows":       {files: map[string]string{"features.json": `{"0": [0, 1, 0], "1": [1, 1, 0]}`}, want: "features.json: its lists are equally long and repeat numbers, as rows of values do"},
		"packed":     {files: map[string]string{"features.json.gz": datatest.Gzip(t, `{"2": [4], "0": [1]}`)}, rows: 3},
		"too large":  {files: map[string]string{"features.json": `{"4": [4]}`, "labels.csv": "0\n1\n1\n"}, want: `"4" is not a vertex, want a number from 0 to 2`},
		"names":      {files: map[string]string{"features.json": `{"a": [4]}`}, want: "turns names into numbers"},
		"gaps":       {files: map[string]string{"features.json": `{"2000000000": [4]}`}, want: "too large for 1 lists"},
		"nothing":    {files: map[string]string{"features.json": `{"0": []}`}, want: "lists no features"},
		"both":       {files: map[string]string{"features.json": `{"0": [1]}`, "features.csv": "1\n2\n3\n"}, want: "there are both"},
		"no matrix":  {files: map[string]string{"features.npz": "PK"}, want: "features.npz"},
	} {
		tc.files["edges.csv"] = "from,to\n0,1\n1,2\n"
		d, err := Load(datatest.PutText(t, tc.files), dataset.Options{})
		switch {
		case tc.want != "":
			if err == nil || !strings.Contains(err.Error(), tc.want) {
				t.Errorf("%s: got %v, want %q", name, err, tc.want)
			}
		case err != nil || d.Graph.Rows() != tc.rows || d.Features.Cols != 5 || len(d.Unread) != 0:
			t.Errorf("%s: %v, %+v", name, err, d)
		}
	}
}

// A matrix of features by columns or as a list is refused in one way, with the call that mends it.
func TestCSVSparseKinds(t *testing.T) {
	for _, kind := range []string{"csc", "coo", "dia"} {
		dir := datatest.PutText(t, map[string]string{"edges.csv": "from,to\n0,1\n"})
		path := filepath.Join(dir, "features.npz")
		if err := npy.WriteArchiveFile(path, []npy.Entry{{Key: "format", Shape: []int{}, Data: []string{kind}}, {Key: "shape", Data: []int64{2, 2}}}, npy.Archiving{}); err != nil {
			t.Fatal(err)
		}
		want := fmt.Sprintf("%s: format.npy: is [%q], want csr: save the matrix with scipy.sparse.save_npz(path, a.tocsr())", path, kind)
		if _, err := Load(dir, dataset.Options{}); err == nil || err.Error() != want {
			t.Errorf("got %v, want %s", err, want)
		}
	}
}

// Sparse features of a CSV folder of any content are an error of one line that names the file, or a data set.
func FuzzCSVSparse(f *testing.F) {
	f.Add([]byte(`{"2": [4], "0": [1, 0, 1]}`), []byte("0\n1\n1\n"), []byte{0, 1, 2, 2}, []byte{0, 4}, uint8(3), uint8(5))
	f.Add([]byte(datatest.Gzip(f, `{"0": []}`)), []byte{}, []byte{0, 200}, []byte{}, uint8(1), uint8(0))
	f.Add([]byte{}, []byte("-1\n"), []byte{0, 3}, []byte{2, 2, 1}, uint8(1), uint8(3))
	f.Fuzz(func(t *testing.T, lists, labels, indptr, columns []byte, rows, cols uint8) {
		files := map[string]string{"edges.csv": "from,to\n0,1\n"}
		if len(labels) > 0 {
			files["labels.csv"] = string(labels)
		}
		if len(lists) > 0 {
			files["features.json"] = string(lists)
		}
		dir := datatest.PutText(t, files)
		if len(lists) == 0 {
			if err := npy.WriteArchiveFile(filepath.Join(dir, "features.npz"), []npy.Entry{
				{Key: "indptr", Data: bytewise(indptr)}, {Key: "indices", Data: bytewise(columns)}, {Key: "format", Shape: []int{}, Data: []string{"csr"}},
				{Key: "shape", Data: []int64{int64(rows), int64(cols)}}, {Key: "data", Data: bytewise(columns)},
			}, npy.Archiving{}); err != nil {
				t.Fatal(err)
			}
		}
		d, err := Load(dir, dataset.Options{})
		if accepted(t, dir, d, err) && (!d.Features.Sparse() || len(d.Unread) != 0) {
			t.Errorf("features %+v, not read %v", d.Features, d.Unread)
		}
	})
}
