package window_test

import (
	"bytes"
	"math"
	"testing"

	"capgnn/gpu"
	"capgnn/gpu/host"
	"capgnn/gpu/window"
	"capgnn/hostmem"
)

// part is a space with two blocks and a table that others of the run see.
type part struct {
	space *window.Space
	a, b  gpu.Matrix
}

const rows, cols = 5, 3

func newPart(t *testing.T, w *window.Window, dev gpu.Device) *part {
	t.Helper()
	p := &part{space: w.NewSpace(dev.NewQueue("part"), func(_ string, n gpu.Bytes) ([]byte, func(), error) {
		return bytes.Repeat([]byte{0xff}, int(n)), func() {}, nil
	})}
	for _, m := range []*gpu.Matrix{&p.a, &p.b} {
		b, err := p.space.Alloc(4*rows*cols, "rows")
		if err != nil {
			t.Fatal(err)
		}
		*m = gpu.Matrix{Buf: b, Rows: rows, Cols: cols, LD: cols}
	}
	return p
}

func open(t *testing.T) gpu.Device {
	t.Helper()
	dev, err := host.Open(host.Spec{Name: "cpu:0", Threads: 1, Poison: true})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { dev.Close() })
	return dev
}

// Spaces use one window in turns that is as large as the largest: each finds what it has left there, and no more is
// copied than what is read later.
func TestTurns(t *testing.T) {
	dev := open(t)
	w := window.New(dev)
	defer w.Free()
	w.Spoil = func(q gpu.Queue, b gpu.Buffer) { q.Upload(b, 0, bytes.Repeat([]byte{0xff}, int(b.Size()))) }
	var parts []*part
	var scripts []*window.Script
	out := make([][]float32, 2)
	first := func(p *part, q gpu.Queue) { // a = x, whose first column others change; b is forgotten
		q.Fill(p.b, 7)
		q.Axpby(p.a.ColRange(0, 1), 1, p.b.ColRange(0, 1), 1)
	}
	second := func(p *part, q gpu.Queue, k int) {
		q.Fill(p.b, 1)
		q.Axpby(p.b, 2, p.a, 1)
		q.Download(hostmem.Bytes(out[k]), p.b.Buf, 0)
	}
	for k := range 2 {
		p := newPart(t, w, dev)
		parts, out[k] = append(parts, p), make([]float32, rows*cols)
		x := make([]float32, rows*cols)
		for i := range x {
			x[i] = float32(10*k + i)
		}
		q := p.space.Queue()
		q.Upload(p.a.Buf, 0, hostmem.Bytes(x)) // before it has turns
		q.Axpby(p.a, 1, p.a, 1)
		if err := p.space.Settle(); err != nil {
			t.Fatal(err)
		}
		scripts = append(scripts, p.space.Record(func() {
			first(p, q)
			p.space.Next()
			second(p, q, k)
		}))
		span := gpu.Bytes(4 * ((rows-1)*cols + 1)) // from the first element of a column to its last
		if up, down := scripts[k].Bytes(); up != span+4*rows*cols || down != span {
			t.Errorf("part %d: %d bytes come up and %d go down, want %d and %d", k, up, down, span+4*rows*cols, span)
		}
	}
	if err := w.Reach(parts[0].space.Size()); err != nil {
		t.Fatal(err)
	}
	if want := gpu.Bytes(256 + 4*rows*cols); w.Size() != want || dev.Memory().Used < want || dev.Memory().Used > want+256 {
		t.Errorf("the window takes %d bytes, the device has lent %d, want %d", w.Size(), dev.Memory().Used, want)
	}
	for k, p := range parts {
		p.space.Run(scripts[k])
		p.space.Up()
		first(p, p.space.Queue())
		p.space.Down()
		if err := p.space.Queue().Sync(); err != nil {
			t.Fatal(err)
		}
	}
	for k, p := range parts {
		p.space.Up()
		second(p, p.space.Queue(), k)
		p.space.Down()
		if err := p.space.Queue().Sync(); err != nil {
			t.Fatal(err)
		}
		for i, got := range out[k] {
			want := 2*float32(10*k+i)*2 + 1
			if i%cols == 0 {
				want += 2 * 7
			}
			if got != want {
				t.Errorf("part %d, element %d: %v, want %v", k, i, got, want)
			}
		}
	}
}

// A freed block makes room for another one, and what does not fit there lies behind.
func TestPlaces(t *testing.T) {
	s := window.New(open(t)).NewSpace(nil, nil)
	sizes := func(n gpu.Bytes) gpu.Buffer {
		b, err := s.Alloc(n, "b")
		if err != nil {
			t.Fatal(err)
		}
		return b
	}
	a, _ := sizes(300), sizes(10)
	a.Free()
	sizes(512)
	if s.Size() != 512+10 {
		t.Errorf("512 bytes do not take the place of 300 up to the next multiple of 256: %d in all", s.Size())
	}
	sizes(1)
	if s.Size() != 768+1 {
		t.Errorf("%d in all", s.Size())
	}
	defer func() {
		if recover() == nil {
			t.Error("freed twice, and nothing was said")
		}
	}()
	a.Free()
}

// A window that the device has no memory for is an error of the space that needs it.
func TestNoMemory(t *testing.T) {
	dev, err := host.Open(host.Spec{Name: "cpu:0", Threads: 1, Memory: 1 << 10})
	if err != nil {
		t.Fatal(err)
	}
	defer dev.Close()
	s := window.New(dev).NewSpace(dev.NewQueue("part"), func(_ string, n gpu.Bytes) ([]byte, func(), error) {
		return make([]byte, n), func() {}, nil
	})
	b, _ := s.Alloc(1<<20, "large")
	q := s.Queue()
	q.Fill(gpu.Matrix{Buf: b, Rows: 1, Cols: 4, LD: 4}, float32(math.Pi))
	if err := s.Settle(); err == nil || s.Err() == nil || q.Sync() == nil {
		t.Errorf("a window of 1 MiB on a device of 1 KiB: %v", err)
	}
}
