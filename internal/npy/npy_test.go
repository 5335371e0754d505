package npy

import (
	"bytes"
	"encoding/binary"
	"errors"
	"io"
	"math"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"
)

// raw builds a .npy of the given version around a header text, padded like NumPy's, and data.
func raw(version byte, header string, data ...byte) []byte {
	b := []byte(magic + string(version) + "\x00")
	if version == 1 {
		b = binary.LittleEndian.AppendUint16(b, uint16(len(header)))
	} else {
		b = binary.LittleEndian.AppendUint32(b, uint32(len(header)))
	}
	return append(append(b, header...), data...)
}

// readAt reads the header of the .npy array that fills r, of size bytes. name stands for the file in errors.
func readAt(r io.ReaderAt, size int64, name string) (*Array, error) {
	open := func() (io.ReadCloser, error) { return io.NopCloser(io.NewSectionReader(r, 0, size)), nil }
	return newArray(name, "", size, size, open)
}

func parse(b []byte) (*Array, error) { return readAt(bytes.NewReader(b), int64(len(b)), "t.npy") }

func TestRoundTrip(t *testing.T) {
	long := make([]float32, 3*chunkBytes/4+1)
	for i := range long {
		long[i] = float32(i)
	}
	cases := []struct {
		name  string
		shape []int
		data  any
		dtype string
		get   func(a *Array) (any, error)
	}{
		{"float32", []int{2, 2}, []float32{1, -2.5, float32(math.Inf(1)), 3e-45}, "<f4", func(a *Array) (any, error) { return a.Float32() }},
		{"float64", nil, []float64{math.Pi, -1e300}, "<f8", func(a *Array) (any, error) { return a.Float64() }},
		{"int8", nil, []int8{-128, 127}, "|i1", func(a *Array) (any, error) { v, err := a.Int32(); return []int8{int8(v[0]), int8(v[1])}, err }},
		{"uint8", []int{1, 3}, []uint8{0, 1, 255}, "|u1", func(a *Array) (any, error) { return a.Uint8() }},
		{"int32", []int{3}, []int32{math.MinInt32, 0, math.MaxInt32}, "<i4", func(a *Array) (any, error) { return a.Int32() }},
		{"int64", []int{}, []int64{math.MinInt64}, "<i8", func(a *Array) (any, error) { return a.Int64() }},
		{"bool", nil, []bool{true, false, true}, "|b1", func(a *Array) (any, error) { return a.Bool() }},
		{"text", nil, []string{"Zürich", "", "β𝛼"}, "<U6", func(a *Array) (any, error) { return a.Strings() }},
		{"nothing", []int{0, 7}, []float32{}, "<f4", func(a *Array) (any, error) { return a.Float32() }},
		{"many chunks", nil, long, "<f4", func(a *Array) (any, error) { return a.Float32() }},
	}
	var entries []Entry
	for _, c := range cases {
		entries = append(entries, Entry{"dir/" + c.name, c.shape, c.data})
	}
	path := filepath.Join(t.TempDir(), "all.npz")
	for _, how := range []Archiving{{}, {Deflate: true}, {Sort: true}} {
		if err := WriteArchiveFile(path, entries, how); err != nil {
			t.Fatal(err)
		}
		z, err := OpenArchive(path)
		if err != nil {
			t.Fatal(err)
		}
		for _, c := range cases {
			var b bytes.Buffer
			if err := Write(&b, c.shape, c.data); err != nil {
				t.Fatalf("%s: %v", c.name, err)
			}
			plain, err1 := parse(b.Bytes())
			member, err2 := z.Array("dir/" + c.name)
			if err1 != nil || err2 != nil {
				t.Fatalf("%s: %v, %v", c.name, err1, err2)
			}
			for _, a := range []*Array{plain, member} {
				if got := a.DType.String(); got != c.dtype || a.DataOffset%64 != 0 {
					t.Errorf("%s: type %s at %d, want %s at a multiple of 64", c.name, got, a.DataOffset, c.dtype)
				}
				if c.shape != nil && !reflect.DeepEqual(a.Shape, c.shape) {
					t.Errorf("%s: shape %v, want %v", c.name, a.Shape, c.shape)
				}
				got, err := c.get(a)
				if err != nil || !reflect.DeepEqual(got, c.data) {
					t.Errorf("%s: got %.60v, %v, want %.60v", c.name, got, err, c.data)
				}
			}
		}
		z.Close()
	}
}

func TestHeadersOfOthers(t *testing.T) {
	i2 := []byte{1, 0, 0xfe, 0xff}
	cases := []struct {
		name string
		file []byte
		want []int64
	}{
		{"python 2 longs, double quotes", raw(1, `{"descr": "<i2", "fortran_order": False, "shape": (2L,), }`+"\n", i2...), []int64{1, -2}},
		{"version 2", raw(2, "{'descr': '<i2', 'fortran_order': False, 'shape': (2,)}", i2...), []int64{1, -2}},
		{"version 3, keys in another order", raw(3, "{'shape':(2,),'descr':'<i2','fortran_order':True}  ", i2...), []int64{1, -2}},
		{"u2", raw(1, "{'descr': '<u2', 'fortran_order': False, 'shape': (1, 2), }", i2...), []int64{1, 65534}},
		{"big-endian of one byte", raw(1, "{'descr': '>i1', 'fortran_order': False, 'shape': (), }", 0x80), []int64{-128}},
		{"u8", raw(1, "{'descr': '<u8', 'fortran_order': False, 'shape': (1,), }", 7, 0, 0, 0, 0, 0, 0, 0x70), []int64{0x7000000000000007}},
		{"fortran matrix", raw(1, "{'descr': '|i1', 'fortran_order': True, 'shape': (2, 3), }", 0, 10, 1, 11, 2, 12), []int64{0, 1, 2, 10, 11, 12}},
		{"fortran cube", raw(1, "{'descr': '|u1', 'fortran_order': True, 'shape': (2, 2, 2), }", 0, 100, 10, 110, 1, 101, 11, 111), []int64{0, 1, 10, 11, 100, 101, 110, 111}},
	}
	for _, c := range cases {
		a, err := parse(c.file)
		if err != nil {
			t.Errorf("%s: %v", c.name, err)
			continue
		}
		if got, err := a.Int64(); err != nil || !reflect.DeepEqual(got, c.want) {
			t.Errorf("%s: got %v, %v, want %v", c.name, got, err, c.want)
		}
	}
}

func TestBytesText(t *testing.T) {
	a, err := parse(raw(1, "{'descr': '|S3', 'fortran_order': False, 'shape': (2,), }", []byte("csra\x00\x00")...))
	if err != nil {
		t.Fatal(err)
	}
	if got, err := a.Strings(); err != nil || !reflect.DeepEqual(got, []string{"csr", "a"}) {
		t.Errorf("got %q, %v", got, err)
	}
}

func TestFaults(t *testing.T) {
	h := func(descr, shape string) string {
		return "{'descr': '" + descr + "', 'fortran_order': False, 'shape': " + shape + ", }"
	}
	bool2 := raw(1, h("|b1", "(2,)"), 1, 2)
	any1 := func(a *Array) error { _, err := a.Int64(); return err }
	cases := []struct {
		name, want string
		offset     int64
		file       []byte
		get        func(a *Array) error
	}{
		{"empty file", "truncated", 0, nil, any1},
		{"not npy", "not a .npy", 0, []byte("PK\x03\x04 and so on"), any1},
		{"version", "version 9.0", 6, raw(9, h("<i8", "()")), any1},
		{"long header", "header of", 8, append([]byte(magic+"\x02\x00\xff\xff\xff\x7f"), "{'descr'"...), any1},
		{"header cut", "truncated", 14, raw(1, h("<i8", "()"))[:14], any1},
		{"no dict", "Python dict", 10, raw(1, "(1, 2)"), any1},
		{"key missing", "lacks", -2, raw(1, "{'descr': '<i8', 'shape': ()}"), any1},
		{"key twice", "twice", -2, raw(1, "{'descr': '<i8', 'descr': '<i8', 'shape': ()}"), any1},
		{"structured", "structured", -2, raw(1, "{'descr': [('a', '<i8')], 'fortran_order': False, 'shape': ()}"), any1},
		{"big-endian", "big-endian", -2, raw(1, h(">i8", "()")), any1},
		{"huge shape", "too large", -2, raw(1, h("<i8", "(4294967296, 4294967296)")), any1},
		{"beyond int", "whole numbers", -2, raw(1, h("<i8", "(99999999999999999999,)")), any1},
		{"negative", "whole numbers", -2, raw(1, h("<i8", "(-1,)")), any1},
		{"sizeless", "no size", 0, raw(1, h("|S0", "(1000000000,)")), any1},
		{"truncated", "truncated: shape [1000000000000]", -2, raw(1, h("|u1", "(1000000000000,)"), 1, 2, 3), any1},
		{"too long", "2 bytes too many", -2, raw(1, h("|u1", "(1,)"), 1, 2, 3), any1},
		{"objects", "pickled Python objects", -1, raw(1, h("|O", "(5,)"), 0x80, 2), any1},
		{"complex", "<c16, want 64-bit integers; of complex numbers save .real or abs()", -1, raw(1, h("<c16", "(0,)")), any1},
		{"bfloat16", `<V2, want numbers; numbers of bfloat16 are saved with .astype("<f4")`, -1, raw(1, h("<V2", "(1,)"), 0, 0), func(a *Array) error { _, err := a.Float32(); return err }},
		{"long double", `<f16, want numbers; save it with .astype("<f8")`, -1, raw(1, h("<f16", "(0,)")), func(a *Array) error { return a.EachFloat64(nil) }},
		{"big-endian float16", `big-endian; convert it with .astype("<f2")`, -2, raw(1, h(">f2", "(0,)")), any1},
		{"floats as integers", "want 64-bit integers", -1, raw(1, h("<f4", "(1,)"), 0, 0, 0, 0), any1},
		{"bool of 2", "want bool", int64(len(bool2) - 1), bool2, func(a *Array) error { _, err := a.Bool(); return err }},
		{"too big for int32", "want 32-bit", -2, raw(1, h("<u4", "(1,)"), 0, 0, 0, 0x80), func(a *Array) error { _, err := a.Int32(); return err }},
		{"too big for float32", "does not fit", -2, raw(1, h("<f8", "(1,)"), 0, 0, 0, 0, 0, 0, 0, 0x7f), func(a *Array) error { _, err := a.Float32(); return err }},
		{"surrogate", "code point", -2, raw(1, h("<U1", "(1,)"), 0, 0xd8, 0, 0), func(a *Array) error { _, err := a.Strings(); return err }},
	}
	for _, c := range cases {
		a, err := parse(c.file)
		if err == nil {
			err = c.get(a)
		}
		var f *FormatError
		if !errors.As(err, &f) || !strings.Contains(err.Error(), c.want) || strings.Contains(err.Error(), "\n") {
			t.Errorf("%s: got %v, want a FormatError with %q", c.name, err, c.want)
			continue
		}
		if c.offset != -2 && f.Offset != c.offset {
			t.Errorf("%s: at byte %d, want %d (%v)", c.name, f.Offset, c.offset, err)
		}
	}
}

// TestFloat16 reads every number of 16 bits as what it stands for, in every way of reading, and in both orders.
func TestFloat16(t *testing.T) {
	const all = 1 << 16
	data := make([]byte, 2*all)
	for i := range all {
		binary.LittleEndian.PutUint16(data[2*i:], uint16(i))
	}
	want := func(h int) float64 {
		sign, exponent, fraction := 1-2*float64(h>>15), h>>10&31, float64(h&1023)
		switch exponent {
		case 0:
			return sign * fraction * math.Pow(2, -24)
		case 31:
			return sign * math.Inf(1) // or NaN
		}
		return sign * (1024 + fraction) * math.Pow(2, float64(exponent-25))
	}
	for order, file := range map[string][]byte{"C": raw(1, "{'descr': '<f2', 'fortran_order': False, 'shape': (2, 32768), }", data...), "Fortran": raw(1, "{'descr': '<f2', 'fortran_order': True, 'shape': (32768, 2), }", data...)} {
		a, err := parse(file)
		if err != nil {
			t.Fatal(err)
		}
		single, err1 := a.Float32()
		double, err2 := a.Float64()
		var pieces []float64
		err3 := a.EachFloat64(func(_ int, v []float64) error { pieces = append(pieces, v...); return nil })
		if err1 != nil || err2 != nil || err3 != nil || len(single) != all || len(double) != all || len(pieces) != all {
			t.Fatal(err1, err2, err3, len(single), len(double), len(pieces))
		}
		for i := range all {
			h := i
			if order == "Fortran" {
				h = i/2 + i%2*32768
			}
			v := want(h)
			if nan := h>>10&31 == 31 && h&1023 != 0; nan {
				if single[i] == single[i] || double[i] == double[i] || pieces[i] == pieces[i] {
					t.Fatalf("%s: %#x is %g, want NaN", order, h, single[i])
				}
			} else if float64(single[i]) != v || double[i] != v || pieces[i] != v || math.Signbit(double[i]) != (h>>15 == 1) {
				t.Fatalf("%s: %#x is %g, %g, %g, want %g", order, h, single[i], double[i], pieces[i], v)
			}
		}
	}
}

// TestTruncation cuts a file at every byte: each must be an error with the place.
func TestTruncation(t *testing.T) {
	var b bytes.Buffer
	if err := Write(&b, []int{3, 2}, []float32{1, 2, 3, 4, 5, 6}); err != nil {
		t.Fatal(err)
	}
	for n := range b.Len() {
		var f *FormatError
		if _, err := parse(b.Bytes()[:n]); !errors.As(err, &f) || f.Offset < 0 || f.Offset > int64(n) {
			t.Errorf("cut at %d: %v", n, err)
		}
	}
}

func TestFaultOffset(t *testing.T) {
	a, err := parse(raw(1, "{'descr': '|u1', 'fortran_order': True, 'shape': (2, 3), }", 0, 10, 1, 11, 2, 12))
	if err != nil {
		t.Fatal(err)
	}
	var f *FormatError
	// Element 1 of the C order is (0, 1): byte 2 of the data.
	if err := a.Fault(1, errors.New("x")); !errors.As(err, &f) || f.Offset != a.DataOffset+2 {
		t.Errorf("got %v, want byte %d", err, a.DataOffset+2)
	}
}

func TestWriteRefuses(t *testing.T) {
	var b bytes.Buffer
	if err := Write(&b, []int{2}, []float32{1}); err == nil {
		t.Error("shape [2] with one element was written")
	}
	if err := Write(&b, nil, []complex64{1}); err == nil {
		t.Error("complex64 was written")
	}
	if err := WriteArchive(&b, []Entry{{"a", nil, []bool{}}, {"a", nil, []bool{}}}, Archiving{}); err == nil {
		t.Error("a key was written twice")
	}
	path := filepath.Join(t.TempDir(), "a.npy")
	if err := WriteFile(path, []int{2}, []float32{1}); err == nil {
		t.Error("shape [2] with one element was written to a file")
	}
	if _, err := os.Stat(path); err == nil {
		t.Error("a half-written file was left")
	}
}

func FuzzRead(f *testing.F) {
	for _, data := range []any{[]float32{1, 2}, []bool{true}, []string{"ab"}, []int64{}, []uint8{1, 2, 3}} {
		var b bytes.Buffer
		if err := Write(&b, nil, data); err != nil {
			f.Fatal(err)
		}
		f.Add(b.Bytes())
	}
	f.Add(raw(1, "{'descr': '|u1', 'fortran_order': True, 'shape': (2, 2, 2), }", 0, 100, 10, 110, 1, 101, 11, 111))
	f.Add(raw(1, "{'descr': '<f2', 'fortran_order': False, 'shape': (2,), }", 0, 60, 1, 0))
	f.Add(raw(2, "{'descr': '|O', 'fortran_order': False, 'shape': (2, 2L), }"))
	f.Fuzz(func(t *testing.T, b []byte) {
		a, err := parse(b)
		if err != nil {
			return
		}
		readAll(t, a, int64(len(b)))
	})
}

// readAll asks for everything; what is returned must have the shape's length, and not more than the file can hold.
func readAll(t *testing.T, a *Array, limit int64) {
	if f, err := a.Float32(); err == nil && (len(f) != a.Len() || int64(len(f)) > limit) {
		t.Fatalf("%d elements of shape %v from %d bytes", len(f), a.Shape, limit)
	}
	if s, err := a.Strings(); err == nil && len(s) != a.Len() {
		t.Fatalf("%d strings of shape %v", len(s), a.Shape)
	}
	if b, err := a.Bool(); err == nil && len(b) != a.Len() {
		t.Fatalf("%d bools of shape %v", len(b), a.Shape)
	}
}
