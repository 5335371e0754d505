package npy

import (
	"errors"
	"fmt"
	"io"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/klauspost/compress/zip"

	"capgnn/internal/regular"
)

// maxRatio is how far deflate can compress: 258 bytes in two bits, and some for block headers.
const maxRatio = 1032

// Archive is an open .npz file.
type Archive struct {
	name    string
	keys    []string
	members map[string]*zip.File
	left    map[string]bool // nobody asked for them
	close   func() error
	watch   Watch
}

// OpenArchive opens a .npz file and reads its table of contents. Arrays of it are valid until Close.
func OpenArchive(path string) (*Archive, error) {
	f, err := regular.Open(path)
	if err != nil {
		return nil, err
	}
	info, err := f.Stat()
	var z *Archive
	if err == nil {
		z, err = ReadArchive(f, info.Size(), path)
	}
	if err != nil {
		f.Close()
		return nil, err
	}
	z.close = f.Close
	return z, nil
}

// ReadArchive reads the table of contents of the .npz that fills r, of size bytes. name stands for the file in errors.
func ReadArchive(r io.ReaderAt, size int64, name string) (*Archive, error) {
	zr, err := zip.NewReader(r, size)
	if err != nil {
		return nil, &FormatError{File: name, Offset: -1, Err: fmt.Errorf("is not a complete .npz (zip) archive: %w", err)}
	}
	z := &Archive{name: name, members: map[string]*zip.File{}, left: map[string]bool{}, close: func() error { return nil }}
	for _, f := range zr.File {
		key, ok := strings.CutSuffix(f.Name, ".npy")
		if !ok {
			continue
		}
		if !printable(f.Name) { // it would garble every message
			return nil, &FormatError{File: name, Offset: -1, Err: fmt.Errorf("the name of member %.50q is not printable text", f.Name)}
		}
		if err := checkMember(f, size); err != nil {
			return nil, &FormatError{File: name, Member: f.Name, Offset: -1, Err: err}
		}
		if z.members[key] != nil {
			return nil, &FormatError{File: name, Member: f.Name, Offset: -1, Err: errors.New("occurs twice in the archive")}
		}
		z.keys = append(z.keys, key)
		z.members[key], z.left[key] = f, true
	}
	return z, nil
}

func printable(s string) bool {
	return utf8.ValidString(s) && !strings.ContainsFunc(s, func(c rune) bool { return !unicode.IsPrint(c) })
}

// checkMember refuses members that cannot be what they say.
func checkMember(f *zip.File, size int64) error {
	packed, full := f.CompressedSize64, f.UncompressedSize64
	switch {
	case f.Flags&1 != 0:
		return errors.New("is encrypted")
	case f.Method != zip.Store && f.Method != zip.Deflate:
		return fmt.Errorf("is compressed with method %d; stored (0) and deflated (8) can be read", f.Method)
	case packed > uint64(size):
		return fmt.Errorf("truncated: %d bytes in an archive of %d", packed, size)
	case f.Method == zip.Store && full != packed:
		return fmt.Errorf("is stored, but its sizes differ: %d and %d bytes", packed, full)
	case full > maxRatio*(packed+1):
		return fmt.Errorf("says that %d bytes inflate to %d, which deflate cannot do", packed, full)
	}
	return nil
}

// Keys returns the names of the arrays, without ".npy", in the order of the archive.
func (z *Archive) Keys() []string { return z.keys }

// Has reports whether there is an array of this name.
func (z *Archive) Has(key string) bool { return z.members[key] != nil }

// Left returns the names of the arrays that neither Array nor Skip has had, in the order of the archive.
func (z *Archive) Left() (keys []string) {
	for _, key := range z.keys {
		if z.left[key] {
			keys = append(keys, key)
		}
	}
	return keys
}

// Skip says that arrays are left out on purpose.
func (z *Archive) Skip(keys ...string) {
	for _, key := range keys {
		delete(z.left, key)
	}
}

// Name returns the archive's path, as it was given.
func (z *Archive) Name() string { return z.name }

// Array reads the header of an array. A missing one is a *FormatError that lists what is there.
func (z *Archive) Array(key string) (*Array, error) {
	f := z.members[key]
	z.Skip(key)
	if f == nil {
		return nil, &FormatError{File: z.name, Offset: -1, Err: fmt.Errorf("holds no array %q; it has: %.100s", key, strings.Join(z.keys, " "))}
	}
	open := func() (io.ReadCloser, error) { return f.Open() }
	a, err := newArray(z.name, f.Name, int64(f.UncompressedSize64), int64(f.CompressedSize64), open)
	if err != nil {
		return nil, err
	}
	a.watch = z.watch
	return a, nil
}

// Watch makes the accessors of the arrays that are asked for from now on report to w.
func (z *Archive) Watch(w Watch) { z.watch = w }

// Close closes the file. Arrays of the archive cannot be read afterwards.
func (z *Archive) Close() error { return z.close() }
