package datasets

import (
	"errors"
	"os"
	"path/filepath"
	"testing"

	"capgnn/internal/npy"
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
	if got := sniffFile(filepath.Join(root, "cora_npz", "cora.npz")); got != "gnn-benchmark" {
		t.Errorf("cora.npz: %q", got)
	}
}

// Folders are told apart by names alone, whatever lies in the files.
func TestSniffFolders(t *testing.T) {
	for name, c := range map[string]struct {
		files []string
		want  string
	}{
		"empty":             {nil, ""},
		"text for people":   {[]string{"README.md", "LICENSE"}, ""},
		"store":             {[]string{"indptr.npy", "meta.json", "edges.csv"}, "store"},
		"planetoid":         {[]string{"ind.cora.graph"}, "planetoid"},
		"graphsaint, begun": {[]string{"role.json"}, "graphsaint"},
		"reddit":            {[]string{"reddit_self_loop_data.npz"}, "DGL npz pair"},
		"ogb":               {[]string{"raw/edge.csv.gz", "split/time/train.csv.gz"}, "OGB"},
		"half of an ogb":    {[]string{"raw/edge.csv.gz"}, ""},
		"csv":               {[]string{"edges.csv.gz", "labels.csv"}, "CSV"},
		"ogb of arrays":     {[]string{"raw/data.npz", "split/time/train.csv.gz"}, "OGB"},
		"dgl csv":           {[]string{"meta.yaml", "edges.csv", "nodes.csv"}, "DGL CSV"},
		"matrix":            {[]string{"web.mtx.gz"}, "MatrixMarket"},
		"edge list":         {[]string{"web.txt.gz"}, "edge list"},
		"networkx":          {[]string{"web.edgelist"}, "edge list"},
		"edges":             {[]string{"web.edges.gz"}, "edge list"},
		"graph not read":    {[]string{"web.gml"}, ""},
		"broken archive":    {[]string{"cora.npz"}, ""},
	} {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			for _, f := range c.files {
				path := filepath.Join(dir, "set", f)
				if err := errors.Join(os.MkdirAll(filepath.Dir(path), 0o755), os.WriteFile(path, []byte("x"), 0o600)); err != nil {
					t.Fatal(err)
				}
			}
			if err := errors.Join(os.MkdirAll(filepath.Join(dir, ".hidden", "raw"), 0o755), os.Symlink(filepath.Join(dir, "nowhere"), filepath.Join(dir, "link"))); err != nil {
				t.Fatal(err)
			}
			found, err := Folder(dir)
			if err != nil || (c.want == "") != (len(found) == 0) || len(found) > 1 {
				t.Fatalf("found %v, %v, want one %q", found, err, c.want)
			}
			if c.want != "" && (found[0] != Found{"set", filepath.Join(dir, "set"), c.want, int64(len(c.files))}) {
				t.Errorf("found %+v", found[0])
			}
			if LooksLike(filepath.Join(dir, "set"), "store") != (c.want == "store") {
				t.Error("is taken for a store, or the other way round")
			}
		})
	}
	if _, err := Folder(filepath.Join(t.TempDir(), "absent")); err == nil {
		t.Error("a folder that is not there was listed")
	}
}

// A folder of several archives holds as many data sets, each told by the names of its arrays.
func TestSniffArchives(t *testing.T) {
	dir := t.TempDir()
	for name, keys := range map[string][]string{"a": {"adj_indptr"}, "b": {"node_features", "edges"}, "c": {"indptr", "indices"}, "scipy": {"indptr", "indices", "format"}, "other": {"x"}} {
		var entries []npy.Entry
		for _, k := range keys {
			entries = append(entries, npy.Entry{Key: k, Data: []int32{0}})
		}
		if err := npy.WriteArchiveFile(filepath.Join(dir, name+".npz"), entries, npy.Archiving{}); err != nil {
			t.Fatal(err)
		}
	}
	want := map[string]string{"a": "gnn-benchmark", "b": "heterophilous", "c": "npz"}
	found := sniffFolder(dir)
	for _, f := range found {
		if f.Format != want[f.Name] || f.Path != filepath.Join(dir, f.Name+".npz") {
			t.Errorf("found %+v", f)
		}
	}
	if len(found) != len(want) {
		t.Errorf("found %v", found)
	}
}
