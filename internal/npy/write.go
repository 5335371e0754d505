package npy

import (
	"encoding/binary"
	"fmt"
	"io"
	"math"
	"slices"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/klauspost/compress/flate"
	"github.com/klauspost/compress/zip"

	"capgnn/internal/atomicfile"
)

// Entry is one array to be written to an archive.
type Entry struct {
	Key   string // name, without ".npy"; may hold slashes
	Shape []int  // nil: one dimension of len(Data); empty and not nil: a scalar
	Data  any    // see Write
}

// Size returns the bytes of the .npy file of an entry that can be written, 0 for another.
func (e *Entry) Size() int64 {
	n, descr, _, err := encoder(e.Data)
	if err != nil {
		return 0
	}
	shape := e.Shape
	if shape == nil {
		shape = []int{n}
	}
	t, err := parseDescr(descr)
	if err != nil {
		return 0
	}
	return int64(len(appendHeader(nil, descr, shape))) + int64(n)*int64(t.Size)
}

// Archiving says how WriteArchive lays an archive out. The zero value stores the entries as they are, in the given order.
type Archiving struct {
	Deflate bool // compress members
	Sort    bool // order members by key
}

// Write writes one array in C order, version 1.0, little-endian. data is a []float32, []float64, []int8, []uint8, []int32,
// []int64, []bool or []string (written as U); shape nil means one dimension. A shape that does not fit len(data) is an
// error. Equal arguments give equal bytes.
func Write(w io.Writer, shape []int, data any) error {
	n, _, _, err := encoder(data)
	if err != nil {
		return err
	}
	if shape == nil {
		shape = []int{n}
	}
	return WritePieces(w, shape, func(put func(data any) error) error { return put(data) })
}

// WritePieces writes an array of a shape as Write does, whose elements pieces puts one piece after the other, each of the same type: at least one, which may be
// empty. What it puts may be used again once put has returned.
func WritePieces(w io.Writer, shape []int, pieces func(put func(data any) error) error) error {
	if err := checkShape(shape, 8); err != nil {
		return err
	}
	h := Header{Shape: shape}
	left, of := h.Len(), ""
	buf := make([]byte, 0, chunkBytes+8)
	err := pieces(func(data any) error {
		n, descr, enc, err := encoder(data)
		if err == nil && of == "" {
			of = descr
			_, err = w.Write(appendHeader(nil, descr, shape))
		}
		switch {
		case err != nil:
			return err
		case descr != of || n > left:
			return fmt.Errorf("write an array: shape %v and type %s do not fit a piece of %d elements of type %s", shape, of, n, descr)
		}
		left -= n
		const per = chunkBytes / 8
		for i := 0; i < n; i += per {
			buf = enc(buf[:0], i, min(i+per, n))
			if _, err := w.Write(buf); err != nil {
				return err
			}
		}
		return nil
	})
	if err == nil && left > 0 {
		err = fmt.Errorf("write an array: shape %v does not fit, %d elements are missing", shape, left)
	}
	return err
}

// WriteFile writes one array to a file, as Write. The file appears under its name only when it is complete.
func WriteFile(path string, shape []int, data any) error {
	return atomicfile.Write(path, func(w io.Writer) error { return Write(w, shape, data) })
}

// WriteArchive writes an .npz. Equal arguments give equal bytes: members bear the date 1980-01-01.
func WriteArchive(w io.Writer, entries []Entry, how Archiving) error {
	if how.Sort {
		entries = slices.Clone(entries)
		slices.SortStableFunc(entries, func(a, b Entry) int { return strings.Compare(a.Key, b.Key) })
	}
	zw := zip.NewWriter(w)
	zw.RegisterCompressor(zip.Deflate, func(w io.Writer) (io.WriteCloser, error) { return flate.NewWriter(w, 6) })
	seen := map[string]bool{}
	for _, e := range entries {
		if seen[e.Key] {
			return fmt.Errorf("write an archive: array %q occurs twice", e.Key)
		}
		seen[e.Key] = true
		h := &zip.FileHeader{Name: e.Key + ".npy", Method: zip.Store, Modified: time.Date(1980, time.January, 1, 0, 0, 0, 0, time.UTC)}
		if how.Deflate {
			h.Method = zip.Deflate
		}
		m, err := zw.CreateHeader(h)
		if err == nil {
			err = Write(m, e.Shape, e.Data)
		}
		if err != nil {
			return fmt.Errorf("array %q: %w", e.Key, err)
		}
	}
	return zw.Close()
}

// WriteArchiveFile writes an .npz file, as WriteArchive. The file appears under its name only when it is complete.
func WriteArchiveFile(path string, entries []Entry, how Archiving) error {
	return atomicfile.Write(path, func(w io.Writer) error { return WriteArchive(w, entries, how) })
}

// encoder returns length, type name and a function that appends elements i to j.
func encoder(data any) (n int, descr string, enc func(b []byte, i, j int) []byte, err error) {
	le := binary.LittleEndian
	switch d := data.(type) {
	case []float32:
		n, descr, enc = each(d, "<f4", func(b []byte, v float32) []byte { return le.AppendUint32(b, math.Float32bits(v)) })
	case []float64:
		n, descr, enc = each(d, "<f8", func(b []byte, v float64) []byte { return le.AppendUint64(b, math.Float64bits(v)) })
	case []int8:
		n, descr, enc = each(d, "|i1", func(b []byte, v int8) []byte { return append(b, byte(v)) })
	case []uint8:
		n, descr, enc = len(d), "|u1", func(b []byte, i, j int) []byte { return append(b, d[i:j]...) }
	case []int32:
		n, descr, enc = each(d, "<i4", func(b []byte, v int32) []byte { return le.AppendUint32(b, uint32(v)) })
	case []int64:
		n, descr, enc = each(d, "<i8", func(b []byte, v int64) []byte { return le.AppendUint64(b, uint64(v)) })
	case []bool:
		n, descr, enc = each(d, "|b1", func(b []byte, v bool) []byte {
			if v {
				return append(b, 1)
			}
			return append(b, 0)
		})
	case []string:
		width := 1
		for _, s := range d {
			width = max(width, utf8.RuneCountInString(s))
		}
		n, descr, enc = each(d, fmt.Sprintf("<U%d", width), func(b []byte, s string) []byte {
			end := len(b) + 4*width
			for _, c := range s {
				b = le.AppendUint32(b, uint32(c))
			}
			return append(b, make([]byte, end-len(b))...)
		})
	default:
		err = fmt.Errorf("write an array: elements of type %T have no .npy type here", data)
	}
	return n, descr, enc, err
}

func each[T any](d []T, descr string, one func([]byte, T) []byte) (int, string, func([]byte, int, int) []byte) {
	return len(d), descr, func(b []byte, i, j int) []byte {
		for _, v := range d[i:j] {
			b = one(b, v)
		}
		return b
	}
}
