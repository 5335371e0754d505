package npy

import (
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"math"
	"strconv"
	"strings"
)

const (
	magic = "\x93NUMPY"
	// maxHeader bounds the dict of a header, in bytes. NumPy itself refuses more than 10,000 by default.
	maxHeader = 1 << 16
	// maxDims is NumPy's own limit on dimensions (NPY_MAXDIMS was 32, is 64).
	maxDims = 64
	// maxItem bounds one element of an S or U array, in bytes.
	maxItem = 1 << 20
)

// DType is the type of an array's elements, always little-endian.
type DType struct {
	Kind byte // 'f' float, 'i' int, 'u' unsigned, 'b' bool, 'S' bytes, 'U' UTF-32 text, 'O' pickled object, or another of NumPy's
	Size int  // bytes per element; 0 for 'O'
}

// String returns NumPy's name, such as "<f4".
func (d DType) String() string {
	switch {
	case d.Kind == 'O':
		return "|O"
	case d.Kind == 'U':
		return "<U" + strconv.Itoa(d.Size/4)
	case d.Size == 1 || d.Kind == 'S':
		return "|" + string(d.Kind) + strconv.Itoa(d.Size)
	}
	return "<" + string(d.Kind) + strconv.Itoa(d.Size)
}

// Header describes an array.
type Header struct {
	DType   DType
	Shape   []int // empty for a scalar; the product of the dimensions and of the element size fits an int64
	Fortran bool  // the first index runs fastest in the file
	// DataOffset is where the elements begin, in bytes from the array's first byte.
	DataOffset int64
}

// Len returns the number of elements: 1 for a scalar.
func (h *Header) Len() int {
	n := 1
	for _, d := range h.Shape {
		n *= d
	}
	return n
}

// Bytes returns the size of the elements in the file.
func (h *Header) Bytes() int64 { return int64(h.Len()) * int64(h.DType.Size) }

// readHeader reads a header from the first byte of an array. On a fault it also returns the byte at which it was seen.
func readHeader(r io.Reader) (Header, int64, error) {
	var fixed [12]byte
	if n, err := io.ReadFull(r, fixed[:10]); err != nil {
		return Header{}, int64(n), truncated(err)
	}
	if string(fixed[:6]) != magic {
		return Header{}, 0, errors.New("is not a .npy array (the first bytes are not \\x93NUMPY)")
	}
	size, start := int64(binary.LittleEndian.Uint16(fixed[8:10])), int64(10)
	switch fixed[6] {
	case 1:
	case 2, 3:
		if n, err := io.ReadFull(r, fixed[10:12]); err != nil {
			return Header{}, int64(10 + n), truncated(err)
		}
		size, start = int64(binary.LittleEndian.Uint32(fixed[8:12])), 12
	default:
		return Header{}, 6, fmt.Errorf("version %d.%d of the .npy format; versions 1 to 3 can be read", fixed[6], fixed[7])
	}
	if size > maxHeader {
		return Header{}, 8, fmt.Errorf("header of %d bytes; at most %d are read", size, maxHeader)
	}
	text := make([]byte, size)
	if n, err := io.ReadFull(r, text); err != nil {
		return Header{}, start + int64(n), truncated(err)
	}
	h, at, err := parseHeader(string(text))
	h.DataOffset = start + size
	return h, start + int64(at), err
}

func truncated(err error) error {
	if err == io.EOF || errors.Is(err, io.ErrUnexpectedEOF) {
		return errors.New("the file ends here: truncated")
	}
	return err
}

// parseDescr reads a type name such as "<f4".
func parseDescr(s string) (DType, error) {
	kind, order := s, byte('|')
	if s != "" && strings.IndexByte("<>|=", s[0]) >= 0 {
		order, kind = s[0], s[1:]
	}
	if kind == "O" || kind == "O8" {
		return DType{Kind: 'O'}, nil
	}
	if kind == "" {
		return DType{}, fmt.Errorf("type %q is unknown", s)
	}
	size, err := strconv.Atoi(kind[1:])
	if err != nil || size < 0 || size > maxItem {
		return DType{}, fmt.Errorf("type %q is unknown", s)
	}
	if kind[0] == 'U' {
		size *= 4
	}
	if order == '>' && (size > 1 && kind[0] != 'S') {
		return DType{}, fmt.Errorf("type %q is big-endian; convert it with .astype(%q)", s, "<"+kind)
	}
	return DType{Kind: kind[0], Size: size}, nil
}

// checkShape refuses dimensions whose product overflows.
func checkShape(shape []int, size int) error {
	if len(shape) > maxDims {
		return fmt.Errorf("%d dimensions; at most %d are read", len(shape), maxDims)
	}
	total := int64(max(size, 1))
	for _, d := range shape {
		if d < 0 {
			return fmt.Errorf("shape %v has a negative dimension", shape)
		}
		if d > 0 && total > math.MaxInt64/int64(d) {
			return fmt.Errorf("shape %v is too large to exist", shape)
		}
		total *= int64(d)
	}
	if total > math.MaxInt {
		return fmt.Errorf("shape %v is too large for this machine", shape)
	}
	return nil
}

// appendHeader appends the header that NumPy writes for a C-order array: version 1.0, elements at a multiple of 64 bytes.
func appendHeader(b []byte, descr string, shape []int) []byte {
	var dims strings.Builder
	for _, d := range shape {
		dims.WriteString(strconv.Itoa(d) + ", ")
	}
	list := strings.TrimSuffix(dims.String(), " ")
	if len(shape) > 1 {
		list = strings.TrimSuffix(list, ",")
	}
	dict := "{'descr': '" + descr + "', 'fortran_order': False, 'shape': (" + list + "), }"
	pad := 63 - (10+len(dict))%64
	b = append(b, magic+"\x01\x00"...)
	b = binary.LittleEndian.AppendUint16(b, uint16(len(dict)+pad+1))
	return append(b, dict+strings.Repeat(" ", pad)+"\n"...)
}
