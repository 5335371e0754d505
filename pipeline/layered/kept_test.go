package layered

import (
	"slices"
	"testing"

	"capgnn/gpu"
	"capgnn/hostmem"
)

// Layer 0 reads rows that lie on the devices there, with the same bits.
func TestKeptRows(t *testing.T) {
	n := 0
	for k := 0; n < 40; k++ {
		d := draw(t, k)
		if d.o.Precomputed {
			if n++; n%2 == 0 {
				d.o.Rows = make([]bool, d.p.Vertices())
				for v := range d.o.Rows {
					d.o.Rows[v] = v%5 == 0
				}
			}
			kept(t, &d)
		}
		for _, dev := range d.o.Devices {
			dev.Close()
		}
	}
}

func kept(t *testing.T, d *drawn) {
	d.o.Tables = poisoned
	e, err := New(t.Context(), d.p, d.o)
	if err != nil {
		t.Fatal(err)
	}
	defer e.Close()
	want := logits(t, e, d.w)
	ax, err := e.Aggregated(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	cols := d.p.Features.Cols
	put := func(part int, row func(dst []float32, v int)) gpu.Matrix {
		inner, dev := e.workers[part].part.inner, d.o.Devices[part]
		own := make([]float32, len(inner)*cols)
		for i, v := range inner {
			row(own[i*cols:][:cols], int(v))
		}
		b, err := dev.Alloc(gpu.Bytes(4*max(1, len(own))), "rows")
		if err != nil {
			t.Fatal(err)
		}
		q := dev.NewQueue("rows")
		q.Upload(b, 0, hostmem.Bytes(own))
		if err := q.Sync(); err != nil {
			t.Fatal(err)
		}
		return gpu.Matrix{Buf: b, Rows: len(inner), Cols: cols, LD: cols}
	}
	for part := range d.o.Devices {
		e.Keep(part, Kept{AX: put(part, func(dst []float32, v int) { copy(dst, ax[v*cols:]) }), X: put(part, func(dst []float32, v int) { d.p.Features.Fill(dst, int32(v)) })})
	}
	clear(ax) // neither is read from the host any more
	d.p.Features.Dense, d.p.Features.Data = make([]float32, len(d.p.Features.Dense)), make([]float32, len(d.p.Features.Data))
	if got := logits(t, e, d.w); !slices.Equal(got, want) {
		t.Errorf("%s: other logits from rows on the devices", d.names)
	}
}
