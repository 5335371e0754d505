package datasets

import (
	"path/filepath"
	"testing"

	"capgnn/internal/published"
)

// The published sets are listed with the formats they are read as.
func TestSniff(t *testing.T) {
	root := published.Path(t)
	found, err := Folder(root)
	if err != nil {
		t.Fatal(err)
	}
	formats := map[string]string{}
	for _, f := range found {
		formats[f.Name] = f.Format
	}
	for name, want := range map[string]string{
		"cora_npz": "gnn-benchmark", "planetoid_cora": "planetoid", "ppi": "graphsaint", "tolokers": "heterophilous", "web_notredame": "edge list", "README.md": "",
	} {
		if formats[name] != want {
			t.Errorf("%s: format %q, want %q", name, formats[name], want)
		}
	}
	if got := SniffFile(filepath.Join(root, "cora_npz", "cora.npz")); got != "gnn-benchmark" {
		t.Errorf("cora.npz: %q", got)
	}
}
