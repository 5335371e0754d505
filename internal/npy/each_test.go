package npy

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"testing"
)

// opened writes an array and opens it again.
func opened(t *testing.T, shape []int, data any) *Array {
	t.Helper()
	var b bytes.Buffer
	if err := Write(&b, shape, data); err != nil {
		t.Fatal(err)
	}
	a, err := readAt(bytes.NewReader(b.Bytes()), int64(b.Len()), "a.npy")
	if err != nil {
		t.Fatal(err)
	}
	return a
}

// TestEach: pieces put together are what the whole accessor returns, for more elements than a piece holds.
func TestEach(t *testing.T) {
	const n = chunkBytes/4 + 7
	wide, single, small := make([]int64, n), make([]float32, n), make([]uint8, n)
	for i := range wide {
		wide[i], single[i], small[i] = int64(i)*1e9-5, float32(i)/3, uint8(i)
	}
	for _, data := range []any{wide, single, small, make([]bool, 3), make([]int32, 0), []float64{1.5, -2}} {
		a := opened(t, nil, data)
		var floats []float64
		err := a.EachFloat64(func(i int, v []float64) error {
			if i != len(floats) {
				return fmt.Errorf("piece begins at %d, want %d", i, len(floats))
			}
			floats = append(floats, v...)
			return nil
		})
		want, werr := a.Float64()
		if err != nil || werr != nil || !slices.Equal(floats, want) {
			t.Errorf("%T: %d values, %v, %v", data, len(floats), err, werr)
		}
		if a.DType.Kind == 'f' {
			if err := a.EachInt64(nil); err == nil || !strings.Contains(err.Error(), "want 64-bit integers") {
				t.Errorf("%T: got %v", data, err)
			}
			continue
		}
		var ints []int64
		err = a.EachInt64(func(_ int, v []int64) error { ints = append(ints, v...); return nil })
		if whole, werr := a.Int64(); err != nil || werr != nil || !slices.Equal(ints, whole) {
			t.Errorf("%T: %d values, %v, %v", data, len(ints), err, werr)
		}
	}
	stop := errors.New("enough")
	if err := opened(t, nil, wide).EachInt64(func(int, []int64) error { return stop }); err != stop {
		t.Errorf("got %v", err)
	}
	if err := opened(t, nil, []string{"a"}).EachFloat64(nil); err == nil || !strings.Contains(err.Error(), "want numbers") {
		t.Errorf("got %v", err)
	}
}

// TestEachFortran: arrays of several dimensions come in C order.
func TestEachFortran(t *testing.T) {
	var b bytes.Buffer
	if err := Write(&b, []int{2, 3}, []int64{1, 2, 3, 4, 5, 6}); err != nil {
		t.Fatal(err)
	}
	raw := bytes.Replace(b.Bytes(), []byte("False,"), []byte("True, "), 1)
	a, err := readAt(bytes.NewReader(raw), int64(len(raw)), "a.npy")
	if err != nil {
		t.Fatal(err)
	}
	var got []int64
	if err := a.EachInt64(func(_ int, v []int64) error { got = append(got, v...); return nil }); err != nil || !slices.Equal(got, []int64{1, 3, 5, 2, 4, 6}) {
		t.Errorf("got %v, %v", got, err)
	}
}

// TestEachDamaged: a member that is cut or changed is a fault with its place.
func TestEachDamaged(t *testing.T) {
	var b bytes.Buffer
	if err := Write(&b, nil, []bool{true, false, true}); err != nil {
		t.Fatal(err)
	}
	raw := bytes.Clone(b.Bytes())
	raw[len(raw)-1] = 7
	a, err := readAt(bytes.NewReader(raw), int64(len(raw)), "a.npy")
	if err != nil {
		t.Fatal(err)
	}
	var f *FormatError
	if err := a.EachFloat64(func(int, []float64) error { return nil }); !errors.As(err, &f) || f.Offset != int64(len(raw)-1) {
		t.Errorf("got %v", err)
	}
	if a, err = readAt(shrinking{bytes.NewReader(b.Bytes()), int64(b.Len() - 1)}, int64(b.Len()), "a.npy"); err != nil {
		t.Fatal(err)
	}
	if err := a.EachInt64(func(int, []int64) error { return nil }); !errors.As(err, &f) || !strings.Contains(err.Error(), "truncated") {
		t.Errorf("got %v", err)
	}
}

// shrinking is a file that ends sooner than it said.
type shrinking struct {
	r   *bytes.Reader
	end int64
}

func (s shrinking) ReadAt(p []byte, at int64) (int, error) {
	if at >= s.end {
		return 0, io.EOF
	}
	n, err := s.r.ReadAt(p[:min(int64(len(p)), s.end-at)], at)
	if err == nil && n < len(p) {
		err = io.EOF
	}
	return n, err
}
