package formats

import (
	"slices"
	"strings"
	"testing"

	"capgnn/graph/dataset"
	"capgnn/graph/dataset/internal/datatest"
)

// Files of a folder that are not read are listed, with what they look like; those for people are not.
func TestUnread(t *testing.T) {
	edges := "from,to\n0,1\n1,2\n"
	for name, tc := range map[string]struct {
		files  map[string]string
		unread []dataset.Unread
	}{
		"all read": {map[string]string{"edges.csv": edges, "features.csv": "1\n2\n3\n", "labels.csv.gz": datatest.Gzip(t, "0\n1\n1\n"), "train.csv": "0\n", "valid.csv": "1\n", "test.npy": "",
			"ids.csv": "id\n", "classes.csv": "c\n", "README.txt": "x", "LICENSE": "x", "picture.png": "x", ".hidden.csv": "x"}, nil},
		"csv": {map[string]string{"edges.csv": edges, "feats.json": "{}", "target.csv": "id,t\n", "train_mask.npy": "", "other.csv": "x", "edge_features.csv": "x"},
			[]dataset.Unread{{Name: "edge_features.csv", Looks: dataset.LooksData}, {Name: "feats.json", Looks: dataset.LooksFeatures}, {Name: "other.csv", Looks: dataset.LooksData}, {Name: "target.csv", Looks: dataset.LooksLabels}, {Name: "train_mask.npy", Looks: dataset.LooksSplit}}},
		"edge list": {map[string]string{"graph.txt": edges, "features.npy": "", "y.npy": ""}, []dataset.Unread{{Name: "features.npy", Looks: dataset.LooksFeatures}, {Name: "y.npy", Looks: dataset.LooksLabels}}},
	} {
		if name == "all read" {
			delete(tc.files, "test.npy")
		}
		dir := datatest.PutText(t, tc.files)
		d, err := Load(dir, dataset.Options{})
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		if !slices.Equal(d.Unread, tc.unread) || (len(tc.unread) > 0) != slices.ContainsFunc(d.Notes, func(n string) bool { return strings.Contains(n, "; not read: ") }) {
			t.Errorf("%s: got %v, notes %q, want %v", name, d.Unread, d.Notes, tc.unread)
		}
		if name == "all read" && (!slices.Contains(d.Files, "valid.csv") || d.Val == nil) {
			t.Errorf("read %v, validation %v", d.Files, d.Val)
		}
		for _, u := range d.Unread {
			if u.Looks != dataset.LooksData && !strings.Contains(Wanted(d, u.Looks), "edges.csv") {
				t.Errorf("%s: %s", u.Name, Wanted(d, u.Looks))
			}
		}
	}
}
