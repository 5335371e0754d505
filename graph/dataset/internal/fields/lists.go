package fields

import (
	"fmt"
	"slices"
	"strconv"

	"capgnn/graph/dataset"
	"capgnn/graph/dataset/internal/adjacency"
	"capgnn/graph/dataset/internal/check"
	"capgnn/graph/dataset/internal/textfile"
	"capgnn/internal/room"
)

// FeatureLists says which features vertices have, as the JSON of SNAP's MUSAE sets does: {"VERTEX": [ID, ID, …], …}.
type FeatureLists struct {
	vertex []int32 // of each list, none twice
	end    []int64 // of each list in ids
	ids    []int32
	cols   int // largest id + 1
}

// ScanLists reads an object of lists of features. number returns the vertex of a key, -1 for one that is left out.
func ScanLists(s *textfile.Scanner, number func(key string) (int32, error)) (*FeatureLists, error) {
	l := &FeatureLists{}
	seen := map[int32]bool{}
	if err := s.Want('{'); err != nil {
		return nil, err
	}
	for k := 0; ; k++ {
		more, err := s.Next(k, '}')
		if err != nil {
			return nil, err
		}
		if !more {
			return l, s.Finish()
		}
		key, at, err := s.Name()
		if err != nil {
			return nil, err
		}
		v, err := number(key)
		if err != nil {
			return nil, s.Fault(at, "%w", err)
		}
		if v >= 0 && seen[v] {
			return nil, s.Fault(at, "%.40q has two lists", key)
		}
		before := len(l.ids)
		if err := l.scan(s); err != nil {
			return nil, err
		}
		if v < 0 {
			l.ids = l.ids[:before]
			continue
		}
		seen[v] = true
		l.vertex, l.end = append(l.vertex, v), append(l.end, int64(len(l.ids)))
	}
}

// scan reads one list of feature ids.
func (l *FeatureLists) scan(s *textfile.Scanner) error {
	if err := s.Want('['); err != nil {
		return err
	}
	for k := 0; ; k++ {
		more, err := s.Next(k, ']')
		if err != nil || !more {
			return err
		}
		id, at, err := s.Whole()
		if err != nil {
			return err
		}
		if id < 0 || id >= check.MaxCols {
			return s.Fault(at, "feature %d is outside [0, %d)", id, check.MaxCols)
		}
		l.ids, l.cols = append(l.ids, int32(id)), max(l.cols, int(id)+1)
	}
}

// Features makes rows of n vertices with a 1 for each feature in the vertex's list, however often it is there; vertices
// without a list have none. Every vertex of l is one of the n.
func (l *FeatureLists) Features(n int) (f dataset.Features, repeats int, err error) {
	if err := room.For(8*int64(n+1) + 8*int64(len(l.ids))); err != nil {
		return f, 0, err
	}
	f = dataset.Features{Cols: l.cols, Indptr: make([]int64, n+1), Indices: make([]int32, len(l.ids)), Data: make([]float32, len(l.ids))}
	begin := int64(0)
	for k, v := range l.vertex {
		f.Indptr[v+1], begin = l.end[k]-begin, l.end[k]
	}
	for v := range n {
		f.Indptr[v+1] += f.Indptr[v]
	}
	begin = 0
	for k, v := range l.vertex {
		copy(f.Indices[f.Indptr[v]:f.Indptr[v+1]], l.ids[begin:l.end[k]])
		begin = l.end[k]
	}
	ascend := l.ascend()
	repeats, err = f.SortRows(false)
	for i := range f.Data {
		f.Data[i] = 1
	}
	if (repeats > 0 || !ascend) && l.equallyLong() {
		err = fmt.Errorf("its lists are equally long and %s, as rows of values do: they hold the numbers of "+
			"the columns that are 1; give rows of values as .npy", map[bool]string{true: "repeat numbers", false: "do not ascend"}[repeats > 0])
	}
	return f, repeats, err
}

// NoteRepeats says what becomes of repeats in lists.
const NoteRepeats = "numbers of features that are in a list again count once"

// ascend reports whether numbers ascend in every list.
func (l *FeatureLists) ascend() bool {
	begin := int64(0)
	for _, end := range l.end {
		if !slices.IsSorted(l.ids[begin:end]) {
			return false
		}
		begin = end
	}
	return true
}

// equallyLong reports whether all lists have one length.
func (l *FeatureLists) equallyLong() bool {
	for k := range l.end {
		if l.end[k] != l.end[0]*int64(k+1) {
			return false
		}
	}
	return true
}

// ReadLists reads features.json of a CSV folder, whose keys are vertex numbers; n -1: as many vertices as the largest says.
func ReadLists(d *dataset.Dataset, path string, opt dataset.Options, n int) (rows int, err error) {
	err = textfile.Scan(path, opt.Watch, func(s *textfile.Scanner, _ int64) error {
		largest := int64(-1)
		l, err := ScanLists(s, func(key string) (int32, error) {
			v, err := strconv.ParseInt(key, 10, 32)
			if err != nil || v < 0 || v >= check.MaxDim || n >= 0 && v >= int64(n) {
				return 0, fmt.Errorf("%.40q is not a vertex, want %s: `capgnn data tables` turns names into numbers", key, vertexRange(n))
			}
			largest = max(largest, v)
			return int32(v), nil
		})
		if err != nil {
			return err
		}
		whole := func(err error) error { return &dataset.FormatError{File: path, Offset: -1, Err: err} }
		if rows = n; n < 0 {
			rows = int(largest) + 1
		}
		if rows == 0 || l.cols == 0 {
			return whole(fmt.Errorf("lists no features"))
		}
		if limit := adjacency.MaxVertices(int64(len(l.ids) + len(l.vertex))); int64(rows) > limit {
			return whole(fmt.Errorf("vertex %d is too large for %d lists", largest, len(l.vertex)))
		}
		repeats := 0
		if d.Features, repeats, err = l.Features(rows); err != nil {
			return whole(err)
		}
		if repeats > 0 {
			d.Note("%s: %d", NoteRepeats, repeats)
		}
		return nil
	})
	return rows, err
}

// vertexRange says which numbers are vertices.
func vertexRange(n int) string {
	if n < 0 {
		return "a number from 0"
	}
	return fmt.Sprintf("a number from 0 to %d", n-1)
}
