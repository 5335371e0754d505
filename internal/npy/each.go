package npy

import "errors"

// EachFloat64 calls visit with the elements of a float, integer or bool array, in C order and in pieces; i is the index of
// the first element of a piece, which is valid during the call only. No memory is held beyond a piece, except for arrays
// of several dimensions in Fortran order, which are read as a whole. An error of visit ends the reading and is returned.
func (a *Array) EachFloat64(visit func(i int, v []float64) error) error {
	if a.Fortran && len(a.Shape) > 1 {
		return whole(a.Float64, visit)
	}
	if at := floatAt(a.DType); at != nil {
		return pieces(a, visit, func(src []byte, i int) (float64, bool) { return at(src, i), true }, "numbers")
	}
	at := intAt(a.DType)
	if at == nil {
		return a.want("numbers")
	}
	return pieces(a, visit, func(src []byte, i int) (float64, bool) {
		v, ok := at(src, i)
		return float64(v), ok
	}, "numbers")
}

// EachInt64 is EachFloat64 for integer and bool arrays.
func (a *Array) EachInt64(visit func(i int, v []int64) error) error {
	if a.Fortran && len(a.Shape) > 1 {
		return whole(a.Int64, visit)
	}
	return pieces(a, visit, intAt(a.DType), "64-bit integers")
}

func whole[T any](read func() ([]T, error), visit func(i int, v []T) error) error {
	v, err := read()
	if err != nil {
		return err
	}
	return visit(0, v)
}

// pieces reads the elements in file order through at, which says whether an element is one of what.
func pieces[T any](a *Array, visit func(i int, v []T) error, at func(src []byte, i int) (T, bool), what string) error {
	if at == nil {
		return a.want(what)
	}
	size := a.DType.Size
	out := make([]T, min(a.Len(), chunkBytes/size))
	return a.stream(func(i int, src []byte) error {
		k := len(src) / size
		for j := range k {
			var ok bool
			if out[j], ok = at(src, j); !ok {
				return a.fault(a.DataOffset+int64(i+j)*int64(size), errors.New("value is not one of the "+what+" that can be read"))
			}
		}
		return visit(i, out[:k])
	})
}
