package npy

import (
	"errors"
	"fmt"
	"io"

	"capgnn/internal/regular"
)

// Array is a header and where its elements lie. Its accessors read the file each time they are called.
type Array struct {
	Header
	file, member string
	backed       int64 // bytes in the file that hold this array, compressed where it is
	open         func() (io.ReadCloser, error)
	watch        Watch
}

// Watch is told how many bytes of an array have been read, of how many, about every MiB and at its end. An error of it ends
// the reading and is returned as it is. name is the array's file, or the name of the member.
type Watch func(name string, done, total int64) error

// Watch makes the accessors report to w.
func (a *Array) Watch(w Watch) { a.watch = w }

// Open reads the header of a .npy file. The file is opened again by each accessor.
func Open(path string) (*Array, error) {
	f, err := regular.Open(path)
	if err != nil {
		return nil, err
	}
	info, err := f.Stat()
	if err := errors.Join(err, f.Close()); err != nil {
		return nil, err
	}
	open := func() (io.ReadCloser, error) { return regular.Open(path) }
	return newArray(path, "", info.Size(), info.Size(), open)
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
