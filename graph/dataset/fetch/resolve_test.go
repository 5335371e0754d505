package fetch

import (
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// rootWith makes a root with these folders and files; files end in .npz.
func rootWith(t *testing.T, names ...string) string {
	t.Helper()
	root := t.TempDir()
	for _, name := range names {
		path := filepath.Join(root, filepath.FromSlash(name))
		dir := path
		if strings.HasSuffix(name, ".npz") {
			dir = filepath.Dir(path)
		}
		if err := os.MkdirAll(dir, 0o755); err != nil {
			t.Fatal(err)
		}
		if dir != path {
			if err := os.WriteFile(path, nil, 0o644); err != nil {
				t.Fatal(err)
			}
		}
	}
	return root
}

// Names that PyTorch Geometric, DGL, OGB and papers use find the published set that is there, in any case of letters.
func TestResolveAliases(t *testing.T) {
	root := rootWith(t, "planetoid_cora", "citeseer_npz/citeseer.npz", "planetoid_pubmed", "amazon_photo/amazon_photo.npz", "amazon_computers.npz",
		"coauthor_cs", "coauthor_physics", "ogbn_arxiv", "heterophilous/tolokers.npz", "heterophilous/actor.npz", "corafull", "cora_ml", "reddit", ".hidden", "ppi.part")
	for want, names := range map[string][]string{
		"planetoid_cora":             {"cora", "Cora", "CORA", "CoraGraphDataset", "planetoid-cora", "Planetoid_Cora"},
		"citeseer_npz":               {"citeseer", "CiteSeer", "CiteseerGraphDataset"},
		"planetoid_pubmed":           {"pubmed", "PubMed"},
		"amazon_photo":               {"photo", "Photo", "AmazonCoBuyPhotoDataset", "amazon-photo"},
		"amazon_computers.npz":       {"computers", "AmazonCoBuyComputerDataset"},
		"coauthor_cs":                {"cs", "CS", "CoauthorCSDataset", "coauthor-cs"},
		"coauthor_physics":           {"physics", "Physics", "CoauthorPhysicsDataset"},
		"ogbn_arxiv":                 {"ogbn-arxiv", "ogbn_arxiv", "OGBN-Arxiv", "arxiv"},
		"heterophilous/tolokers.npz": {"tolokers", "Tolokers", "TolokersDataset"},
		"heterophilous/actor.npz":    {"Actor", "film"},
		"corafull":                   {"CoraFull", "cora_full", "CoraFullDataset"},
		"cora_ml":                    {"Cora_ML", "cora-ml"},
		"reddit":                     {"Reddit", "RedditDataset"},
	} {
		for _, name := range names {
			path, note, err := Resolve(name, []string{"", root})
			if err != nil || path != filepath.Join(root, filepath.FromSlash(want)) || note != "" {
				t.Errorf("%s: got %q, note %q, %v, want %s", name, path, note, err, want)
			}
		}
	}
	for _, name := range []string{"ppi", "hidden", "yelp", "cora.", "x/cora"} {
		if path, _, err := Resolve(name, []string{root}); err == nil && name != "cora." {
			t.Errorf("%s was found at %s", name, path)
		}
	}
}

// Where several sets are there that a name may stand for, the one with the published split is taken, and a line says so.
func TestResolveAmbiguous(t *testing.T) {
	root := rootWith(t, "cora_npz/cora.npz", "planetoid_cora", "more/cora.npz")
	path, note, err := Resolve("Cora", []string{root})
	if err != nil || filepath.Base(path) != "planetoid_cora" || !strings.Contains(note, "planetoid_cora; cora_npz, cora may also be meant") {
		t.Errorf("got %q, %q, %v", path, note, err)
	}
	own := rootWith(t, "cora")
	if path, note, err := Resolve("cora", []string{root, own}); err != nil || path != filepath.Join(own, "cora") || note != "" {
		t.Errorf("a folder of just this name: got %q, %q, %v", path, note, err)
	}
}

// Every alias leads to published sets, is written as nameKey leaves it, and is no name of another set.
func TestAliasTable(t *testing.T) {
	known := map[string]string{}
	for _, p := range Known() {
		if other, twice := known[nameKey(p.Name)]; twice {
			t.Errorf("%s and %s are one name", p.Name, other)
		}
		known[nameKey(p.Name)] = p.Name
	}
	for _, a := range aliases {
		if nameKey(a.alias) != a.alias || known[a.alias] != "" || len(Aliased(a.alias)) != len(a.sets) {
			t.Errorf("alias %q of %v", a.alias, a.sets)
		}
	}
	for name, want := range map[string]string{"cora": "planetoid_cora", "OGBN-Products": "ogbn_products", "yelp": "yelp"} {
		if p, err := Find(name); err != nil || p.Name != want {
			t.Errorf("%s: got %s, %v, want %s", name, p.Name, err, want)
		}
	}
	if p, _ := Find("photo"); len(p.Aliases()) != 1 || p.Aliases()[0] != "photo" {
		t.Errorf("aliases of %s: %v", p.Name, p.Aliases())
	}
}

// A folder in the working directory that is named like a data set, but is empty or holds a run, does not stand for it; where nothing
// else does, it is what its reader has to speak of.
func TestResolvePassesRunFolders(t *testing.T) {
	t.Chdir(t.TempDir())
	root := t.TempDir()
	want := filepath.Join(root, "cora")
	for _, files := range [][]string{{".hidden", "lock"}, {"config.yaml", "metrics.jsonl"}} {
		if err := errors.Join(os.RemoveAll("cora"), os.MkdirAll("cora", 0o755), os.MkdirAll(want, 0o755)); err != nil {
			t.Fatal(err)
		}
		for _, name := range files {
			if err := os.WriteFile(filepath.Join("cora", name), nil, 0o644); err != nil {
				t.Fatal(err)
			}
		}
		if got, _, err := Resolve("cora", []string{root}); err != nil || got != want {
			t.Errorf("%v: %q, %v, want %q", files, got, err, want)
		}
		for _, name := range []string{"cora", "./cora"} {
			if got, _, err := Resolve(name, nil); err != nil || got != name {
				t.Errorf("%v: %q, %v, want %q", files, got, err, name)
			}
		}
		if err := os.WriteFile(filepath.Join("cora", "edges.csv"), nil, 0o644); err != nil {
			t.Fatal(err)
		}
		if got, _, err := Resolve("cora", []string{root}); !slices.Contains(files, "config.yaml") && (err != nil || got != "cora") {
			t.Errorf("a folder with data: %q, %v", got, err)
		}
	}
}

func TestResolve(t *testing.T) {
	a, b := t.TempDir(), t.TempDir()
	if err := errors.Join(os.Mkdir(filepath.Join(b, "cora"), 0o700), os.WriteFile(filepath.Join(b, "toy.npz"), nil, 0o600)); err != nil {
		t.Fatal(err)
	}
	roots := []string{"", a, b}
	several := filepath.Join(a, "several")
	if err := errors.Join(os.Mkdir(several, 0o700), os.WriteFile(filepath.Join(several, "toy.npz"), nil, 0o600), os.WriteFile(filepath.Join(several, "one.npz"), nil, 0o600)); err != nil {
		t.Fatal(err)
	}
	for name, want := range map[string]string{"cora": filepath.Join(b, "cora"), "toy": filepath.Join(b, "toy.npz"), "one": filepath.Join(several, "one.npz"), a: a} {
		if got, note, err := Resolve(name, roots); err != nil || got != want || note != "" {
			t.Errorf("%s: got %q, %v, want %q", name, got, err, want)
		}
	}
	_, _, err := Resolve("pubmed", roots)
	if err == nil || !strings.Contains(err.Error(), filepath.Join(a, "pubmed")) || !strings.Contains(err.Error(), filepath.Join(b, "pubmed")) {
		t.Errorf("got %v, want both places", err)
	}
	for _, name := range []string{"", "..", "x/cora"} {
		if got, _, err := Resolve(name, roots); err == nil && name != ".." {
			t.Errorf("%q was found at %q", name, got)
		}
	}
}
