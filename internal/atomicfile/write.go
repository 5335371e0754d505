package atomicfile

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"

	"capgnn/internal/regular"
)

// Write makes the file path (mode 0644) of what write writes: into a file beside it, synced, renamed, the folder synced.
// The error names path.
func Write(path string, write func(io.Writer) error) error {
	return named(path, replace(path, write, true))
}

// Replace is Write without waiting for the disk: other processes see the whole file or none, but a failure of power may leave
// a damaged one. For files that carry a checksum and can be made again.
func Replace(path string, write func(io.Writer) error) error {
	return named(path, replace(path, write, false))
}

// named returns err with the name of what was to be written, and not that of the temporary file.
func named(path string, err error) error {
	if err == nil {
		return nil
	}
	var p *fs.PathError
	if errors.As(err, &p) && err.Error() == p.Error() && (ours.MatchString(p.Path) || ours.MatchString(filepath.Dir(p.Path))) {
		err = p.Err
	}
	return fmt.Errorf("write %s: %w", path, err)
}

// replace makes the file; durable: it outlives a failure of power.
func replace(path string, write func(io.Writer) error, durable bool) error {
	stream, err := target(path)
	if err != nil {
		return err
	}
	if stream != nil {
		return buffered(stream, write)
	}
	Sweep(filepath.Dir(path))
	finished := func() {}
	name, held, err := hold(func() (name string, err error) {
		name, finished, err = Unfinished(func() (string, error) {
			f, err := os.CreateTemp(filepath.Dir(path), filepath.Base(path)+mark()+"*")
			if err != nil {
				return "", err
			}
			return f.Name(), f.Close()
		})
		return name, err
	})
	if err != nil {
		return err
	}
	defer finished()
	defer held.Close() // not before the file has its name
	err = Stays(path)
	if err == nil {
		err = fill(name, write, durable)
	}
	if err != nil {
		os.Remove(name)
		return err
	}
	if err := os.Rename(name, path); errors.Is(err, fs.ErrNotExist) {
		return errRemoved
	} else if err != nil {
		os.Remove(name)
		return err
	}
	if !durable {
		return nil
	}
	return syncFolder(filepath.Dir(path))
}

// errRemoved says that a file that was not finished has lost its name: it or its folder was removed.
var errRemoved = errors.New("it was removed while it was written")

// fill writes the content of a temporary file.
func fill(name string, write func(io.Writer) error, durable bool) error {
	f, err := regular.OpenFile(name, os.O_WRONLY, 0)
	if err != nil {
		return err
	}
	err = buffered(f, write)
	if err == nil {
		err = f.Chmod(0o644)
	}
	if err == nil && durable {
		err = f.Sync()
	}
	return errors.Join(err, f.Close())
}

func buffered(w io.Writer, write func(io.Writer) error) error {
	buf := bufio.NewWriterSize(w, 1<<16)
	if err := write(buf); err != nil {
		return err
	}
	return buf.Flush()
}

func syncFolder(path string) error {
	dir, err := os.Open(path)
	if err != nil {
		return err
	}
	defer dir.Close()
	return dir.Sync()
}
