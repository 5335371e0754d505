package npy

import (
	"errors"
	"fmt"
	"io"
	"path/filepath"
	"reflect"

	"capgnn/internal/room"
)

const (
	chunkBytes = 1 << 16
	watchBytes = 1 << 20 // between two calls of a Watch
	// firstBytes and backedRatio times the compressed size are believed. What would inflate to more is inflated once before
	// memory is taken for it. Deflated index arrays inflate 2 to 10 times.
	firstBytes  = 4 << 20
	backedRatio = 16
)

// elementFault is a fault at an element of a chunk.
type elementFault struct {
	index int
	err   error
}

// stream calls chunk with all elements in file order, in pieces that are valid during the call only; i is the first one's
// number. It checks that the array ends where it should. An error of chunk is returned as it is.
func (a *Array) stream(chunk func(i int, src []byte) error) error {
	r, err := a.open()
	if err != nil {
		return a.fault(-1, err)
	}
	defer r.Close()
	if n, err := io.CopyN(io.Discard, r, a.DataOffset); err != nil {
		return a.fault(n, truncated(err))
	}
	n, size := a.Len(), max(a.DType.Size, 1)
	per := min(n, max(1, chunkBytes/size))
	buf := make([]byte, per*size)
	told := int64(0)
	for i := 0; i < n; i += per {
		k := min(per, n-i)
		begin := int64(i) * int64(size)
		if got, err := io.ReadFull(r, buf[:k*size]); err != nil {
			return a.fault(a.DataOffset+begin+int64(got), truncated(err))
		}
		if err := chunk(i, buf[:k*size]); err != nil {
			return err
		}
		if begin-told >= watchBytes {
			told = begin
			if err := a.tell(begin); err != nil {
				return err
			}
		}
	}
	// The end must follow at once; an archive verifies the member's checksum here.
	if got, err := io.ReadFull(r, make([]byte, 1)); err != io.EOF || got != 0 {
		if err == nil {
			err = errors.New("bytes after the array")
		}
		return a.fault(a.DataOffset+a.Bytes(), err)
	}
	return a.tell(a.Bytes())
}

func (a *Array) tell(done int64) error {
	if a.watch == nil {
		return nil
	}
	name := a.member
	if name == "" {
		name = filepath.Base(a.file)
	}
	return a.watch(name, done, a.Bytes())
}

// Afford makes sure that bytes of memory for the elements can be had and are no mere claim: what compression cannot be
// believed about is inflated once, without keeping it. The accessors call it themselves; EachInt64 and EachFloat64, which
// keep nothing, do not.
func (a *Array) Afford(bytes int64) error {
	if err := room.For(bytes); err != nil {
		return a.fault(-1, fmt.Errorf("shape %v: %w", a.Shape, err))
	}
	if a.Bytes() > firstBytes+backedRatio*a.backed {
		silent := *a
		silent.watch = nil
		return silent.stream(func(int, []byte) error { return nil })
	}
	return nil
}

// read decodes all elements into C order.
func read[T any](a *Array, dec func(dst []T, src []byte) *elementFault) ([]T, error) {
	n, size := a.Len(), a.DType.Size
	if int64(n) > (1<<62)/int64(reflect.TypeFor[T]().Size()) {
		return nil, a.fault(-1, fmt.Errorf("shape %v is too large for this machine", a.Shape))
	}
	if err := a.Afford(int64(n) * int64(reflect.TypeFor[T]().Size())); err != nil {
		return nil, err
	}
	out := make([]T, n)
	turned := a.Fortran && len(a.Shape) > 1
	var part []T
	err := a.stream(func(i int, src []byte) error {
		k := len(src) / max(size, 1)
		dst := out[i : i+k]
		if turned {
			if part == nil {
				part = make([]T, k)
			}
			dst = part[:k]
		}
		if f := dec(dst, src); f != nil {
			return a.fault(a.DataOffset+int64(i+f.index)*int64(size), f.err)
		}
		if turned {
			a.scatter(i, k, func(from, to int) { out[to] = part[from] })
		}
		return nil
	})
	if err != nil {
		return nil, err
	}
	return out, nil
}

// scatter calls move for k elements of a Fortran-order array from element i of the file on: from counts them, to is where
// each stands in C order.
func (a *Array) scatter(i, k int, move func(from, to int)) {
	stride := make([]int, len(a.Shape)) // of the C order
	index := make([]int, len(a.Shape))
	to, step := 0, 1
	for d := len(a.Shape) - 1; d >= 0; d-- {
		stride[d] = step
		step *= a.Shape[d]
	}
	for d, left := 0, i; d < len(a.Shape); d++ {
		index[d] = left % a.Shape[d]
		left /= a.Shape[d]
		to += index[d] * stride[d]
	}
	for from := range k {
		move(from, to)
		for d := range a.Shape {
			to += stride[d]
			if index[d]++; index[d] < a.Shape[d] {
				break
			}
			to -= index[d] * stride[d]
			index[d] = 0
		}
	}
}
