package datasets

import (
	"io/fs"
	"os"
	"path/filepath"
	"strings"
)

// Found is a data set in one of the folders that are searched by name.
type Found struct {
	Name   string `json:"name"`
	Path   string `json:"path"`
	Format string `json:"format"` // by the names of files and arrays alone; the files were not read
	Bytes  int64  `json:"bytes"`
}

// Folder lists the data sets of a folder, by name. What is recognised as none is left out.
func Folder(root string) ([]Found, error) {
	entries, err := os.ReadDir(root)
	if err != nil {
		return nil, err
	}
	var out []Found
	for _, e := range entries {
		path := filepath.Join(root, e.Name())
		info, err := os.Stat(path)
		if err != nil || strings.HasPrefix(e.Name(), ".") {
			continue // a link to nothing, or the temporary folder of a store that is being written
		}
		if !info.IsDir() {
			if format := sniffFile(path); format != "" {
				out = append(out, Found{setName(path), path, format, info.Size()})
			}
			continue
		}
		out = append(out, sniffFolder(path)...)
	}
	return out, nil
}

// setName is the name of the data set at path.
func setName(path string) string { return strings.TrimSuffix(filepath.Base(path), ".npz") }

// SizeOfTree adds up the files of a folder and of those below it. What cannot be read counts nothing: the size is a help
// to the reader and decides nothing.
func SizeOfTree(dir string) int64 {
	total := int64(0)
	_ = filepath.WalkDir(dir, func(_ string, e fs.DirEntry, err error) error {
		if err == nil && e.Type().IsRegular() {
			if info, err := e.Info(); err == nil {
				total += info.Size()
			}
		}
		return nil
	})
	return total
}
