package formats

import (
	"cmp"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"capgnn/graph/dataset"
	"capgnn/graph/dataset/internal/fields"
	"capgnn/graph/dataset/stores"
	"capgnn/internal/npy"
	"capgnn/internal/shell"
)

// listBeside lists the files of the folder that the data set at path was read from, if it is one: that of path, or for a CSV
// folder that of its edges.
func listBeside(d *dataset.Dataset, path string, info os.FileInfo) error {
	if info.IsDir() {
		return listFiles(d, path)
	}
	if d.Format == formatCSV || d.Format == formatDGL {
		return listFiles(d, filepath.Dir(path))
	}
	return nil
}

// listFiles says which files of a folder the data set was read from, and which not, in notes and Unread.
func listFiles(d *dataset.Dataset, dir string) error {
	list, err := os.ReadDir(dir)
	if err != nil {
		return err
	}
	known := d.Files // of a format that names its files
	d.Files = nil
	var unread []dataset.Unread
	for _, e := range list {
		name := e.Name()
		looks := looksIn(d, name)
		switch {
		case slices.Contains(known, name), !e.IsDir() && looks != "" && reads(d, name):
			d.Files = append(d.Files, name)
		case e.IsDir() || looks == "":
		default:
			unread = append(unread, dataset.Unread{Name: name, Looks: looks})
		}
	}
	noteUnread(d, strings.Join(d.Files, ", "), unread)
	if k := slices.IndexFunc(unread, func(u dataset.Unread) bool { return isVertexTable(u.Name) }); k >= 0 && d.Format == formatCSV {
		d.Note("`capgnn data tables --nodes %s --links %s --label COLUMN --out NEW` makes a data set of %s and the edges",
			shell.Word(filepath.Join(dir, unread[k].Name)), shell.Word(filepath.Join(dir, "edges.csv")), unread[k].Name)
	}
	return nil
}

// weightMembers are what weights of edges are called in an .npz; data is that of a SciPy matrix.
var weightMembers = []string{"data", "weight", "weights", "edge_attr", "edge_weight", "edge_weights", "edgeweights"}

// listMembers says which arrays of an .npz are not read, in a note and Unread. kind says what was read.
func listMembers(d *dataset.Dataset, z *npy.Archive, opt dataset.Options, kind string) {
	var unread []dataset.Unread
	for _, key := range z.Left() {
		looks := cmp.Or(looksLike(key+".npy"), dataset.LooksData)
		if slices.Contains(weightMembers, strings.ToLower(key)) {
			looks = dataset.LooksWeights
		}
		if key == "_is_array" || looks == dataset.LooksWeights && opt.IgnoreWeights { // _is_array is SciPy's
			continue
		}
		unread = append(unread, dataset.Unread{Name: key, Looks: looks})
	}
	noteUnread(d, "the arrays of "+kind, unread)
}

// noteUnread notes what was not read beside what was, and adds it to Unread.
func noteUnread(d *dataset.Dataset, read string, unread []dataset.Unread) {
	if len(unread) == 0 {
		return
	}
	d.Unread = append(d.Unread, unread...)
	const shown = 12
	var names []string
	for _, u := range unread[:min(shown, len(unread))] {
		text := fmt.Sprintf("%.40s", u.Name)
		if u.Looks != dataset.LooksData {
			text += " (" + u.Looks + "?)"
		}
		names = append(names, text)
	}
	if more := len(unread) - shown; more > 0 {
		names = append(names, fmt.Sprintf("%d more", more))
	}
	d.Note("read: %s; not read: %s", read, strings.Join(names, ", "))
}

// isVertexTable reports whether a file is called as tables of vertices are.
func isVertexTable(name string) bool {
	stem, end, _ := strings.Cut(strings.ToLower(name), ".")
	return slices.Contains([]string{"nodes", "node", "vertices", "vertex"}, stem) && slices.Contains([]string{"csv", "tsv", "txt", "csv.gz", "tsv.gz"}, end)
}

// filesOfNames are the files beside a data set that hold names.
var filesOfNames = []string{fields.IDsFile, fields.ClassesFile, fields.ColumnsFile}

// sets are the names of all sets with these endings.
func sets(ends ...string) (keys []string) {
	for k := range fields.SetNames {
		keys = append(keys, fields.SetKeys(k, ends...)...)
	}
	return keys
}

// reads reports whether a data set of this format in a folder is read from a file of this name.
func reads(d *dataset.Dataset, name string) bool {
	stem := func(ends []string, stems ...string) bool {
		return slices.ContainsFunc(stems, func(s string) bool {
			return slices.ContainsFunc(ends, func(end string) bool { return s+end == name })
		})
	}
	if slices.Contains(filesOfNames, name) {
		return true
	}
	switch d.Format {
	case stores.Format:
		arrays := append(sets(fields.SetEnds...), stores.Keys...)
		return name == stores.MetaFile || stem([]string{".npy"}, arrays...)
	case formatCSV:
		return stem(textEnds, "edges") || stem(featureEnds, "features") || stem(columnEnds, append(sets(""), "labels")...)
	case formatEdges:
		return dataset.IsEdgeFile(name)
	case formatMatrix:
		return isMatrixFile(name)
	case formatDGL:
		return false // meta.yaml names them
	case formatPlanetoid:
		_, ok := planetoidName(name)
		return ok
	case formatSaint:
		return isSaintFile(name)
	case formatReddit:
		_, ok := redditName(name)
		return ok
	case formatOGB:
		return true // raw, split and what lies beside them
	}
	return strings.HasSuffix(name, ".npz")
}

// dataFileEnds are endings of files that hold data, of whatever program, beside those of edge lists.
var dataFileEnds = []string{".json", ".npy", ".npz", ".gz", ".zip", ".bz2", ".xz", ".zst", ".7z", ".rar", ".tar", ".pkl", ".pickle", ".pt", ".pth",
	".mat", ".mtx", ".parquet", ".feather", ".arrow", ".h5", ".hdf5", ".xlsx", ".xls", ".ods", ".sqlite", ".db", ".dat", ".bin", ".content", ".cites",
	".sql", ".gml", ".graphml", ".gexf", ".net", ".dot", ".gv", ".graph", ".metis", ".adj", ".adjlist", ".lgl", ".gdf"}

// looksIn is looksLike in a data set; weights of edges are told in the folder of a store.
func looksIn(d *dataset.Dataset, name string) string {
	stem, array := strings.CutSuffix(strings.ToLower(name), ".npy")
	if array && d.Format == stores.Format && slices.Contains(weightMembers, stem) {
		return dataset.LooksWeights
	}
	return looksLike(name)
}

// looksLike tells by its name what a file holds; "": nothing that a program reads.
func looksLike(name string) string {
	lower := strings.ToLower(name)
	people := []string{"readme", "license", "licence", "changelog", "citation", "release_v"}
	if strings.HasPrefix(lower, ".") || slices.ContainsFunc(people, func(p string) bool { return strings.HasPrefix(lower, p) }) {
		return ""
	}
	if !suffix(dataFileEnds...)(lower) && !dataset.IsEdgeFile(lower) {
		return ""
	}
	stem, _, _ := strings.Cut(lower, ".")
	words := strings.FieldsFunc(stem, func(r rune) bool { return r == '_' || r == '-' || r == ' ' })
	has := func(beginnings ...string) bool {
		return slices.ContainsFunc(words, func(w string) bool {
			return slices.ContainsFunc(beginnings, func(b string) bool { return strings.HasPrefix(w, b) })
		})
	}
	switch {
	case has("edge", "link"): // of them, whatever they are called beside
		return dataset.LooksData
	case has("train", "val", "valid", "test", "split", "mask", "fold"):
		return dataset.LooksSplit
	case has("feat", "attr", "embedding") || stem == "x":
		return dataset.LooksFeatures
	case has("label", "target", "class") || stem == "y":
		return dataset.LooksLabels
	}
	return dataset.LooksData
}

// Wanted says how a file would have to be called, or where its content would have to be, to be read as what it looks like.
func Wanted(d *dataset.Dataset, looks string) string {
	switch d.Format {
	case stores.Format, "npz":
		return "a store has " + map[string]string{dataset.LooksFeatures: "x.npy", dataset.LooksLabels: "y.npy", dataset.LooksSplit: "train_mask.npy, val_mask.npy and test_mask.npy", dataset.LooksWeights: "weights.npy"}[looks]
	case formatCSV, formatEdges:
		with := "a folder with edges.csv has "
		switch looks {
		case dataset.LooksFeatures:
			return with + "features.csv, .csv.gz, .npy, .npz (SciPy) or .json"
		case dataset.LooksLabels:
			return with + "labels.csv, .csv.gz or .npy, or `capgnn data tables` makes it"
		}
		return with + "train, val and test, each as .csv, .csv.gz or .npy"
	}
	return filepath.Base(d.Source) + " is read as " + d.Format +
		", which has no such file or array: make a store of all, with `capgnn.to_store` in Python"
}
