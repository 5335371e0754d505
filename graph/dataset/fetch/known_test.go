package fetch

import (
	"path/filepath"
	"strings"
	"testing"

	"capgnn/graph/dataset"
	"capgnn/graph/dataset/formats"
	"capgnn/internal/published"
)

func TestKnown(t *testing.T) {
	seen := map[string]bool{}
	for _, p := range Known() {
		if seen[p.Name] || p.Name == "" || p.Source == "" || p.Vertices == 0 || p.Format == "" {
			t.Errorf("%+v", p)
		}
		seen[p.Name] = true
		if p.Fetchable() != (len(p.files) > 0) || p.Fetchable() == (p.ByHand("root") != "") {
			t.Errorf("%s: %d files, by hand %q", p.Name, len(p.files), p.ByHand("root"))
		}
		for _, f := range p.files {
			if f.name == "" || (f.bytes > 0) != (f.sha256 != "") || f.bytes == 0 && f.limit == 0 || len(f.sha256)%64 != 0 || len(f.blob)%40 != 0 {
				t.Errorf("%s: %+v", p.Name, f)
			}
		}
	}
	if _, err := Find("nonsense"); err == nil || !strings.Contains(err.Error(), "ogbn_arxiv") {
		t.Errorf("got %v", err)
	}
}

// The table agrees with the readers and with the published files as far as these are there.
func TestKnownSizes(t *testing.T) {
	folders := map[string]string{}
	for _, name := range []string{"planetoid_cora", "planetoid_citeseer", "cora_ml", "amazon_photo", "coauthor_cs", "cora_npz", "citeseer_npz", "ppi", "soc_epinions1"} {
		folders[name] = name
	}
	for _, name := range []string{"tolokers", "minesweeper", "squirrel_filtered", "chameleon_filtered", "actor"} {
		folders[name] = "heterophilous/" + name + ".npz"
	}
	for name, folder := range folders {
		p, err := Find(name)
		if err != nil {
			t.Fatal(err)
		}
		path := published.Path(t, filepath.FromSlash(folder))
		d, err := formats.Load(path, dataset.Options{})
		if err != nil {
			t.Fatal(err)
		}
		if d.Graph.Rows() != p.Vertices || d.Graph.Edges() != p.Edges || d.Features.Cols != p.Features || d.Classes != p.Classes {
			t.Errorf("%s: read %d vertices, %d edges, %d features, %d classes; the table says %+v", name, d.Graph.Rows(), d.Graph.Edges(), d.Features.Cols, d.Classes, p)
		}
		if err := d.Close(); err != nil {
			t.Error(err)
		}
		for _, f := range p.files {
			file := filepath.Join(path, f.name)
			if strings.HasSuffix(path, ".npz") {
				file = path
			}
			if err := checkFile(file, f.name, f); err != nil {
				t.Error(err)
			}
		}
	}
}
