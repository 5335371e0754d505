package diskcache

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"time"

	"capgnn/cmd/capgnn/internal/term"
	"capgnn/internal/learn"
	"capgnn/internal/regular"
)

// fileStamp is what changes when a file does: git's index trusts the same numbers.
type fileStamp struct {
	Name    string `json:"name"` // below the data set's folder
	Size    int64  `json:"size"`
	Mtime   int64  `json:"mtime"` // nanoseconds
	Changed int64  `json:"ctime"` // nanoseconds; 0 where the system has no such number
	Inode   uint64 `json:"inode"` // 0 where the system has no such number
}

const (
	// maxStamped is the number of files of a data set up to which they are looked at.
	maxStamped = 1000
	// restful is how long a file must have been left alone before it was read for its stamp to say that it is what was read:
	// clocks of file systems are coarse.
	restful = 2 * time.Second
)

// stamps returns the stamps of the files of a data set that was read from started on: those at path, or, where that is a
// file, those beside it. nil: there are too many, or one is so new that it may have changed since.
func stamps(path string, started time.Time) []fileStamp {
	root, err := filepath.EvalSymlinks(path)
	if err != nil {
		return nil
	}
	deep := true
	if info, err := os.Stat(root); err != nil || !info.IsDir() {
		root, deep = filepath.Dir(root), false
	}
	var out []fileStamp
	newest := started.Add(-restful).UnixNano()
	err = filepath.WalkDir(root, func(name string, e fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if e.IsDir() {
			if !deep && name != root {
				return fs.SkipDir
			}
			return nil
		}
		info, err := os.Stat(name) // of what a link points to
		if err != nil {
			return err
		}
		rel, err := filepath.Rel(root, name)
		if err != nil {
			return err
		}
		s := fileStamp{Name: rel, Size: info.Size(), Mtime: info.ModTime().UnixNano()}
		s.Changed, s.Inode = inode(info)
		if len(out) == maxStamped || info.IsDir() || max(s.Mtime, s.Changed) > newest {
			return errors.New("cannot be told")
		}
		out = append(out, s)
		return nil
	})
	if err != nil {
		return nil
	}
	return out
}

// memory is what is remembered of a data set.
type memory struct {
	Version int         `json:"version"`
	Path    string      `json:"path"`
	Options string      `json:"options"` // that decide what is read from the files
	Files   []fileStamp `json:"files"`
	Sums    Sums        `json:"sums"`
	Degrees []int       `json:"degrees,omitempty"` // CountDegrees of the graph
}

// memoryVersion is raised when what is read from files, or how sums are computed, changes.
const memoryVersion = 2

// Recall returns the sums and CountDegrees of the problem that was read with these options from path, beginning at started: those that were
// computed before, if the files are still the same, else new ones, which are remembered.
func (c *Cache) Recall(path, options string, started time.Time, p *learn.Problem) (Sums, []int) {
	if c == nil || path == "" {
		return SumsOf(p), CountDegrees(p.Graph)
	}
	m := memory{Version: memoryVersion, Path: path, Options: options, Files: stamps(path, started)}
	name := sha256.Sum256(fmt.Appendf(nil, "%s\n%s", path, options))
	file := filepath.Join(c.dir, "data-"+hex.EncodeToString(name[:16])+".json")
	if was, err := readMemory(file); err == nil && was.Version == m.Version && was.Path == m.Path && was.Options == m.Options &&
		len(m.Files) > 0 && slices.Equal(was.Files, m.Files) && was.Sums.sound() && soundDegrees(was.Degrees, p.Vertices()) {
		return was.Sums, was.Degrees
	}
	m.Sums, m.Degrees = SumsOf(p), CountDegrees(p.Graph)
	if len(m.Files) == 0 || !slices.Equal(m.Files, stamps(path, started)) {
		return m.Sums, m.Degrees // a later change could not be told
	}
	data, err := json.Marshal(m)
	if err == nil {
		err = term.WriteFile(file, append(data, '\n'))
	}
	if err != nil {
		c.note("note: the identity of the data set is not remembered: %v", err)
	}
	return m.Sums, m.Degrees
}

// soundDegrees reports whether degrees may be those of so many vertices.
func soundDegrees(degrees []int, vertices int) bool {
	for _, n := range degrees {
		if n < 0 || n > vertices {
			return false
		}
		vertices -= n
	}
	return vertices == 0 && len(degrees) <= mostDegrees
}

// maxMemoryFile bounds a file that is read as a whole.
const maxMemoryFile = 1 << 20

func readMemory(file string) (*memory, error) {
	data, err := regular.ReadFile(file, maxMemoryFile)
	if err != nil {
		return nil, err
	}
	m := new(memory)
	return m, json.Unmarshal(data, m)
}

// sound reports whether both sums are hex SHA-256.
func (s Sums) sound() bool {
	for _, text := range []string{s.Graph, s.Features} {
		if raw, err := hex.DecodeString(text); err != nil || len(raw) != sha256.Size {
			return false
		}
	}
	return true
}

// ReadJSON reads a small cached file; any error means that it is made again.
func ReadJSON(path string, to any) error {
	data, err := regular.ReadFile(path, maxMemoryFile)
	if err != nil {
		return err
	}
	return json.Unmarshal(data, to)
}
