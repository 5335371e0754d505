package section

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"math"
	"slices"
	"testing"
	"testing/iotest"

	"capgnn/gpu"
	"capgnn/gpu/host"
	"capgnn/hostmem"
	"capgnn/internal/checkpoint"
)

// memory returns a queue of a device and a buffer that holds these bytes.
func memory(t *testing.T, content []byte) (gpu.Queue, gpu.Buffer) {
	t.Helper()
	d, err := host.Open(host.Spec{Threads: 1, Memory: 1 << 20})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { d.Close() })
	buf, err := d.Alloc(gpu.Bytes(len(content)), "content")
	if err != nil {
		t.Fatal(err)
	}
	q := d.NewQueue("q")
	q.Upload(buf, 0, content)
	return q, buf
}

// held returns what a buffer holds.
func held(t *testing.T, q gpu.Queue, buf gpu.Buffer, n int) []byte {
	t.Helper()
	out := make([]byte, n)
	q.Download(out, buf, 0)
	if err := q.Sync(); err != nil {
		t.Fatal(err)
	}
	return out
}

func settle(list ...gpu.Queue) error {
	for _, q := range list {
		if err := q.Sync(); err != nil {
			return err
		}
	}
	return nil
}

// counted returns n bytes, each another.
func counted(n int) []byte {
	out := make([]byte, n)
	for i := range out {
		out[i] = byte(i + 1)
	}
	return out
}

// Any range of a buffer is read, in pieces of any size, and seen before it is written.
func TestOfDevice(t *testing.T) {
	all := counted(40)
	q, buf := memory(t, all)
	for _, c := range []struct{ at, size gpu.Bytes }{{0, 40}, {8, 32}, {8, 12}, {39, 1}, {40, 0}} {
		for _, piece := range []int{1, 7, 40, 64} {
			t.Run(fmt.Sprintf("%d from %d by %d", c.size, c.at, piece), func(t *testing.T) {
				var seen []byte
				s := OfDevice(q, settle, buf, c.at, c.size, func(part []byte) error {
					seen = append(seen, part...)
					return nil
				})
				var got []byte
				for p := make([]byte, piece); ; {
					n, err := s.Read(p)
					got = append(got, p[:n]...)
					if err == io.EOF {
						break
					} else if err != nil || n == 0 {
						t.Fatalf("%d bytes, %v", n, err)
					}
				}
				want := all[c.at:][:c.size]
				if !bytes.Equal(got, want) || !bytes.Equal(seen, want) || s.Size() != int64(c.size) {
					t.Errorf("%d bytes: read %v, saw %v, want %v", s.Size(), got, seen, want)
				}
			})
		}
	}
	if err := iotest.TestReader(OfDevice(q, settle, buf, 8, 12, nil), all[8:20]); err != nil {
		t.Error(err)
	}
}

// What refuses a piece, and a queue that fails, end the reading.
func TestOfDeviceFails(t *testing.T) {
	q, buf := memory(t, counted(8))
	refused, lost := errors.New("refused"), errors.New("lost")
	for want, s := range map[error]checkpoint.Section{
		refused: OfDevice(q, settle, buf, 0, 8, func([]byte) error { return refused }),
		lost:    OfDevice(q, func(...gpu.Queue) error { return lost }, buf, 0, 8, func([]byte) error { return refused }),
	} {
		if _, err := io.ReadAll(s); err != want {
			t.Errorf("got %v, want %v", err, want)
		}
	}
}

// A section goes to every place, each at its byte, whatever the piece; what lies around stays.
func TestUpload(t *testing.T) {
	content := counted(20)
	for _, piece := range []int{1, 6, 20, 100} {
		first, one := memory(t, make([]byte, 20))
		second, two := memory(t, make([]byte, 32))
		err := Upload(Of(bytes.NewReader(content), 20), make([]byte, piece), Place{Queue: first, Buf: one}, Place{second, two, 8})
		if err != nil {
			t.Fatal(err)
		}
		if got := held(t, first, one, 20); !bytes.Equal(got, content) {
			t.Errorf("by %d: the first place holds %v", piece, got)
		}
		want := slices.Concat(make([]byte, 8), content, make([]byte, 4))
		if got := held(t, second, two, 32); !bytes.Equal(got, want) {
			t.Errorf("by %d: the second place holds %v, want %v", piece, got, want)
		}
	}
	q, buf := memory(t, make([]byte, 20))
	if err := Upload(Of(bytes.NewReader(content[:19]), 20), make([]byte, 8), Place{Queue: q, Buf: buf}); err != io.ErrUnexpectedEOF {
		t.Errorf("a section that ends early: %v", err)
	}
	if err := Upload(nil, make([]byte, 8), Place{Queue: q, Buf: buf}); err != nil {
		t.Errorf("no section: %v", err)
	}
}

// Arrays of the host lie one behind the other; none, or none with elements, are no section.
func TestFloats(t *testing.T) {
	a, b := []float32{1, -2, 3.5}, []float32{float32(math.Inf(1)), 4}
	for _, c := range []struct{ arrays [][]float32 }{{[][]float32{a}}, {[][]float32{a, b}}, {[][]float32{a, nil, b}}, {[][]float32{{}, b}}, {nil}, {[][]float32{nil, {}}}} {
		want := hostmem.Bytes(slices.Concat(c.arrays...))
		s := Floats(c.arrays...)
		if s == nil {
			if len(want) > 0 {
				t.Errorf("%v: no section", c.arrays)
			}
			continue
		}
		if got, err := io.ReadAll(s); err != nil || !bytes.Equal(got, want) || s.Size() != int64(len(want)) || len(want) == 0 {
			t.Errorf("%v: %d bytes %v, %v, want %v", c.arrays, s.Size(), got, err, want)
		}
	}
}

func TestFinite(t *testing.T) {
	nan, inf := float32(math.NaN()), float32(math.Inf(1))
	for _, c := range []struct {
		x    []float32
		want bool
	}{
		{nil, true}, {[]float32{0, -1, math.MaxFloat32, math.SmallestNonzeroFloat32}, true},
		{[]float32{nan}, false}, {[]float32{1, 2, inf}, false}, {[]float32{-inf, 0}, false},
	} {
		if Finite(c.x) != c.want {
			t.Errorf("%v: %t", c.x, !c.want)
		}
	}
}
