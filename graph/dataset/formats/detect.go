package formats

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"capgnn/graph/dataset"
	"capgnn/graph/dataset/internal/fields"
	"capgnn/graph/dataset/shards"
	"capgnn/graph/dataset/stores"
	"capgnn/internal/npy"
)

// Values of Dataset.Format that are used in more than one place.
const (
	formatPlanetoid     = "planetoid"
	formatHeterophilous = "heterophilous"
	formatOGB           = "ogb"
	formatReddit        = "dgl-reddit"
	formatCSV           = "csv"
	formatEdges         = "edge-list"
	formatMatrix        = "matrix-market"
	formatDGL           = "dgl-csv"
	formatLGL           = "lgl" // or an edge list
)

// Load reads the data set at path: a native store, a .npz, an edge list, a MatrixMarket matrix, a folder that holds one of these, or a
// Planetoid, GraphSAINT, OGB, DGL Reddit, DGL CSV or CSV folder (or one of its files). Files that are damaged, inconsistent or of another
// format are an error of one line.
func Load(path string, opt dataset.Options) (*dataset.Dataset, error) {
	if err := opt.Validate(); err != nil {
		return nil, err
	}
	if opt.MakesFeatures() {
		opt.Standardize = dataset.StandardizeNone
	}
	info, err := os.Stat(path)
	if err != nil {
		return nil, err
	}
	var d *dataset.Dataset
	if info.IsDir() {
		d, err = loadFolder(path, opt)
	} else {
		d, err = loadFile(path, opt)
	}
	if err != nil {
		return nil, err
	}
	d.ColumnNames, d.ClassNames = dataset.Composed(d.ColumnNames), dataset.Composed(d.ClassNames)
	if err = suits(opt, d); err == nil {
		err = d.Validate()
	}
	if err == nil {
		noteArrays(d)
		err = d.SettleSets(opt)
	}
	if err != nil {
		d.Close()
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	if err = listBeside(d, path, info); err == nil && !opt.MakesFeatures() {
		noteSameColumns(d)
		err = d.OrderColumns(opt.Columns)
	}
	if err == nil {
		err = settleFeatures(d, path, opt)
	}
	if err != nil {
		d.Close()
		return nil, err
	}
	d.Source = path
	if d.Name == "" {
		d.Name = dataset.BaseName(path)
	}
	return d, nil
}

// settleFeatures standardises the features, or makes others in their place, as opt says.
func settleFeatures(d *dataset.Dataset, path string, opt dataset.Options) error {
	defer func() { d.Exact = nil }()
	switch {
	case opt.MakesFeatures():
		if err := d.MakeFeatures(opt.Features, opt.Seed); err != nil {
			return fmt.Errorf("%s: %w", path, err)
		}
	case opt.ByRows():
		return scaleRows(d, path)
	case opt.Standardises() && d.Format != formatSaint: // whose reader does it
		return standardise(d, path, opt)
	}
	noteRounded(d)
	if d.Huge != 0 {
		d.Note("features: the square of %g is beyond float32, so that training may end in NaN: "+
			"give --standardize train, or divide the column", d.Huge)
	}
	return nil
}

// suits refuses options that mean nothing for the format that was found.
func suits(o dataset.Options, d *dataset.Dataset) error {
	if (o.Numbered || o.MaskRow != 0) && d.Splits == 0 {
		return fmt.Errorf("has no numbered splits: there is no split %d", o.MaskRow)
	}
	if o.Compact && d.Format != formatEdges && d.Format != formatCSV {
		return fmt.Errorf("is no edge list: --compact is for edge lists: drop it")
	}
	return nil
}

func loadFile(path string, opt dataset.Options) (*dataset.Dataset, error) {
	base := filepath.Base(path)
	if name, ok := planetoidName(base); ok {
		return loadPlanetoid(filepath.Dir(path), name, opt)
	}
	if base == stores.MetaFile {
		return stores.Load(filepath.Dir(path), opt)
	}
	if isSaintFile(base) {
		return loadSaint(filepath.Dir(path), opt)
	}
	if name, ok := redditName(base); ok {
		return loadReddit(filepath.Dir(path), name, opt)
	}
	format, err := inspect(path)
	if err != nil {
		return nil, err
	}
	csv := base == "edges.csv" || base == "edges.csv.gz"
	switch {
	case isMatrixFile(base), format == formatMatrix && !csv:
		return loadMatrixMarket(path, opt)
	case format == formatMatrix:
		return nil, fmt.Errorf("%s: is a MatrixMarket matrix: let its name end in .mtx, or write its entries as lines `from,to` that count from 0", path)
	}
	if strings.HasSuffix(base, ".npz") {
		z, err := fields.OpenArchive(opt, path)
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
	if csv {
		return loadCSV(filepath.Dir(path), opt)
	}
	if base == metaFile {
		return loadDGL(filepath.Dir(path), opt)
	}
	if dataset.IsEdgeFile(base) {
		d, err := loadEdgeList(path, opt)
		if err == nil && format == formatLGL {
			d.Note("the first line is read as a comment; if the file is an LGL graph of igraph, " +
				"it names the vertex whose neighbours stand below it, with weights: write its edges as lines `from,to,weight`")
		}
		return d, err
	}
	return nil, fmt.Errorf("%s: is no data set that can be read; %s", path, readable)
}

const readable = "docs/formats/readers.md lists what is read"

// otherFiles are file names of formats that are known, but not read.
var otherFiles = []struct {
	name  string
	match func(base string) bool
}{
	{"LINQS text (.content and .cites; the same data is published as Planetoid and as .npz)", suffix(".content", ".cites")},
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
func loadArchive(z *npy.Archive, opt dataset.Options) (*dataset.Dataset, error) {
	has := func(keys ...string) bool {
		return !slices.ContainsFunc(keys, func(k string) bool { return !z.Has(k) })
	}
	var d *dataset.Dataset
	var err error
	kind := ""
	switch {
	case benchmarkMatrix(z, "adj") != "":
		kind = "gnn-benchmark"
		d, err = loadBenchmark(z, opt)
	case has("shape", "format") && !has("x") && !has("x_indptr") && !has("y"):
		return nil, scipyMatrix(z).fault(z.Name())
	case has("indptr", "indices"):
		kind = "a store"
		d, err = stores.LoadArchive(z, opt)
	case has("node_features", "edges"):
		kind = "heterophilous-graphs"
		d, err = loadHeterophilous(z, opt)
	case has("row", "col"):
		return nil, entriesAlone(z).fault(z.Name())
	case has("feature", "node_types"):
		return nil, unsupported(z.Name(), "one file of DGL's Reddit pair; name them reddit_data.npz and reddit_graph.npz,")
	}
	if kind != "" {
		if err == nil {
			err = fields.ReadNameArrays(d, z)
		}
		if err == nil {
			listMembers(d, z, opt, kind)
		}
		return d, err
	}
	if has("edge_index") {
		return nil, fmt.Errorf("%s: holds edge_index, as PyTorch Geometric has it: make a store of it in Python: capgnn.to_store(dict(numpy.load(IN)), OUT)", z.Name())
	}
	keys := strings.Join(z.Keys(), " ")
	return nil, fmt.Errorf("%s: holds the arrays [%.100s], which are no data set that can be read; %s", z.Name(), keys, readable)
}

// listing is what the names of a folder's files tell.
type listing struct {
	names             []string // all
	archives, edges   []string // files that may be data sets by themselves: .npz, edge lists and matrices
	planetoid, reddit []string // data sets by name
}

func list(dir string) (listing, error) {
	entries, err := os.ReadDir(dir)
	var l listing
	for _, e := range entries {
		name := e.Name()
		l.names = append(l.names, name)
		if strings.HasSuffix(name, ".npz") {
			l.archives = append(l.archives, name)
		}
		if (dataset.IsEdgeFile(name) || isMatrixFile(name)) && !strings.HasPrefix(strings.ToLower(name), "readme") {
			l.edges = append(l.edges, name)
		}
		if r, ok := redditName(name); ok && strings.HasSuffix(name, redditData) {
			l.reddit = append(l.reddit, r)
		}
		if p, ok := planetoidName(name); ok && strings.HasSuffix(name, ".graph") {
			l.planetoid = append(l.planetoid, p)
		}
	}
	return l, err
}

// has reports whether one of the names is there.
func (l *listing) has(names ...string) bool {
	return slices.ContainsFunc(names, func(name string) bool { return slices.Contains(l.names, name) })
}

// loadFolder tells the formats of folders apart by the names in them.
func loadFolder(dir string, opt dataset.Options) (*dataset.Dataset, error) {
	l, err := list(dir)
	if err != nil {
		return nil, err
	}
	switch {
	case shards.Is(dir):
		return nil, fmt.Errorf("%s: is a folder of shards, which no machine has as a whole: only `capgnn train` and `capgnn predict` take it; here name the data set that they were cut of", dir)
	case l.has(shards.Mark):
		return nil, fmt.Errorf("%s: is the shard of one machine: name the folder above it, %s", dir, filepath.Dir(filepath.Clean(dir)))
	case l.has(stores.MetaFile, "indptr.npy"):
		return stores.Load(dir, opt)
	case len(l.planetoid) == 1:
		d, err := loadPlanetoid(dir, l.planetoid[0], opt)
		return named(d, dir), err
	case len(l.planetoid) > 1:
		return nil, fmt.Errorf("%s: holds several Planetoid data sets (%s); give one file, such as %s", dir, strings.Join(l.planetoid, " "),
			filepath.Join(dir, "ind."+l.planetoid[0]+".graph"))
	case l.has(adjFull, roleFile):
		return loadSaint(dir, opt)
	case len(l.reddit) == 1:
		d, err := loadReddit(dir, l.reddit[0], opt)
		return named(d, dir), err
	case len(l.reddit) > 1:
		return nil, fmt.Errorf("%s: holds both Reddit pairs; give one file, such as %s", dir, filepath.Join(dir, l.reddit[0]+redditData))
	case isOGB(dir):
		return loadOGB(dir, opt)
	case l.has(metaFile):
		return loadDGL(dir, opt)
	case l.has("edges.csv"):
		return loadFile(filepath.Join(dir, "edges.csv"), opt)
	case l.has("edges.csv.gz"):
		return loadFile(filepath.Join(dir, "edges.csv.gz"), opt)
	case len(l.archives) == 1:
		d, err := loadFile(filepath.Join(dir, l.archives[0]), opt)
		return named(d, dir), err
	case len(l.archives) > 1:
		return nil, fmt.Errorf("%s: holds several .npz files (%s); give one of them", dir, strings.Join(l.archives, " "))
	case l.has("raw") && l.has("split"):
		return nil, unsupported(dir, "an OGB folder of another kind than raw/*.csv.gz or raw/data.npz of one graph")
	}
	return loadEdgeFolder(dir, l.names, l.edges, opt)
}

// isFile reports whether there is a regular file at path.
func isFile(path string) bool {
	info, err := os.Stat(path)
	return err == nil && info.Mode().IsRegular()
}

// named gives a data set the name of its folder.
func named(d *dataset.Dataset, dir string) *dataset.Dataset {
	if d != nil {
		d.Name = dataset.BaseName(dir)
	}
	return d
}

// isOGB reports whether a folder looks like one of OGB's.
func isOGB(dir string) bool {
	raw := filepath.Join(dir, "raw")
	path, err := ogbFile(raw, "num-node-list", false)
	return path != "" || err != nil || isFile(filepath.Join(raw, ogbArchive))
}

// loadEdgeFolder reads a folder that holds one edge list or matrix and none of the other formats.
func loadEdgeFolder(dir string, names, edges []string, opt dataset.Options) (*dataset.Dataset, error) {
	for _, other := range otherFiles {
		if slices.ContainsFunc(names, other.match) {
			return nil, unsupported(dir, other.name)
		}
	}
	switch len(edges) {
	case 0:
	case 1:
		d, err := loadFile(filepath.Join(dir, edges[0]), opt)
		return named(d, dir), err
	default:
		return nil, fmt.Errorf("%s: holds several text files (%.100s); give one edge list, or name it edges.csv; `capgnn data tables` makes a data set of a table of vertices and a table of edges", dir, strings.Join(edges, " "))
	}
	for _, name := range names {
		if path := filepath.Join(dir, name); looksLike(name) != "" && isFile(path) {
			if _, err := inspect(path); err != nil {
				return nil, err
			}
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
