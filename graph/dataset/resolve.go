package dataset

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
)

// Resolve turns a data set's name into a path: name itself if there is such a file or folder, else NAME or NAME.npz in the
// first root that has it, else NAME.npz in a folder of the first root that has it there (such folders hold several data
// sets). Names with a path separator are only looked for as they are. Empty roots are skipped. The error lists where it looked.
func Resolve(name string, roots []string) (string, error) {
	if name == "" {
		return "", fmt.Errorf("no data set is named")
	}
	looked := []string{name}
	if _, err := os.Stat(name); err == nil {
		return name, nil
	}
	if !strings.ContainsAny(name, `/\`) && name != "." && name != ".." {
		for _, root := range roots {
			if root == "" {
				continue
			}
			for _, base := range []string{name, name + ".npz"} {
				path := filepath.Join(root, base)
				if _, err := os.Stat(path); err == nil {
					return path, nil
				}
			}
			looked = append(looked, filepath.Join(root, name))
		}
		for _, root := range roots {
			if path := collected(root, name+".npz"); path != "" {
				return path, nil
			}
		}
	}
	return "", fmt.Errorf("data set %q was not found; looked at: %s", name, strings.Join(looked, ", "))
}

// collected returns the file of this name in the first folder of root that has it, by name; "" if none does.
func collected(root, file string) string {
	if root == "" {
		return ""
	}
	folders, err := os.ReadDir(root)
	if err != nil {
		return ""
	}
	for _, f := range folders {
		path := filepath.Join(root, f.Name(), file)
		if info, err := os.Stat(path); err == nil && info.Mode().IsRegular() {
			return path
		}
	}
	return ""
}
