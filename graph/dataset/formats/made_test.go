package formats

import (
	"os"
	"path/filepath"
	"slices"
	"testing"

	"capgnn/graph/dataset"
)

// Load makes features where the files have none, and in place of those they have, which no format standardises first.
func TestLoadMadeFeatures(t *testing.T) {
	dir := t.TempDir()
	for name, text := range map[string]string{"edges.csv": "from,to\n0,1\n1,2\n2,2\n", "features.csv": "a,b\n1,2\n3,4\n5,6\n"} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	d, err := Load(dir, dataset.Options{Features: "degree"})
	if err != nil {
		t.Fatal(err)
	}
	if !slices.Equal(d.Features.Indices, []int32{0, 1, 1}) || !slices.ContainsFunc(d.Notes, func(n string) bool {
		return n == "--features degree: 89 columns, in place of the 2 columns of the data set"
	}) {
		t.Errorf("columns %v, notes %q", d.Features.Indices, d.Notes)
	}
	if d, err = Load(dir, dataset.Options{Features: dataset.FeaturesStored}); err != nil || d.Features.Cols != 2 {
		t.Errorf("stored: %v", err)
	}
	for _, opt := range []dataset.Options{{Features: "degree", Standardize: dataset.StandardizeTrain}, {Features: "random:2", Scaling: &dataset.Scaling{}},
		{Features: "random"}, {Features: "random:0"}, {Features: "random:65537"}, {Features: "random:x"}, {Features: "one-hot"}} {
		if _, err := Load(dir, opt); err == nil {
			t.Errorf("%+v was accepted", opt)
		}
	}
}
