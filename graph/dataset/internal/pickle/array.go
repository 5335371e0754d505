package pickle

import (
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"math"
	"strings"
)

// Type is a NumPy type: one of i4, i8, f4, f8, little-endian.
type Type struct {
	Name  string
	ready bool // BUILD has said that it is little-endian
}

func (t *Type) size() int {
	if t.Name[1] == '4' {
		return 4
	}
	return 8
}

// Array is a NumPy array of one or two dimensions.
type Array struct {
	Shape   []int
	Type    *Type
	fortran bool
	raw     io.ReaderAt // exactly the elements
	bytes   int64
}

// pickleMaxCols bounds the columns of a matrix, as package dataset bounds those of features.
const maxCols = 1 << 24

// CSR is a SciPy matrix; its arrays are nil until BUILD, and together not nil afterwards.
type CSR struct {
	Rows, Cols      int
	Indptr, Indices *Array
	Data            *Array
}

// object runs NEWOBJ, REDUCE and BUILD for the six known globals.
func (u *machine) object(op byte) error {
	arg, err := u.pop()
	if err != nil {
		return err
	}
	target, err := u.pop()
	if err != nil {
		return err
	}
	if op == 'b' {
		if err := build(target, arg); err != nil {
			return err
		}
		return u.push(target)
	}
	args, ok := arg.(tuple)
	name, isGlobal := target.(global)
	if !ok || !isGlobal {
		return errors.New("pickle makes an object of something that is no class")
	}
	v, err := construct(op, name, args)
	if err != nil {
		return err
	}
	return u.push(v)
}

// construct is what calling a global with args gives.
func construct(op byte, name global, args tuple) (any, error) {
	switch {
	case op == 0x81 && name == "scipy.sparse.csr csr_matrix" && len(args) == 0:
		return &CSR{}, nil
	case op == 'R' && name == "numpy.core.multiarray _reconstruct" && len(args) == 3 && args[0] == any(global("numpy ndarray")):
		return &Array{}, nil
	case op == 'R' && name == "collections defaultdict" && len(args) == 1 && args[0] == any(global("__builtin__ list")):
		return &Dict{}, nil
	case op == 'R' && name == "numpy dtype" && len(args) == 3:
		text, _ := args[0].(str)
		switch s := string(text); s {
		case "i4", "i8", "f4", "f8":
			return &Type{Name: s}, nil
		default:
			return nil, fmt.Errorf("array type %q; i4, i8, f4 and f8 can be read", s)
		}
	}
	return nil, fmt.Errorf("pickle calls %q in a way that Planetoid files do not", string(name))
}

// build gives an object its state.
func build(target, state any) error {
	switch o := target.(type) {
	case *Type:
		s, ok := state.(tuple)
		if !ok || len(s) < 2 {
			return errors.New("pickle gives an array type no state")
		}
		if order, _ := s[1].(str); string(order) != "<" {
			return fmt.Errorf("array of byte order %q, want little-endian", order)
		}
		o.ready = true
		return nil
	case *Array:
		return o.build(state)
	case *CSR:
		return o.build(state)
	}
	return errors.New("pickle sets the state of something that has none")
}

// build reads (version, shape, dtype, fortran, bytes).
func (a *Array) build(state any) error {
	s, ok := state.(tuple)
	if !ok || len(s) != 5 {
		return errors.New("array state is no tuple of five")
	}
	shape, ok1 := s[1].(tuple)
	typ, ok2 := s[2].(*Type)
	fortran, ok3 := s[3].(bool)
	raw, size, ok4 := bytesOf(s[4])
	if !ok1 || !ok2 || !ok3 || !ok4 || !typ.ready || len(shape) < 1 || len(shape) > 2 {
		return errors.New("array state is not (version, shape, type, order, bytes) with one or two dimensions")
	}
	dims := make([]int, len(shape))
	left := size / int64(typ.size()) // elements that are there; no dimension but a zero one may exceed it
	total := int64(1)
	for i, d := range shape {
		n, ok := d.(int64)
		if !ok || n < 0 || n > math.MaxInt32 {
			return errors.New("array shape is not made of whole numbers")
		}
		dims[i] = int(n)
		total *= n // at most 2⁶²
	}
	if total != left || size%int64(typ.size()) != 0 {
		return fmt.Errorf("array of shape %v and type %s has %d bytes", dims, typ.Name, size)
	}
	a.Shape, a.Type, a.fortran, a.raw, a.bytes = dims, typ, fortran, raw, size
	return nil
}

// build reads the attributes of a csr_matrix; those that do not matter are ignored.
func (m *CSR) build(state any) error {
	d, ok := state.(*Dict)
	if !ok {
		return errors.New("matrix state is no dict")
	}
	var shape tuple
	for i, k := range d.Keys {
		key, _ := k.(str)
		switch string(key) {
		case "format":
			if f, _ := d.Values[i].(str); string(f) != "csr" {
				return fmt.Errorf("matrix of format %q, want csr", f)
			}
		case "_shape":
			shape, _ = d.Values[i].(tuple)
		case "indptr":
			m.Indptr, _ = d.Values[i].(*Array)
		case "indices":
			m.Indices, _ = d.Values[i].(*Array)
		case "data":
			m.Data, _ = d.Values[i].(*Array)
		}
	}
	if len(shape) != 2 || m.Indptr == nil || m.Indices == nil || m.Data == nil {
		return errors.New("matrix lacks _shape, indptr, indices or data")
	}
	rows, ok1 := shape[0].(int64)
	cols, ok2 := shape[1].(int64)
	if !ok1 || !ok2 || rows < 0 || cols < 0 || rows >= math.MaxInt32 || cols > maxCols {
		return errors.New("matrix has a shape that is not two sensible numbers")
	}
	m.Rows, m.Cols = int(rows), int(cols)
	return nil
}

// bytesOf returns the bytes of a string.
func bytesOf(v any) (r io.ReaderAt, size int64, ok bool) {
	switch s := v.(type) {
	case str:
		return strings.NewReader(string(s)), int64(len(s)), true
	case blob:
		return io.NewSectionReader(s.file, s.begin, s.size), s.size, true
	}
	return nil, 0, false
}

// Len returns the number of elements.
func (a *Array) Len() int {
	if a.Type == nil {
		return 0
	}
	return int(a.bytes / int64(a.Type.size()))
}

// each calls visit with every element in file order, integers as value, floats as their bits, in the array's own width;
// place is where it stands in C order.
func (a *Array) each(visit func(place int, bits uint64) error) error {
	size := a.Type.size()
	buf := make([]byte, min(a.bytes, bufferSize))
	for i := 0; i < a.Len(); {
		part := buf[:min(int64(len(buf)), a.bytes-int64(i*size))]
		if got, err := a.raw.ReadAt(part, int64(i*size)); got < len(part) {
			return fmt.Errorf("read an array: %w", err)
		}
		for ; len(part) > 0; i, part = i+1, part[size:] {
			bits := uint64(binary.LittleEndian.Uint32(part))
			if size == 8 {
				bits = binary.LittleEndian.Uint64(part)
			} else if a.Type.Name == "i4" {
				bits = uint64(int32(bits))
			}
			if err := visit(a.place(i), bits); err != nil {
				return err
			}
		}
	}
	return nil
}

// EachInt is each for an array of integers.
func (a *Array) EachInt(visit func(place int, v int64) error) error {
	if a.Type == nil || a.Type.Name[0] != 'i' {
		return errors.New("array is not of integers")
	}
	return a.each(func(place int, bits uint64) error { return visit(place, int64(bits)) })
}

// EachFloat is each for any array, whose elements are rounded to float32.
func (a *Array) EachFloat(visit func(place int, v float32) error) error {
	if a.Type == nil {
		return errors.New("array has no type")
	}
	return a.each(func(place int, bits uint64) error {
		switch a.Type.Name {
		case "f4":
			return visit(place, math.Float32frombits(uint32(bits)))
		case "f8":
			return visit(place, float32(math.Float64frombits(bits)))
		}
		return visit(place, float32(int64(bits)))
	})
}

// place returns where element i of the file stands in C order.
func (a *Array) place(i int) int {
	if !a.fortran || len(a.Shape) < 2 {
		return i
	}
	return i/a.Shape[0] + i%a.Shape[0]*a.Shape[1]
}
