package main

import (
	"fmt"
	"os"
	"strings"
	"testing"

	"capgnn/cmd/capgnn/internal/term"
)

// writeFiles puts files into the sandbox.
func (s *sandbox) writeFiles(dir string, files map[string]string) {
	s.T.Helper()
	if err := os.MkdirAll(s.path(dir), 0o755); err != nil {
		s.T.Fatal(err)
	}
	for name, text := range files {
		if err := os.WriteFile(s.path(dir+"/"+name), []byte(text), 0o644); err != nil {
			s.T.Fatal(err)
		}
	}
}

// museFiles is a graph in the shape of SNAP's MUSAE sets: two rings of 20 pages, whose features and type say which.
func museFiles() map[string]string {
	edges, target, features := "id_1,id_2\n", "id,facebook_id,page_name,page_type\n", "{"
	for v := range 40 {
		half := v / 20 * 20
		edges += fmt.Sprintf("%d,%d\n", v, half+(v+1)%20)
		target += fmt.Sprintf("%d,%d,\"Page %d, the best\",%s\n", v, 145647315578475+977*v, v, []string{"tvshow", "company"}[v/20])
		features += fmt.Sprintf("%q: [%d, %d], ", fmt.Sprint(v), v/20, 300+v)
	}
	return map[string]string{"edges.csv": edges, "target.csv": target, "features.json": strings.TrimSuffix(features, ", ") + "}", "README.txt": "pages"}
}

// A folder of which a part is not understood says which, and nothing trains without what it seems to hold.
func TestFolderPartlyUnderstood(t *testing.T) {
	s := newSandbox(t)
	s.writeFiles("pages", museFiles())
	info := s.must("data", "info", "pages", "--quiet")
	for _, want := range []string{"edges.csv, features.json", "target.csv, by its name labels:", "data tables"} {
		if !strings.Contains(info, want) {
			t.Errorf("data info lacks %q:\n%s", want, info)
		}
	}
	s.fails(term.ExitUsage, []string{"target.csv was not read, though its name looks like labels", "data tables"}, "train", "--dataset", "pages", "--quiet")
	if _, stderr, code := s.run("partition", "--dataset", "pages", "--parts", "2"); code != 0 || !strings.Contains(stderr, "note: read: edges.csv, features.json; not read: target.csv (labels?)") {
		t.Errorf("partition: exit code %d, %q", code, stderr)
	}
	labels := strings.Repeat("0\n", 20) + strings.Repeat("1\n", 20)
	few := []string{"--epochs", "1", "--hidden", "4", "--quiet"}
	s.writeFiles("feats", map[string]string{"edges.csv": museFiles()["edges.csv"], "feats.json": "{}", "labels.csv": labels})
	s.fails(term.ExitUsage, []string{"feats.json was not read, though its name looks like features", "features.csv", "--features degree"}, append([]string{"train", "--dataset", "feats"}, few...)...)
	s.must(append([]string{"train", "--dataset", "feats", "--features", "degree", "--run-dir", "run"}, few...)...)
	s.writeFiles("split", map[string]string{"edges.csv": museFiles()["edges.csv"], "features.csv": labels, "labels.csv": labels, "train_idx.csv": "1\n"})
	s.fails(term.ExitUsage, []string{"train_idx.csv was not read, though its name looks like split", "train, val and test", "--split 0.7,0.2,0.1"}, append([]string{"train", "--dataset", "split"}, few...)...)
	s.must(append([]string{"train", "--dataset", "split", "--split", "0.6,0.2,0.2"}, few...)...)
}

// Tables in the shape of SNAP's MUSAE sets become a data set, which trains and is predicted.
func TestTablesOfPages(t *testing.T) {
	s := newSandbox(t)
	s.writeFiles("pages", museFiles())
	tables := []string{"data", "tables", "--nodes", "pages/target.csv", "--links", "pages/edges.csv", "--features", "pages/features.json", "--label", "page_type"}
	s.fails(term.ExitUsage, []string{`column "page_name" holds "Page 0, the best"`, "--drop page_name"}, append(tables, "--out", "out", "--quiet")...)
	stdout, stderr, code := s.run(append(tables, "--drop", "page_name", "--out", "out")...)
	if code != 0 || !strings.Contains(stderr, `note: column "facebook_id" has a different value in every line`) || !strings.Contains(stdout, "sparse") {
		t.Errorf("exit code %d, %q, %q", code, stdout, stderr)
	}
	s.must(append(tables, "--drop", "page_name,facebook_id", "--out", "set", "--quiet")...)
	r := s.train("--dataset", "set", "--edges", "symmetric", "--hidden", "8", "--epochs", "20", "--layers", "2", "--run-dir", "run", "--devices", "cpu:0,cpu:1")
	if r.Train == nil || *r.Train < 0.9 {
		t.Errorf("training score %v", r.Train)
	}
	s.must("predict", "--run", "run", "--what", "labels", "--out", "labels.csv")
	s.must(append(tables, "--drop", "page_name", "--drop", "facebook_id", "--out", "again", "--quiet")...) // a flag given again adds to it
	s.fails(term.ExitUsage, []string{"both --label and --categorical"}, append(tables, "--drop", "page_name,facebook_id", "--categorical", "page_type", "--out", "both", "--quiet")...)
}
