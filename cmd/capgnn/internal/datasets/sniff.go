package datasets

import (
	"os"
	"path/filepath"
	"slices"
	"strings"

	"capgnn/graph/dataset"
	"capgnn/internal/npy"
)

// sniffFolder guesses by names which data sets a folder holds: it is one, or has several .npz which are, or none.
func sniffFolder(dir string) []Found {
	list, err := os.ReadDir(dir)
	if err != nil {
		return nil
	}
	var names, formats []string
	for _, e := range list {
		names = append(names, e.Name())
	}
	if format := sniffNames(names); format != "" {
		return []Found{{setName(dir), dir, format, SizeOfTree(dir)}}
	}
	var archives []Found
	for _, n := range names {
		path := filepath.Join(dir, n)
		info, err := os.Stat(path)
		if err != nil || !info.Mode().IsRegular() {
			continue
		}
		format := sniffFile(path)
		if format != "" {
			formats = append(formats, format)
		}
		if format != "" && format != edgeListFile && format != matrixFile {
			archives = append(archives, Found{setName(path), path, format, info.Size()})
		}
	}
	slices.Sort(formats)
	switch formats = slices.Compact(formats); {
	case len(archives) > 1:
		return archives
	case len(formats) == 1:
		return []Found{{setName(dir), dir, formats[0], SizeOfTree(dir)}}
	}
	return nil
}

// LooksLike reports whether a folder is one data set of this format, by names.
func LooksLike(dir, format string) bool {
	found := sniffFolder(dir)
	return len(found) == 1 && found[0].Format == format
}

// sniffNames guesses the format of a folder from the names in it; "" if they say nothing.
func sniffNames(names []string) string {
	has := func(pattern string) bool {
		return slices.ContainsFunc(names, func(n string) bool { ok, err := filepath.Match(pattern, n); return ok && err == nil })
	}
	switch {
	case has("indptr.npy"):
		return "store"
	case has("ind.*.graph"):
		return "planetoid"
	case has("adj_full.npz"), has("role.json"):
		return "graphsaint"
	case has("reddit*_data.npz"):
		return "DGL npz pair"
	case has("raw") && has("split"):
		return "OGB"
	case has("meta.yaml"):
		return "DGL CSV"
	case has("edges.csv"), has("edges.csv.gz"):
		return "CSV"
	}
	return ""
}

const (
	edgeListFile = "edge list"
	matrixFile   = "MatrixMarket"
)

// sniffFile guesses the format of a file: of an .npz by the names of its arrays; "" if it looks like no data set.
func sniffFile(path string) string {
	base := filepath.Base(path)
	switch {
	case dataset.IsEdgeFile(base) && !strings.HasSuffix(base, ".txt"): // which may be for people
		return edgeListFile
	case strings.HasSuffix(strings.TrimSuffix(base, ".gz"), ".mtx"):
		return matrixFile
	}
	if !strings.HasSuffix(base, ".npz") {
		return ""
	}
	z, err := npy.OpenArchive(path)
	if err != nil {
		return ""
	}
	defer z.Close()
	switch {
	case z.Has("adj_indptr"):
		return "gnn-benchmark"
	case z.Has("node_features") && z.Has("edges"):
		return "heterophilous"
	case z.Has("indptr") && z.Has("indices") && !z.Has("format"):
		return "npz"
	}
	return ""
}
