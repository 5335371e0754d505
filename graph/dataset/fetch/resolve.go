package fetch

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"capgnn/graph/dataset"
)

// NotFound is a data set that is not there.
type NotFound struct {
	Name   string
	Looked []string // paths
}

func (e *NotFound) Error() string {
	return fmt.Sprintf("data set %q was not found; looked at: %s", e.Name, strings.Join(e.Looked, ", "))
}

// Resolve turns a data set's name into a path: name itself if there is such a file or folder (but an empty folder and the folder of a
// training run come last), else NAME or NAME.npz in the
// first root that has it, else a published set that the name stands for (Aliased), or any data set whose name differs only in
// case, hyphens and underscores. The last two are looked for in the roots, and as .npz in their folders, which may hold several.
// Names with a path separator are only looked for as they are. Empty roots are skipped. note says which set was taken where
// several are there that the name may stand for, else it is "". An error is a *NotFound, unless there is no name.
func Resolve(name string, roots []string) (path, note string, err error) {
	if name == "" {
		return "", "", errors.New("no data set is named")
	}
	looked := []string{name}
	_, err = os.Stat(name)
	there := err == nil
	if there && !holdsNoData(name) {
		return name, "", nil
	}
	if strings.ContainsAny(name, `/\`) || name == "." || name == ".." {
		if there {
			return name, "", nil // its reader says what is missing
		}
		return "", "", &NotFound{name, looked}
	}
	roots = slices.DeleteFunc(slices.Clone(roots), func(root string) bool { return root == "" })
	for _, root := range roots {
		for _, base := range []string{name, name + ".npz"} {
			path := filepath.Join(root, base)
			if _, err := os.Stat(path); err == nil {
				return path, "", nil
			}
		}
		looked = append(looked, filepath.Join(root, name))
	}
	found := standsFor(name, roots)
	switch {
	case len(found) == 0 && there:
		return name, "", nil
	case len(found) == 0:
		return "", "", &NotFound{name, looked}
	case len(found) == 1:
		return found[0].path, "", nil
	}
	others := make([]string, len(found)-1)
	for i, f := range found[1:] {
		others[i] = f.name
	}
	return found[0].path, fmt.Sprintf("%s is taken as %s; %s may also be meant: then name it so", name, found[0].name, strings.Join(others, ", ")), nil
}

// holdsNoData reports whether path is a folder that a training run has made (`--run-dir cora` gives it the data set's name) or that is
// empty: hidden files and the lock of a run that has not written yet do not count.
func holdsNoData(path string) bool {
	list, err := os.ReadDir(path)
	if err != nil {
		return false
	}
	list = slices.DeleteFunc(list, func(e os.DirEntry) bool { return e.Name() == "lock" || strings.HasPrefix(e.Name(), ".") })
	has := func(name string) bool {
		return slices.ContainsFunc(list, func(e os.DirEntry) bool { return e.Name() == name })
	}
	return len(list) == 0 || has("config.yaml") && has("metrics.jsonl")
}

// location is where a data set was found.
type location struct{ name, path string }

// standsFor returns the data sets of the roots that a name may stand for, the likeliest first, none twice: those in the roots
// go before those in their folders, and the name itself before what it is an alias of.
func standsFor(name string, roots []string) []location {
	keys := []string{nameKey(name)}
	for _, p := range Aliased(name) {
		if key := nameKey(p.Name); !slices.Contains(keys, key) {
			keys = append(keys, key)
		}
	}
	var out []location
	top, below := entries(roots)
	for _, level := range [][]location{top, below} {
		for _, key := range keys {
			for _, l := range level {
				taken := slices.ContainsFunc(out, func(o location) bool { return nameKey(o.name) == key || filepath.Dir(l.path) == o.path })
				if nameKey(l.name) == key && !taken {
					out = append(out, l)
				}
			}
		}
	}
	return out
}

// entries lists what lies in the roots, and the .npz files in their folders, each in the order of roots and names.
func entries(roots []string) (top, below []location) {
	for _, root := range roots {
		list, err := os.ReadDir(root)
		if err != nil {
			continue
		}
		for _, e := range list {
			if strings.HasPrefix(e.Name(), ".") || strings.HasSuffix(e.Name(), ".part") {
				continue // what is being written
			}
			path := filepath.Join(root, e.Name())
			info, err := os.Stat(path)
			switch {
			case err != nil:
			case info.IsDir():
				top = append(top, location{e.Name(), path})
				below = append(below, archivesIn(path)...)
			case strings.HasSuffix(e.Name(), ".npz"):
				top = append(top, location{dataset.BaseName(path), path})
			}
		}
	}
	return top, below
}

// archivesIn lists the .npz files of a folder.
func archivesIn(folder string) []location {
	list, err := os.ReadDir(folder)
	if err != nil {
		return nil
	}
	var out []location
	for _, e := range list {
		path := filepath.Join(folder, e.Name())
		if !strings.HasSuffix(e.Name(), ".npz") {
			continue
		}
		if info, err := os.Stat(path); err == nil && info.Mode().IsRegular() {
			out = append(out, location{dataset.BaseName(path), path})
		}
	}
	return out
}
