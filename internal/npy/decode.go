package npy

import (
	"encoding/binary"
	"fmt"
	"math"
	"strings"
	"unicode/utf8"
)

// unpickled says what to save in place of Python objects, by what is wanted.
var unpickled = map[string]string{
	"text":                   "save texts with numpy.array(x, dtype=str), whole numbers with .astype(\"<i8\")",
	"bool":                   "save it with .astype(bool)",
	"numbers":                "save it with a plain type, numbers with .astype(\"<f4\")",
	"32-bit integers":        "save it with .astype(\"<i4\")",
	"64-bit integers":        "save whole numbers with .astype(\"<i8\"), names with numpy.unique(x.astype(str), return_inverse=True)[1]",
	"integers from 0 to 255": "save it with .astype(\"u1\")",
}

// want refuses an accessor for the array's type, and says what to do.
func (a *Array) want(what string) error {
	cure := ""
	switch d := a.DType; {
	case d.Kind == 'O':
		return a.fault(-1, fmt.Errorf("is an array of pickled Python objects, which are not read; %s", unpickled[what]))
	case what == "bool":
		cure = ": save it with .astype(bool)"
	case d.Kind == 'U' || d.Kind == 'S':
		cure = "; of names save numpy.unique(names, return_inverse=True)[1]"
	case d.Kind == 'V' && d.Size == 2:
		cure = "; numbers of bfloat16 are saved with .astype(\"<f4\")"
	case d.Kind == 'c':
		cure = "; of complex numbers save .real or abs()"
	case d.Kind == 'f' && d.Size > 8:
		cure = "; save it with .astype(\"<f8\")"
	case d.Kind == 'f':
		cure = "; if they are whole, save it with .astype(\"<i8\"), after numpy.nan_to_num(…, nan=-1) where some are not known"
	}
	return a.fault(-1, fmt.Errorf("holds elements of type %v, want %s%s", a.DType, what, cure))
}

// Float16 returns an IEEE 754 binary16 number, exactly.
func Float16(h uint16) float32 {
	sign, exponent, fraction := uint32(h>>15)<<31, uint32(h>>10)&31, uint32(h)&1023
	switch exponent {
	case 0: // zero and subnormal: fraction times 2^-24
		v := float32(fraction) * 0x1p-24
		return math.Float32frombits(math.Float32bits(v) | sign)
	case 31:
		return math.Float32frombits(sign | 0xff<<23 | fraction<<13)
	}
	return math.Float32frombits(sign | (exponent+127-15)<<23 | fraction<<13)
}

// floatAt returns the function that reads element i of a float type; nil: not one.
func floatAt(d DType) func(src []byte, i int) float64 {
	le := binary.LittleEndian
	switch d {
	case DType{'f', 2}:
		return func(src []byte, i int) float64 { return float64(Float16(le.Uint16(src[2*i:]))) }
	case DType{'f', 4}:
		return func(src []byte, i int) float64 { return float64(math.Float32frombits(le.Uint32(src[4*i:]))) }
	case DType{'f', 8}:
		return func(src []byte, i int) float64 { return math.Float64frombits(le.Uint64(src[8*i:])) }
	}
	return nil
}

// Float32 returns the elements of a float, integer or bool array in C order. Larger types are rounded; a finite value
// that does not fit is an error. NaN and infinity pass.
func (a *Array) Float32() ([]float32, error) {
	if a.DType == (DType{'f', 4}) {
		return read(a, func(dst []float32, src []byte) *elementFault {
			for i := range dst {
				dst[i] = math.Float32frombits(binary.LittleEndian.Uint32(src[4*i:]))
			}
			return nil
		})
	}
	if at := floatAt(a.DType); at != nil {
		return read(a, func(dst []float32, src []byte) *elementFault {
			for i := range dst {
				v := at(src, i)
				dst[i] = float32(v)
				if math.IsInf(float64(dst[i]), 0) && !math.IsInf(v, 0) {
					return &elementFault{i, fmt.Errorf("value %g does not fit float32", v)}
				}
			}
			return nil
		})
	}
	return readInts(a, "numbers", func(v int64) (float32, bool) { return float32(v), true })
}

// Float64 returns the elements of a float, integer or bool array in C order.
func (a *Array) Float64() ([]float64, error) {
	if at := floatAt(a.DType); at != nil {
		return read(a, func(dst []float64, src []byte) *elementFault {
			for i := range dst {
				dst[i] = at(src, i)
			}
			return nil
		})
	}
	return readInts(a, "numbers", func(v int64) (float64, bool) { return float64(v), true })
}

// Int32 returns the elements of an integer or bool array in C order; a value that does not fit is an error.
func (a *Array) Int32() ([]int32, error) {
	if a.DType == (DType{'i', 4}) {
		return read(a, func(dst []int32, src []byte) *elementFault {
			for i := range dst {
				dst[i] = int32(binary.LittleEndian.Uint32(src[4*i:]))
			}
			return nil
		})
	}
	return readInts(a, "32-bit integers", func(v int64) (int32, bool) { return int32(v), int64(int32(v)) == v })
}

// Int64 returns the elements of an integer or bool array in C order; a value that does not fit is an error.
func (a *Array) Int64() ([]int64, error) {
	if a.DType == (DType{'i', 8}) {
		return read(a, func(dst []int64, src []byte) *elementFault {
			for i := range dst {
				dst[i] = int64(binary.LittleEndian.Uint64(src[8*i:]))
			}
			return nil
		})
	}
	return readInts(a, "64-bit integers", func(v int64) (int64, bool) { return v, true })
}

// Uint8 returns the elements of an integer or bool array in C order; a value outside 0 to 255 is an error.
func (a *Array) Uint8() ([]uint8, error) {
	return readInts(a, "integers from 0 to 255", func(v int64) (uint8, bool) { return uint8(v), v == int64(uint8(v)) })
}

// Bool returns the elements of a bool array, or of one of 8-bit integers that are all 0 or 1, in C order.
func (a *Array) Bool() ([]bool, error) {
	if a.DType.Size != 1 {
		return nil, a.want("bool")
	}
	return readInts(a, "bool (0 or 1)", func(v int64) (bool, bool) { return v != 0, v == 0 || v == 1 })
}

// Strings returns the elements of an S (bytes) or U (UTF-32) array in C order, without the zeros that pad them.
func (a *Array) Strings() ([]string, error) {
	switch a.DType.Kind {
	case 'S':
		return read(a, func(dst []string, src []byte) *elementFault {
			size := a.DType.Size
			for i := range dst {
				dst[i] = strings.TrimRight(string(src[size*i:size*(i+1)]), "\x00")
			}
			return nil
		})
	case 'U':
		return read(a, func(dst []string, src []byte) *elementFault {
			text := make([]byte, 0, a.DType.Size)
			for i := range dst {
				text = text[:0]
				for o := a.DType.Size * i; o < a.DType.Size*(i+1); o += 4 {
					c := binary.LittleEndian.Uint32(src[o:])
					if c > utf8.MaxRune || !utf8.ValidRune(rune(c)) {
						return &elementFault{i, fmt.Errorf("%#x is not a Unicode code point", c)}
					}
					text = utf8.AppendRune(text, rune(c))
				}
				dst[i] = strings.TrimRight(string(text), "\x00")
			}
			return nil
		})
	}
	return nil, a.want("text")
}

// readInts decodes any integer or bool type through conv, which says whether the value fits.
func readInts[T any](a *Array, what string, conv func(int64) (T, bool)) ([]T, error) {
	at := intAt(a.DType)
	if at == nil {
		return nil, a.want(what)
	}
	return read(a, func(dst []T, src []byte) *elementFault {
		for i := range dst {
			v, ok := at(src, i)
			if ok {
				dst[i], ok = conv(v)
			}
			if !ok {
				return &elementFault{i, fmt.Errorf("value %d; want %s", v, what)}
			}
		}
		return nil
	})
}

// intAt returns the function that reads element i as an int64; its flag is false for a bool that is neither 0 nor 1 and
// for an unsigned value above the largest int64. nil: not an integer type.
func intAt(d DType) func(src []byte, i int) (int64, bool) {
	le := binary.LittleEndian
	switch d {
	case DType{'b', 1}:
		return func(src []byte, i int) (int64, bool) { return int64(src[i]), src[i] <= 1 }
	case DType{'i', 1}:
		return func(src []byte, i int) (int64, bool) { return int64(int8(src[i])), true }
	case DType{'u', 1}:
		return func(src []byte, i int) (int64, bool) { return int64(src[i]), true }
	case DType{'i', 2}:
		return func(src []byte, i int) (int64, bool) { return int64(int16(le.Uint16(src[2*i:]))), true }
	case DType{'u', 2}:
		return func(src []byte, i int) (int64, bool) { return int64(le.Uint16(src[2*i:])), true }
	case DType{'i', 4}:
		return func(src []byte, i int) (int64, bool) { return int64(int32(le.Uint32(src[4*i:]))), true }
	case DType{'u', 4}:
		return func(src []byte, i int) (int64, bool) { return int64(le.Uint32(src[4*i:])), true }
	case DType{'i', 8}:
		return func(src []byte, i int) (int64, bool) { return int64(le.Uint64(src[8*i:])), true }
	case DType{'u', 8}:
		return func(src []byte, i int) (int64, bool) { v := int64(le.Uint64(src[8*i:])); return v, v >= 0 }
	}
	return nil
}
