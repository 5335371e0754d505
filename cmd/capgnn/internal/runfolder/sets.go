package runfolder

import (
	"fmt"
	"path/filepath"
	"slices"
	"unicode/utf8"

	"capgnn/cmd/capgnn/internal/term"
	"capgnn/internal/npy"
)

// Sets are the training, validation and test vertices of a run, and what these are called.
type Sets struct {
	Train, Val, Test []bool   // by vertex; nil: no vertex, of those that are not written
	IDs              []int64  // nil: these are numbers from 0 on, or Names
	Names            []string // nil: they are not called by texts
}

// maxNameBytes bounds the names of vertices in split.npz, where each takes four bytes for each character of the
// longest.
const maxNameBytes = 64 << 20

// splitFile is the file of the sets.
func (d Dir) splitFile() string { return filepath.Join(string(d), "split.npz") }

// WriteSets keeps the sets of a run.
func (d Dir) WriteSets(s *Sets) error {
	var entries []npy.Entry
	for i, key := range setKeys {
		entries = append(entries, npy.Entry{Key: key, Data: *s.masks()[i]})
	}
	switch {
	case s.Names != nil && !s.TooLong():
		entries = append(entries, npy.Entry{Key: "ids", Data: s.Names})
	case s.IDs != nil:
		entries = append(entries, npy.Entry{Key: "ids", Data: s.IDs})
	}
	return npy.WriteArchiveFile(d.splitFile(), entries, npy.Archiving{Deflate: true})
}

// setKeys are the names of the masks in the file.
var setKeys = [3]string{"train_mask", "val_mask", "test_mask"}

func (s *Sets) masks() [3]*[]bool { return [3]*[]bool{&s.Train, &s.Val, &s.Test} }

// TooLong reports whether the names take more bytes, in an array of text, than the file gives them, so that it has none.
func (s *Sets) TooLong() bool {
	longest := 0
	for _, name := range s.Names {
		longest = max(longest, utf8.RuneCountInString(name))
	}
	return 4*longest*len(s.Names) > maxNameBytes
}

// ReadSets returns what WriteSets kept of a run on so many vertices.
func (d Dir) ReadSets(vertices int) (*Sets, error) {
	z, err := npy.OpenArchive(d.splitFile())
	if err != nil {
		return nil, term.Usagef("%w", err)
	}
	defer z.Close()
	s := new(Sets)
	for i, key := range setKeys {
		a, err := z.Array(key)
		if err == nil && (len(a.Shape) != 1 || a.Shape[0] != vertices) {
			err = a.Fault(-1, fmt.Errorf("has shape %v, the data set has %d vertices", a.Shape, vertices))
		}
		if err == nil {
			*s.masks()[i], err = a.Bool()
		}
		if err != nil {
			return nil, term.Usagef("%w", err)
		}
	}
	if !z.Has("ids") {
		return s, nil
	}
	a, err := z.Array("ids")
	if err != nil {
		return nil, term.Usagef("%w", err)
	}
	if a.DType.Kind == 'U' {
		s.Names, err = a.Strings()
	} else {
		s.IDs, err = a.Int64()
	}
	if err != nil {
		return nil, term.Usagef("%w", err)
	}
	return s, nil
}

// In reports whether vertex v is in the set of a name.
func (s *Sets) In(v int, name string) bool {
	mask := *s.masks()[slices.Index(SetNames[:], name)]
	return mask != nil && mask[v]
}

// Of returns the set of vertex v: train, val, test, or "" where it is in none. Of sets that overlap the first counts.
func (s *Sets) Of(v int) string {
	for _, name := range SetNames {
		if s.In(v, name) {
			return name
		}
	}
	return ""
}

// SetNames are what the sets are called where a user chooses one.
var SetNames = [3]string{"train", "val", "test"}
