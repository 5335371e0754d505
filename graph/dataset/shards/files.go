package shards

import (
	"bufio"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"path/filepath"
	"slices"

	"capgnn/graph/dataset"
	"capgnn/internal/npy"
	"capgnn/internal/regular"
)

// filer writes files of a folder and keeps what they must be. After an error it does nothing.
type filer struct {
	dir   string
	watch dataset.Watch
	files map[string]file
	err   error
}

// write makes a file.
func (f *filer) write(name string, fill func(io.Writer) error) {
	if f.err != nil {
		return
	}
	path := filepath.Join(f.dir, filepath.FromSlash(name))
	if f.err = os.MkdirAll(filepath.Dir(path), 0o755); f.err != nil {
		return
	}
	out, err := os.Create(path)
	if err != nil {
		f.err = err
		return
	}
	sum, count := sha256.New(), &counter{watch: f.watch, name: name} // how long it gets is not known
	b := bufio.NewWriterSize(io.MultiWriter(out, sum, count), 1<<18)
	if err = fill(b); err == nil {
		err = b.Flush()
	}
	if f.err = errors.Join(err, out.Close()); f.err == nil {
		f.files[name] = file{count.bytes, hex.EncodeToString(sum.Sum(nil))}
	}
}

// array writes KEY.npy.
func (f *filer) array(key string, shape []int, data any) {
	f.write(key+".npy", func(w io.Writer) error { return npy.Write(w, shape, data) })
}

// json writes a file of JSON.
func (f *filer) json(name string, v any) {
	f.write(name, func(w io.Writer) error {
		text, err := json.MarshalIndent(v, "", "  ")
		if err == nil {
			_, err = w.Write(append(text, '\n'))
		}
		return err
	})
}

// counter counts bytes, and says how many there are.
type counter struct {
	watch dataset.Watch
	name  string
	total int64
	bytes int64
}

func (c *counter) Write(p []byte) (int, error) {
	c.bytes += int64(len(p))
	if c.watch != nil {
		return len(p), c.watch(c.name, c.bytes, c.total)
	}
	return len(p), nil
}

// check compares files with what they must be: their sizes, and what is in them unless that is known.
func checkFiles(dir string, files map[string]file, known bool, watch dataset.Watch) error {
	for _, name := range sortedKeys(files) {
		if !filepath.IsLocal(filepath.FromSlash(name)) {
			return fmt.Errorf("%s: file %.80q lies outside of its folder", dir, name)
		}
		if err := checkFile(filepath.Join(dir, filepath.FromSlash(name)), files[name], known, watch); err != nil {
			return err
		}
	}
	return nil
}

func checkFile(path string, want file, known bool, watch dataset.Watch) error {
	f, err := regular.Open(path)
	if err != nil {
		return err
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil {
		return err
	}
	damaged := func(format string, a ...any) error {
		return &dataset.FormatError{File: path, Offset: -1, Err: fmt.Errorf(format+": copy the folder again, or cut the shards again", a...)}
	}
	if info.Size() != want.Bytes {
		return damaged("has %d bytes, %d were written", info.Size(), want.Bytes)
	}
	if known {
		return nil
	}
	sum := sha256.New()
	if _, err := io.Copy(io.MultiWriter(sum, &counter{watch: watch, name: path, total: want.Bytes}), f); err != nil {
		return err
	}
	if hex.EncodeToString(sum.Sum(nil)) != want.SHA256 {
		return damaged("is not what was written")
	}
	return nil
}

// pieces writes KEY.npy piece by piece, as npy.WritePieces does.
func (f *filer) pieces(key string, shape []int, pieces func(put func(any) error) error) {
	f.write(key+".npy", func(w io.Writer) error { return npy.WritePieces(w, shape, pieces) })
}

// sortedKeys lists the names of files.
func sortedKeys(files map[string]file) []string { return slices.Sorted(maps.Keys(files)) }
