package npy

import (
	"errors"
	"fmt"
	"io"
	"os"
)

// Array is a header and where its elements lie. Its accessors read the file each time they are called.
type Array struct {
	Header
	file, member string
	backed       int64 // bytes in the file that hold this array, compressed where it is
	open         func() (io.ReadCloser, error)
}

// Open reads the header of a .npy file. The file is opened again by each accessor.
func Open(path string) (*Array, error) {
	info, err := os.Stat(path)
	if err != nil {
		return nil, err
	}
	if !info.Mode().IsRegular() {
		return nil, fmt.Errorf("%s: is not a file", path)
	}
	open := func() (io.ReadCloser, error) { return os.Open(path) }
	return newArray(path, "", info.Size(), info.Size(), open)
}

// Read reads the header of the .npy array that fills r, of size bytes. name stands for the file in errors.
func Read(r io.ReaderAt, size int64, name string) (*Array, error) {
	open := func() (io.ReadCloser, error) { return io.NopCloser(io.NewSectionReader(r, 0, size)), nil }
	return newArray(name, "", size, size, open)
}

// newArray reads the header of an array of size bytes (header included), of which backed bytes really stand in the file.
func newArray(file, member string, size, backed int64, open func() (io.ReadCloser, error)) (*Array, error) {
	a := &Array{file: file, member: member, backed: backed, open: open}
	r, err := open()
	if err != nil {
		return nil, a.fault(-1, err)
	}
	defer r.Close()
	var at int64
	if a.Header, at, err = readHeader(r); err != nil {
		return nil, a.fault(at, err)
	}
	if a.DType.Kind == 'O' {
		return a, nil
	}
	if a.DType.Size == 0 && a.Len() > 0 {
		return nil, a.fault(0, fmt.Errorf("type %v has elements of no size", a.DType))
	}
	switch have := size - a.DataOffset; {
	case have < a.Bytes():
		return nil, a.fault(size, fmt.Errorf("truncated: shape %v of %v needs %d bytes, %d are there", a.Shape, a.DType, a.Bytes(), have))
	case have > a.Bytes():
		return nil, a.fault(a.DataOffset+a.Bytes(), fmt.Errorf("%d bytes too many for shape %v of %v", have-a.Bytes(), a.Shape, a.DType))
	}
	return a, nil
}

// Fault returns a *FormatError at element i of the array in C order, or without a place if i is negative.
func (a *Array) Fault(i int, err error) error {
	if i < 0 {
		return a.fault(-1, err)
	}
	return a.fault(a.DataOffset+int64(a.position(i))*int64(a.DType.Size), err)
}

func (a *Array) fault(offset int64, err error) error {
	var known *FormatError
	if errors.As(err, &known) {
		return err
	}
	return &FormatError{File: a.file, Member: a.member, Offset: offset, Err: err}
}

// position returns where element i of the C order lies in the file, in elements.
func (a *Array) position(i int) int {
	if !a.Fortran || len(a.Shape) < 2 {
		return i
	}
	pos, stride := 0, a.Len()
	for k := len(a.Shape) - 1; k >= 0; k-- {
		stride /= a.Shape[k]
		pos += i % a.Shape[k] * stride
		i /= a.Shape[k]
	}
	return pos
}

const (
	chunkBytes = 1 << 16
	// firstBytes is allocated without asking, backedRatio times the compressed size beyond it; after that memory doubles
	// as bytes really arrive. Deflated index arrays inflate 2 to 10 times.
	firstBytes  = 4 << 20
	backedRatio = 16
)

// elementFault is a fault at an element of a chunk.
type elementFault struct {
	index int
	err   error
}

// read decodes all elements in file order, then reorders Fortran arrays.
func read[T any](a *Array, dec func(dst []T, src []byte) *elementFault) ([]T, error) {
	r, err := a.open()
	if err != nil {
		return nil, a.fault(-1, err)
	}
	defer r.Close()
	if n, err := io.CopyN(io.Discard, r, a.DataOffset); err != nil {
		return nil, a.fault(n, truncated(err))
	}
	n, size := a.Len(), a.DType.Size
	out := make([]T, 0, min(int64(n), (firstBytes+backedRatio*a.backed)/int64(max(size, 1))))
	per := max(1, chunkBytes/max(size, 1))
	buf := make([]byte, min(n, per)*size)
	for len(out) < n {
		k := min(per, n-len(out))
		at := a.DataOffset + int64(len(out))*int64(size)
		if got, err := io.ReadFull(r, buf[:k*size]); err != nil {
			return nil, a.fault(at+int64(got), truncated(err))
		}
		if len(out)+k > cap(out) {
			out = append(make([]T, 0, min(n, 2*cap(out)+k)), out...)
		}
		out = out[:len(out)+k]
		if f := dec(out[len(out)-k:], buf[:k*size]); f != nil {
			return nil, a.fault(at+int64(f.index)*int64(size), f.err)
		}
	}
	// The end must follow at once; an archive verifies the member's checksum here.
	if got, err := io.ReadFull(r, make([]byte, 1)); err != io.EOF || got != 0 {
		if err == nil {
			err = errors.New("bytes after the array")
		}
		return nil, a.fault(a.DataOffset+a.Bytes(), err)
	}
	if a.Fortran && len(a.Shape) > 1 {
		return reorder(a, out), nil
	}
	return out, nil
}

// reorder returns the elements of a Fortran-order array in C order.
func reorder[T any](a *Array, src []T) []T {
	out := make([]T, len(src))
	if len(a.Shape) == 2 {
		rows, cols := a.Shape[0], a.Shape[1]
		for j := range cols {
			for i := range rows {
				out[i*cols+j] = src[j*rows+i]
			}
		}
		return out
	}
	for i := range out {
		out[i] = src[a.position(i)]
	}
	return out
}
