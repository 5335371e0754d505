package atomicfile

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
)

// suffix stands between the name of a file and the number of a temporary one.
const suffix = ".tmp"

// Write makes the file path (mode 0644) of what write writes: into a file beside it, synced, renamed, the folder synced.
// The error names path.
func Write(path string, write func(io.Writer) error) error {
	if err := replace(path, write, true); err != nil {
		return fmt.Errorf("write %s: %w", path, err)
	}
	return nil
}

// replace makes the file; durable: it outlives a failure of power.
func replace(path string, write func(io.Writer) error, durable bool) error {
	removeLeftovers(path)
	f, err := os.CreateTemp(filepath.Dir(path), filepath.Base(path)+suffix+"*")
	if err != nil {
		return err
	}
	hold(f)
	buf := bufio.NewWriterSize(f, 1<<16)
	if err = write(buf); err == nil {
		err = buf.Flush()
	}
	if err == nil {
		err = f.Chmod(0o644)
	}
	if err == nil && durable {
		err = f.Sync()
	}
	if err = errors.Join(err, f.Close()); err == nil {
		err = os.Rename(f.Name(), path)
	}
	if err != nil {
		os.Remove(f.Name())
		return err
	}
	if !durable {
		return nil
	}
	dir, err := os.Open(filepath.Dir(path))
	if err != nil {
		return err
	}
	defer dir.Close()
	return dir.Sync()
}
