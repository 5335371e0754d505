package formats

import (
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"capgnn/graph/dataset"
	"capgnn/graph/dataset/internal/datatest"
	"capgnn/graph/dataset/stores"
	"capgnn/internal/npy"
)

// The validation set is read by any of its names, as a mask or as numbers of vertices, whatever the format.
func TestNamesOfSets(t *testing.T) {
	bench, rows := smallBenchmark("adj_", "attr_"), []npy.Entry{{Key: "node_features", Shape: []int{2, 1}, Data: []float32{1, 2}}, {Key: "edges", Shape: []int{1, 2}, Data: []int64{0, 1}}}
	store := []npy.Entry{{Key: "indptr", Data: []int64{0, 1, 2}}, {Key: "indices", Data: []int32{1, 0}}}
	train, val := npy.Entry{Key: "train_mask", Data: []bool{true, false}}, func(key string) npy.Entry {
		if strings.HasSuffix(key, "_idx") {
			return npy.Entry{Key: key, Data: []int64{1}}
		}
		return npy.Entry{Key: key, Data: []bool{false, true}}
	}
	check := func(what, path string) {
		t.Helper()
		d, err := Load(path, dataset.Options{})
		if err != nil {
			t.Errorf("%s: %v", what, err)
			return
		}
		unread := slices.ContainsFunc(d.Notes, func(n string) bool { return strings.Contains(n, "not read") })
		if !slices.Equal(d.Train, []bool{true, false}) || !slices.Equal(d.Val, []bool{false, true}) || unread || d.Unread != nil {
			t.Errorf("%s: training set %v, validation set %v, notes %q", what, d.Train, d.Val, d.Notes)
		}
	}
	for _, key := range []string{"val_mask", "valid_mask", "validation_mask", "dev_mask", "val_idx", "valid_idx", "validation_idx", "dev_idx"} {
		for kind, entries := range map[string][]npy.Entry{"store": store, "gnn-benchmark": bench, "heterophilous": rows} {
			check(kind+" "+key, datatest.NPZ(t, append(slices.Clone(entries), train, val(key))...))
		}
		dir := datatest.PutText(t, map[string]string{stores.MetaFile: `{"version": 1}`})
		for _, e := range append(slices.Clone(store), train, val(key)) {
			if err := npy.WriteFile(filepath.Join(dir, e.Key+".npy"), nil, e.Data); err != nil {
				t.Fatal(err)
			}
		}
		check("folder "+key, dir)
	}
	for _, name := range []string{"val", "valid", "validation", "dev"} {
		check(name+"_masks", datatest.NPZ(t, append(slices.Clone(rows), npy.Entry{Key: "train_masks", Shape: []int{1, 2}, Data: []bool{true, false}},
			npy.Entry{Key: name + "_masks", Shape: []int{1, 2}, Data: []bool{false, true}})...))
		check(name+".csv", datatest.PutText(t, map[string]string{"edges.csv": "from,to\n0,1\n", "labels.csv": "0\n1\n", "train.csv": "1\n0\n", name + ".csv": "0\n1\n"}))
		check(name+" of DGL", datatest.PutText(t, map[string]string{"meta.yaml": toyDGLMeta, "nodes.csv": fmt.Sprintf("node_id,train_mask,%s_mask\n0,1,0\n1,0,1\n", name), "edges.csv": "src_id,dst_id\n0,1\n"}))
	}
	for _, c := range []struct {
		want string
		more []npy.Entry
	}{
		{"valid_mask.npy: there is also val_mask.npy, with other vertices; keep one", []npy.Entry{val("val_mask"), {Key: "valid_mask", Data: []bool{true, false}}}},
		{"val_idx.npy: there is also val_mask.npy, with other vertices; keep one", []npy.Entry{val("val_mask"), {Key: "val_idx", Data: []int64{}}}},
		{"val_idx.npy: byte 128: vertex 2 is outside [0, 2)", []npy.Entry{{Key: "val_idx", Data: []int64{2}}}},
		{"val_idx.npy: byte 136: vertex 0 is there twice; a mask is train_mask", []npy.Entry{{Key: "val_idx", Data: []int64{0, 0}}}},
		{"val_idx.npy: holds true and false", []npy.Entry{{Key: "val_idx", Data: []bool{false, true}}}},
		{"val_mask.npy: has 1 entries, want 2 or none", []npy.Entry{{Key: "val_mask", Data: []int64{1}}}},
		{"dev_masks.npy: there is also val_masks.npy; keep one", []npy.Entry{{Key: "val_masks", Shape: []int{1, 2}, Data: []bool{false, true}}, {Key: "dev_masks", Shape: []int{1, 2}, Data: []bool{false, true}}}},
	} {
		if _, err := Load(datatest.NPZ(t, append(slices.Clone(rows), c.more...)...), dataset.Options{}); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("got %v, want %q", err, c.want)
		}
	}
	check("twice the same", datatest.NPZ(t, append(slices.Clone(store), train, val("val_mask"), val("valid_idx"))...))
}
