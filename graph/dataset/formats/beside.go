package formats

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"capgnn/graph/dataset"
	"capgnn/graph/dataset/internal/fields"
	"capgnn/graph/dataset/stores"
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
	for _, e := range list {
		name := e.Name()
		looks := looksIn(d, name)
		switch {
		case slices.Contains(known, name), !e.IsDir() && looks != "" && reads(d, name):
			d.Files = append(d.Files, name)
		case e.IsDir() || looks == "":
		default:
			d.Unread = append(d.Unread, dataset.Unread{Name: name, Looks: looks})
		}
	}
	noteUnread(d, strings.Join(d.Files, ", "))
	if k := slices.IndexFunc(d.Unread, func(u dataset.Unread) bool { return isVertexTable(u.Name) }); k >= 0 && d.Format == formatCSV {
		d.Note("`capgnn data tables --nodes %s --links %s --label COLUMN --out NEW` makes a data set of %s and the edges",
			filepath.Join(dir, d.Unread[k].Name), filepath.Join(dir, "edges.csv"), d.Unread[k].Name)
	}
	return nil
}

// listMembers says which arrays of an .npz with a store's keys are not read, in a note and Unread.
func listMembers(d *dataset.Dataset, keys []string) {
	for _, key := range keys {
		if !slices.Contains(stores.Keys, key) && key != "x_shape" && key != "classes" {
			d.Unread = append(d.Unread, dataset.Unread{Name: key, Looks: looksIn(d, key+".npy")})
		}
	}
	noteUnread(d, "the arrays of a store")
}

// noteUnread notes what was not read beside what was.
func noteUnread(d *dataset.Dataset, read string) {
	if len(d.Unread) == 0 {
		return
	}
	const shown = 4
	var names []string
	for _, u := range d.Unread[:min(shown, len(d.Unread))] {
		text := u.Name
		if u.Looks != dataset.LooksData {
			text += " (" + u.Looks + "?)"
		}
		names = append(names, text)
	}
	if more := len(d.Unread) - shown; more > 0 {
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
		return name == stores.MetaFile || stem([]string{".npy"}, stores.Keys...)
	case formatCSV:
		return stem(textEnds, "edges") || stem(featureEnds, "features") || stem(columnEnds, "labels", "train", "val", "valid", "test")
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
	".gml", ".graphml", ".gexf", ".net", ".dot", ".gv", ".graph", ".metis", ".adj", ".adjlist"}

// looksIn is looksLike in a data set; weights of edges are told in the arrays of a store.
func looksIn(d *dataset.Dataset, name string) string {
	weights := []string{"data", "weight", "edge_attr", "edge_weights", "edgeweights"} // data: of a SciPy matrix
	stem, array := strings.CutSuffix(strings.ToLower(name), ".npy")
	if array && (d.Format == stores.Format || d.Format == "npz") && slices.Contains(weights, stem) {
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
	return filepath.Base(d.Source) + " is read as " + d.Format + ", which has no other files"
}
