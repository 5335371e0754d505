package npy

import (
	"fmt"
	"io"
)

// Row returns row i of an array of several dimensions in C order, as an array of one dimension less. Its accessors pass over what lies
// before it; only those of the last row see the end of the array, and with it what is wrong there.
func (a *Array) Row(i int) (*Array, error) {
	if len(a.Shape) < 2 || a.Fortran || i < 0 || i >= a.Shape[0] {
		return nil, a.fault(-1, fmt.Errorf("has shape %v: there is no row %d", a.Shape, i))
	}
	row := *a
	row.Shape = a.Shape[1:]
	row.DataOffset += int64(i) * row.Bytes()
	if i < a.Shape[0]-1 {
		end := row.DataOffset + row.Bytes()
		row.open = func() (io.ReadCloser, error) {
			r, err := a.open()
			return limited{io.LimitReader(r, end), r}, err
		}
	}
	return &row, nil
}

// limited reads a part of a file.
type limited struct {
	io.Reader
	io.Closer
}
