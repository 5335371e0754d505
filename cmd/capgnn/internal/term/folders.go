package term

import (
	"os"
	"path/filepath"
)

// DataRoots returns the folders in which data sets are looked up by name: those of $CAPGNN_DATA, else
// $XDG_DATA_HOME/capgnn, which is ~/.local/share/capgnn where that is not set.
func DataRoots() []string {
	if list := os.Getenv("CAPGNN_DATA"); list != "" {
		return filepath.SplitList(list)
	}
	if base := xdgFolder("XDG_DATA_HOME", ".local", "share"); base != "" {
		return []string{filepath.Join(base, "capgnn")}
	}
	return nil
}

// CacheFolder returns $XDG_CACHE_HOME/capgnn (~/.cache/capgnn where that is not set), made if it is not there. Profiles
// and partition plans live in it; all of them can be made again. "" and an error: there is no place to cache anything.
func CacheFolder() (string, error) {
	base := xdgFolder("XDG_CACHE_HOME", ".cache")
	if base == "" {
		return "", os.ErrNotExist
	}
	dir := filepath.Join(base, "capgnn")
	return dir, os.MkdirAll(dir, 0o755)
}

// xdgFolder returns the folder that an XDG variable names, else the default below the home folder, else "". Relative
// values are ignored, as the XDG base directory specification asks.
func xdgFolder(variable string, below ...string) string {
	if dir := os.Getenv(variable); filepath.IsAbs(dir) {
		return dir
	}
	home, err := os.UserHomeDir()
	if err != nil || home == "" {
		return ""
	}
	return filepath.Join(append([]string{home}, below...)...)
}
