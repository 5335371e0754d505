package atomicfile

import (
	"path/filepath"
	"sync"
)

// watched are the folders of this process that others may move, each with what says that one is still in its place.
var watched sync.Map

// Watch has stays asked about every file that is made in dir or below it, before the file gets its name; after an error the
// file goes again. So no file is left in a folder that has taken the place of dir. end ends that.
func Watch(dir string, stays func() error) (end func()) {
	dir = filepath.Clean(dir)
	watched.Store(dir, stays)
	return func() { watched.Delete(dir) }
}

// Stays returns what is said of the folder of path that is watched; nil: none is. Who makes a file by other means asks it
// afterwards.
func Stays(path string) error {
	for dir := filepath.Dir(path); ; dir = filepath.Dir(dir) {
		if stays, ok := watched.Load(dir); ok {
			return stays.(func() error)()
		}
		if dir == filepath.Dir(dir) {
			return nil
		}
	}
}
