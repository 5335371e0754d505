package dataset

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"capgnn/internal/npy"
)

// Load reads the data set at path: a native store, a .npz, a folder that holds one .npz, a Planetoid or GraphSAINT folder
// (or one of its files). Files that are damaged, inconsistent or of another format are an error of one line.
func Load(path string, opt Options) (*Dataset, error) {
	if err := opt.validate(); err != nil {
		return nil, err
	}
	info, err := os.Stat(path)
	if err != nil {
		return nil, err
	}
	var d *Dataset
	if info.IsDir() {
		d, err = loadFolder(path, opt)
	} else {
		d, err = loadFile(path, opt)
	}
	if err != nil {
		return nil, err
	}
	if err = d.Validate(); err != nil {
		d.Close()
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	if opt.Standardize == StandardizeTrain && d.Format != formatSaint { // whose reader does it
		if err = d.standardise(path); err != nil {
			d.Close()
			return nil, err
		}
	}
	d.Source = path
	if d.Name == "" {
		d.Name = baseName(path)
	}
	return d, nil
}

// baseName makes a data set's name from a path: without folders and without ".npz".
func baseName(path string) string {
	if abs, err := filepath.Abs(path); err == nil {
		path = abs
	}
	return strings.TrimSuffix(filepath.Base(path), ".npz")
}

func loadFile(path string, opt Options) (*Dataset, error) {
	base := filepath.Base(path)
	if name, ok := planetoidName(base); ok {
		return loadPlanetoid(filepath.Dir(path), name, opt)
	}
	if base == metaFile {
		return loadStore(filepath.Dir(path), opt)
	}
	if isSaintFile(base) {
		return loadSaint(filepath.Dir(path), opt)
	}
	if strings.HasSuffix(base, ".npz") {
		z, err := npy.OpenArchive(path)
		if err != nil {
			return nil, err
		}
		defer z.Close()
		return loadArchive(z, opt)
	}
	for _, other := range otherFiles {
		if other.match(base) {
			return nil, unsupported(path, other.name)
		}
	}
	return nil, fmt.Errorf("%s: is no data set that can be read; %s", path, readable)
}

const readable = "give a native store, an .npz with its keys, a gnn-benchmark .npz, a Planetoid or a GraphSAINT folder"

// otherFiles are file names of formats that are known, but not read.
var otherFiles = []struct {
	name  string
	match func(base string) bool
}{
	{"LINQS text (.content and .cites; the same data is published as Planetoid and as .npz)", suffix(".content", ".cites")},
	{"a SNAP edge list", suffix(".txt.gz", ".txt")},
	{"an edge list", suffix(".csv", ".csv.gz")},
}

func suffix(ends ...string) func(string) bool {
	return func(base string) bool {
		return slices.ContainsFunc(ends, func(e string) bool { return strings.HasSuffix(base, e) })
	}
}

func unsupported(path, what string) error {
	return fmt.Errorf("%s: looks like %s, which this version does not read; %s", path, what, readable)
}

// loadArchive tells the formats of .npz apart by their keys.
func loadArchive(z *npy.Archive, opt Options) (*Dataset, error) {
	has := func(keys ...string) bool {
		return !slices.ContainsFunc(keys, func(k string) bool { return !z.Has(k) })
	}
	switch {
	case has("adj_indptr", "adj_indices"):
		return loadBenchmark(z, opt)
	case has("indptr", "indices", "shape", "format"):
		return nil, unsupported(z.Name(), "a SciPy sparse matrix (GraphSAINT folders name it adj_full.npz)")
	case has("indptr", "indices"):
		return loadStoreArchive(z, opt)
	case has("node_features", "edges"):
		return nil, unsupported(z.Name(), "a heterophilous-graphs .npz (node_features, edges)")
	case has("feature", "node_ids"):
		return nil, unsupported(z.Name(), "DGL's reddit_data.npz")
	}
	keys := strings.Join(z.Keys(), " ")
	return nil, fmt.Errorf("%s: holds the arrays [%.300s], which are no data set that can be read; %s", z.Name(), keys, readable)
}

// loadFolder tells the formats of folders apart by the names in them.
func loadFolder(dir string, opt Options) (*Dataset, error) {
	list, err := os.ReadDir(dir)
	if err != nil {
		return nil, err
	}
	var names, archives, planetoid []string
	for _, e := range list {
		name := e.Name()
		names = append(names, name)
		if strings.HasSuffix(name, ".npz") {
			archives = append(archives, name)
		}
		if p, ok := planetoidName(name); ok && strings.HasSuffix(name, ".graph") {
			planetoid = append(planetoid, p)
		}
	}
	has := func(name string) bool { return slices.Contains(names, name) }
	switch {
	case has(metaFile) || has("indptr.npy"):
		return loadStore(dir, opt)
	case len(planetoid) == 1:
		d, err := loadPlanetoid(dir, planetoid[0], opt)
		if d != nil {
			d.Name = baseName(dir)
		}
		return d, err
	case len(planetoid) > 1:
		return nil, fmt.Errorf("%s: holds several Planetoid data sets (%s); give one file, such as %s", dir, strings.Join(planetoid, " "),
			filepath.Join(dir, "ind."+planetoid[0]+".graph"))
	case has(adjFull) || has(roleFile):
		return loadSaint(dir, opt)
	case has("reddit_data.npz"):
		return nil, unsupported(dir, "DGL's Reddit folder")
	case has("raw") && has("split"):
		return nil, unsupported(dir, "an OGB folder")
	case len(archives) == 1:
		d, err := loadFile(filepath.Join(dir, archives[0]), opt)
		if d != nil {
			d.Name = baseName(dir)
		}
		return d, err
	case len(archives) > 1:
		return nil, fmt.Errorf("%s: holds several .npz files (%s); give one of them", dir, strings.Join(archives, " "))
	}
	for _, other := range otherFiles {
		if slices.ContainsFunc(names, other.match) {
			return nil, unsupported(dir, other.name)
		}
	}
	return nil, fmt.Errorf("%s: no data set was found in this folder; %s", dir, readable)
}

// planetoidName returns NAME of a file name ind.NAME.graph or another of the eight.
func planetoidName(base string) (string, bool) {
	rest, ok := strings.CutPrefix(base, "ind.")
	if !ok {
		return "", false
	}
	for _, end := range []string{".x", ".y", ".tx", ".ty", ".allx", ".ally", ".graph", ".test.index"} {
		if name, ok := strings.CutSuffix(rest, end); ok && name != "" {
			return name, true
		}
	}
	return "", false
}
