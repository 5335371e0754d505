package atomicfile

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
)

// Folder makes the folder path (mode 0755) of the files that write puts into the folder it is given: a new one beside path,
// whose files are synced before it is renamed. path must not be there, or be an empty folder. The error names path.
func Folder(path string, write func(dir string) error) error {
	path = filepath.Clean(path)
	return named(path, makeFolder(path, write))
}

func makeFolder(path string, write func(dir string) error) error {
	parent := filepath.Dir(path)
	if err := os.MkdirAll(parent, 0o755); err != nil {
		return err
	}
	Sweep(parent)
	finished := func() {}
	name, held, err := hold(func() (name string, err error) {
		name, finished, err = Unfinished(func() (string, error) { return os.MkdirTemp(parent, "."+filepath.Base(path)+mark()+"*") })
		return name, err
	})
	if err != nil {
		return err
	}
	defer finished()
	defer held.Close()
	err = write(name)
	if err == nil {
		err = os.Chmod(name, 0o755)
	}
	if err == nil {
		err = syncAll(name)
	}
	if err == nil {
		if there, failed := os.Lstat(path); failed == nil && there.IsDir() {
			os.Remove(path) // which goes if it is empty: os.Rename replaces no folder
		}
		if err = os.Rename(name, path); errors.Is(err, fs.ErrExist) { // it was not there, or empty, when the work began
			err = errors.New("another process has filled the folder meanwhile: choose another name")
		}
	}
	if err != nil {
		return errors.Join(err, os.RemoveAll(name))
	}
	return syncFolder(parent)
}

// syncAll writes the files of a folder, and of those in it, to the disk, so that renaming it publishes complete files even if power fails.
func syncAll(dir string) error {
	list, err := os.ReadDir(dir)
	if err != nil {
		return err
	}
	for _, e := range list {
		path := filepath.Join(dir, e.Name())
		if e.IsDir() {
			if err := syncAll(path); err != nil {
				return err
			}
			continue
		}
		f, err := os.Open(path)
		if err != nil {
			return err
		}
		if err := errors.Join(f.Sync(), f.Close()); err != nil {
			return err
		}
	}
	return syncFolder(dir)
}
