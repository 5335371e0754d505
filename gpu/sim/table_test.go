package sim

import (
	"encoding/binary"
	"math"
	"math/rand/v2"
	"strings"
	"testing"

	"capgnn/gpu"
)

// law is a machine of known costs, in seconds: what a table of its measurements must say.
type law struct{ launch, flop, byte, near, far, entry, sum, cache float64 }

var machine = law{launch: 1e-6, flop: 1e-11, byte: 1e-10, near: 2e-11, far: 8e-11, entry: 1e-9, sum: 5e-9, cache: 1 << 20}

// gathered is the time of an entry of random rows from a matrix of so many bytes: those within the cache are near.
func (l law) gathered(row, matrix float64) float64 {
	hit := min(1, l.cache/matrix)
	return l.entry + row*(hit*l.near+(1-hit)*l.far)
}

// samples measures the machine.
func (l law) samples() []Sample {
	out := []Sample{{Op: "launch", Rows: 1, Out: 1, Seconds: l.launch}, {Op: "hop", Seconds: 4e-6}}
	for op, p := range perElement {
		for _, n := range []int{1 << 10, 1 << 20} {
			out = append(out, Sample{Op: op, Rows: n, Out: 16, Seconds: l.launch + 16*float64(n)*p.bytes*l.byte})
		}
	}
	for op := range perProduct {
		for _, in := range []int{16, 256} {
			for _, width := range []int{16, 64, 256} {
				out = append(out, Sample{Op: op, Rows: 4096, In: in, Out: width, Seconds: l.launch + l.product(4096, in, width)})
			}
		}
	}
	for _, width := range []int{16, 256} {
		for _, matrix := range []int{1 << 18, 1 << 20, 1 << 22, 1 << 24} {
			s := 64*l.sum + 8192*l.gathered(float64(4*width), float64(matrix))
			out = append(out, Sample{Op: "sum", Rows: 64, Entries: 8192, Cols: matrix / (4 * width), Out: width, Seconds: l.launch + s})
		}
		s := 512 * (l.sum + l.gathered(float64(4*width), 1<<18))
		out = append(out, Sample{Op: "sum", Rows: 512, Entries: 512, Cols: (1 << 18) / (4 * width), Out: width, Seconds: l.launch + s})
	}
	for op := range perRoute {
		for _, n := range []int{4, 1 << 20} {
			out = append(out, Sample{Op: op, Bytes: n, Seconds: 1e-5 + float64(n-4)*l.byte})
		}
	}
	return out
}

func (l law) product(rows, in, out int) float64 {
	return float64(rows) * (float64(2*in*out)*l.flop + 4*float64(in+out)*l.byte)
}

func near(t *testing.T, what string, got, want, tolerance float64) {
	t.Helper()
	if math.Abs(got/want-1) > tolerance {
		t.Errorf("%s: %g s, want %g", what, got, want)
	}
}

// A table says of a machine of known costs what it takes, at sizes that were measured and at others.
func TestTable(t *testing.T) {
	l := machine
	table, err := NewTable(l.samples())
	if err != nil {
		t.Fatal(err)
	}
	near(t, "launch", table.launch(), l.launch, 0)
	near(t, "hop", table.hop(), 2e-6, 0)
	for k, want := range map[kernel]float64{stream: 1e6 * l.byte, fills: 1e6 * l.byte, adam: 1e6 * l.byte, softmax: 1e6 * l.byte} {
		near(t, "pass", table.seconds(&part{kernel: k, bytes: 1e6}), want, 1e-3)
	}
	for _, shape := range [][3]int{{1000, 16, 16}, {1000, 100, 128}, {5000, 602, 256}, {1000, 256, 41}} {
		rows, in, out := shape[0], shape[1], shape[2]
		p := part{kernel: gemmNN, rows: rows, in: in, out: out, bytes: gpu.Bytes(4 * rows * (in + out))}
		near(t, "product", table.seconds(&p), l.product(rows, in, (out+15)/16*16), 1e-3)
	}
	for _, width := range []int{16, 64, 256, 300} {
		for _, matrix := range []float64{1 << 18, 1 << 19, 3 << 20, 1 << 24} {
			cols := int(matrix) / (4 * width)
			p := part{kernel: gather, rows: 100, out: width, entries: 1000, cols: cols, size: 4}
			// The sums of samples of many entries count as entries: 64 in 8192.
			want := 100*l.sum + 1000*(l.gathered(float64(4*width), float64(4*width*cols))+l.sum/128)
			near(t, "gather", table.seconds(&p), want, 0.02)
		}
	}
	// A part without entries may hold no rows to gather: only what is written takes time.
	near(t, "gather of nothing", table.seconds(&part{kernel: gather, rows: 1, written: 1e6}), 1e6*l.byte, 1e-3)
	held, latency := table.transfer(fromDevice, 1<<20)
	near(t, "copy", held, float64(1<<20-4)*l.byte, 1e-9)
	near(t, "latency", latency, 1e-5, 1e-9)
	attended := part{kernel: gatForward, rows: 100, out: 256, entries: 1000, cols: 100, size: 4}
	summed := attended
	summed.kernel = gather
	near(t, "attention", table.seconds(&attended), attention[gatForward]*table.seconds(&summed), 1e-9)
}

// Beside others, what was measured there counts, against the table's own times.
func TestBeside(t *testing.T) {
	l := machine
	table, err := NewTable(l.samples())
	if err != nil {
		t.Fatal(err)
	}
	slower, err := table.Beside([]Sample{
		{Op: "nn", Rows: 4096, In: 256, Out: 256, Seconds: 1.25 * (l.launch + l.product(4096, 256, 256))},
		{Op: "copy", Rows: 1 << 10, Out: 16, Seconds: 1.5 * (l.launch + 16*1024*8*l.byte)},
		{Op: "copy", Rows: 1 << 20, Out: 16, Seconds: 2 * (l.launch + 16*(1<<20)*8*l.byte)},
	})
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		p    part
		want float64
	}{
		{part{kernel: gemmNN, rows: 100, in: 64, out: 64, bytes: 51200}, 1.25},
		{part{kernel: stream, bytes: 16 * 1024 * 8}, 1.5},
		{part{kernel: stream, bytes: 1 << 30}, 2},
		{part{kernel: gemmTN, rows: 100, in: 64, out: 64, bytes: 16 * 32768 * 8}, 1.75}, // not measured
	} {
		near(t, "beside", slower.crowded(&c.p), c.want, 1e-6)
		near(t, "alone", table.crowded(&c.p), 1, 0)
	}
}

func TestTableErrors(t *testing.T) {
	good := machine.samples()
	without := func(op string) (out []Sample) {
		for _, s := range good {
			if s.Op != op {
				out = append(out, s)
			}
		}
		return out
	}
	for want, samples := range map[string][]Sample{
		"no measurement of copy":                 without("copy"),
		"no full grid of measurements of tn":     without("tn"),
		"sums of less than two widths":           without("sum"),
		"less than two measurements of upload":   without("upload"),
		"sizes or -1 s are impossible":           append([]Sample{{Op: "nn", Seconds: -1}}, good...),
		"measurement 0, copy: sizes or 1 s are ": append([]Sample{{Op: "copy", Rows: -1, Seconds: 1}}, good...),
	} {
		if _, err := NewTable(samples); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("error %v, want one that says %q", err, want)
		}
	}
	if _, err := NewTable(without("peer")); err != nil {
		t.Errorf("a device without peer access: %v", err)
	}
	table, err := NewTable(good)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := table.Beside([]Sample{{Op: "nn"}}); err == nil {
		t.Error("no time at all beside others")
	}
}

// indices returns n rows chosen by pick as they lie in memory.
func indices(n int, pick func(i int) int) []byte {
	var raw []byte
	for i := range n {
		raw = binary.NativeEndian.AppendUint32(raw, uint32(pick(i)))
	}
	return raw
}

// Of rows taken at random all distances are equally likely; rows taken in turn come again after all the others.
func TestReuse(t *testing.T) {
	const n = 1 << 16
	r := rand.New(rand.NewPCG(1, 2))
	random := newReuse(indices(n, func(int) int { return 1e6 + r.IntN(1000) }))
	for _, rows := range []float64{10, 100, 500, 900} {
		if got, want := random.farther(rows, 1000), 1-rows/1000; math.Abs(got-want) > 0.03 {
			t.Errorf("at random: %g are farther than %g of 1000 rows, want %g", got, rows, want)
		}
	}
	inTurn := newReuse(indices(n, func(i int) int { return i % 1024 }))
	for rows, want := range map[float64]float64{10: 1, 500: 1, 1024: 0, 2000: 0} {
		if got := inTurn.farther(rows, 1024); math.Abs(got-want) > 1e-9 {
			t.Errorf("in turn: %g are farther than %g of 1024 rows, want %g", got, rows, want)
		}
	}
	blocks := newReuse(indices(n, func(i int) int { return i/1024*64 + r.IntN(64) })) // 64 rows at a time
	if got := blocks.farther(64, 4096); got > 0.1 {
		t.Errorf("in blocks of 64: %g are farther than 64 rows", got)
	}
	if got := newReuse(nil).farther(10, 100); math.Abs(got-0.9) > 1e-9 { // nothing known: at random
		t.Errorf("without indices: %g are farther than 10 of 100 rows, want 0.9", got)
	}
}

// The window of an upload is the same however it comes.
func TestLook(t *testing.T) {
	raw := indices(4*window, func(i int) int { return i * i % 1013 })
	var want []float64
	for _, step := range []int{len(raw), 4096, 1 << 20} {
		d := &Device{samples: map[gpu.Buffer]*sample{}}
		b := block(len(raw))
		for lo := 0; lo < len(raw); lo += step {
			d.look(b, gpu.Bytes(lo), raw[lo:min(len(raw), lo+step)])
		}
		got := d.reuseOf(b).rows
		if want == nil {
			want = newReuse(raw[len(raw)/2-2*window : len(raw)/2+2*window]).rows
		}
		for k := range want {
			if got[k] != want[k] {
				t.Fatalf("in pieces of %d: footprints %v, want %v", step, got, want)
			}
		}
	}
}

type block gpu.Bytes

func (b block) Size() gpu.Bytes { return gpu.Bytes(b) }
func (b block) Free()           {}
