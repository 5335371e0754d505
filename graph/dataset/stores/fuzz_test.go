package stores

import (
	"bytes"
	"path/filepath"
	"testing"

	"capgnn/graph/dataset"
	"capgnn/graph/dataset/internal/check"
	"capgnn/internal/npy"
)

func FuzzMeta(f *testing.F) {
	f.Add([]byte(`{"capgnn_store": 1, "name": "cora", "vertices": 5, "edges": 7, "features": 2, "sparse": false, "classes": 3, "multi_label": false, "train": 2}`))
	f.Add([]byte(`{"vertices": -1}`))
	f.Fuzz(func(t *testing.T, b []byte) {
		m, err := parseMeta("meta.json", b)
		if err == nil && (or(m.Vertices) < -1 || or(m.Features) > check.MaxCols || !plainName(m.Name) || filepath.Base("x"+m.Name) != "x"+m.Name) {
			t.Fatalf("accepted %+v", m)
		}
	})
}

// FuzzStoreArrays loads arrays of any content with valid headers and checksums: an error, or a valid data set.
func FuzzStoreArrays(f *testing.F) {
	f.Add([]byte{0, 2, 3}, []byte{1, 0, 0}, []byte{0, 1, 2}, []byte{1, 1, 255, 0}, uint8(3), uint8(0))
	f.Add([]byte{0, 2, 3}, []byte{1, 0, 0}, []byte{0, 1, 2}, []byte{1, 0}, uint8(5), uint8(4))
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
			{Key: "x_shape", Data: []int64{int64(len(indptr) - 1), int64(cols)}}, {Key: "train_mask", Data: y}, {Key: "data", Data: wide(xptr)},
		}
		entries = entries[:4+int(cols)%6]
		if edges&4 != 0 {
			entries = append(entries, npy.Entry{Key: "edge_weight", Data: wide(indices)}, npy.Entry{Key: "dev_idx", Data: wide(y)})
		}
		var b bytes.Buffer
		if err := npy.WriteArchive(&b, entries, npy.Archiving{}); err != nil {
			t.Fatal(err)
		}
		z, err := npy.ReadArchive(bytes.NewReader(b.Bytes()), int64(b.Len()), "d.npz")
		if err != nil {
			t.Fatal(err)
		}
		d, err := LoadArchive(z, dataset.Options{Edges: []string{dataset.Auto, dataset.Symmetric, dataset.Directed, dataset.Reversed}[edges%4]})
		if err != nil {
			return
		}
		if err := d.Validate(); err != nil {
			t.Fatal(err)
		}
	})
}
