package gputest

import (
	"encoding/binary"
	"math"

	"capgnn/gpu"
	"capgnn/internal/ref"
)

// packing is a PackInt8 with its operands on the host.
type packing struct {
	args gpu.PackArgs
	x    ref.Matrix // Src as it is stored
	rows []int32    // of the packed rows
	ids  []int32
}

// packing places the operands of a PackInt8 that packs x, of type t. rows nil: all rows, without a list.
func (b *bench) packing(x ref.Matrix, rows, ids []int32, l layout, t gpu.DType) packing {
	b.Helper()
	a := gpu.PackArgs{Src: b.stored(x, l, t), Rows: array(b, rows), IDs: array(b, ids), Seed: 0x123456789A,
		Stream: gpu.Int8Stream(2, true), Epoch: 7}
	if rows == nil {
		for i := range x.Rows {
			rows = append(rows, int32(i))
		}
	}
	a.Dst = b.blank(len(rows), gpu.Int8Words(x.Cols), l)
	return packing{a, x, rows, ids}
}

// want returns packed row k.
func (p *packing) want(k int) ref.PackedRow {
	i := p.rows[k]
	return ref.PackInt8(p.x.Row(int(i)), func(j int) uint32 {
		counter := uint32(4*(j/32) + j/4%4)
		words := gpu.Philox([4]uint32{counter, uint32(p.ids[i]), p.args.Stream, p.args.Epoch}, gpu.SeedKey(p.args.Seed))
		return words[j%4] >> (16 * (j / 16 % 2)) & 0xFFFF
	})
}

// packedRows returns the bytes of packed rows, and fails if anything around them has changed.
func (b *bench) packedRows(m gpu.Matrix) [][]byte {
	b.Helper()
	raw := b.changed(m.Buf, func(e int) bool {
		e -= m.Off
		return e >= 0 && e < m.Rows*m.LD && e%m.LD < m.Cols
	}, 4)
	out := make([][]byte, m.Rows)
	for k := range out {
		out[k] = raw[4*(m.Off+k*m.LD):][:4*m.Cols]
	}
	return out
}

// packed compares packed rows with the loop, byte for byte.
func (b *bench) packed(p *packing) {
	b.Helper()
	for k, got := range b.packedRows(p.args.Dst) {
		want := p.want(k)
		bits := math.Float32bits(float32(want.Scale))
		if math.IsNaN(want.Scale) {
			bits = 0x7FC00000
		}
		if s := binary.LittleEndian.Uint32(got); s != bits {
			b.Errorf("row %d: scale %g, want %g", k, math.Float32frombits(s), want.Scale)
		}
		for j, q := range got[4:] {
			if j < len(want.Q) && int8(q) != want.Q[j] || j >= len(want.Q) && q != 0 {
				b.Errorf("row %d: byte %d is %d, want %d", k, j, int8(q), append(want.Q, 0, 0, 0)[j])
				break
			}
		}
	}
}

// unpacked unpacks rows and demands the loop's values, none farther from what was packed than the bound of gpu.PackArgs.
func (b *bench) unpacked(p *packing, l layout) {
	b.Helper()
	rows, cols := len(p.rows), p.x.Cols
	full, half := b.blank(rows, cols, l), b.blankOf(rows, cols, l, gpu.BF16)
	b.q.UnpackInt8(full, p.args.Dst)
	b.q.UnpackInt8(half, p.args.Dst)
	want := ref.NewMatrix(rows, cols)
	for k, i := range p.rows {
		r := p.want(k)
		copy(want.Row(k), r.Unpack())
		limit := math.Max(r.Scale*(1+0x1p-17), 127*0x1p-126)
		for j, v := range want.Row(k) {
			if x := p.x.At(int(i), j); !math.IsNaN(r.Scale) && !(math.Abs(v-x) < limit) {
				b.Errorf("row %d: %g became %g, with a scale of %g", k, x, v, r.Scale)
			}
		}
	}
	b.equal("dst", b.get(full), want)
	b.equal("bf16 dst", b.get(half), ref.RoundBF16(want))
}

func testPackInt8(b *bench) {
	b.dense(func(b *bench, s shape, l layout) {
		for _, t := range types {
			p := b.packing(b.normal(s.rows, s.cols), nil, b.ints(s.rows, 1<<30), l, t)
			b.q.PackInt8(p.args)
			b.packed(&p)
			b.unpacked(&p, l)
			const from = 9
			p = b.packing(b.normal(from, s.cols), b.ints(s.rows, from), b.ints(from, 1<<30), l, t)
			if s.rows > 0 { // an empty list is none
				b.q.PackInt8(p.args)
				b.packed(&p)
				b.unpacked(&p, l)
			}
		}
	})
	b.scene("corners", testPackCorners)
}

// testPackCorners: rows that are zero, too small for a scale, just large enough, made of multiples of the scale, as large as is
// promised, or not finite.
func testPackCorners(b *bench) {
	const cols = 41
	small := 127 * 0x1p-126
	tops := []float64{0, small * (1 - 0x1p-20), small, 127, 0x1p127, 1e-30, 1, 1, 1, 1}
	x := b.normal(len(tops), cols)
	for i, top := range tops {
		row := x.Row(i)
		for j := range row {
			row[j] = float64(float32(top * math.Max(-1, math.Min(row[j]/3, 1))))
		}
		row[i] = top
		if top == 127 {
			for j := range row {
				row[j] = float64(6*j - 127)
			}
			row[cols-1] = 127
		}
	}
	x.Row(1)[2] = -x.Row(1)[2]
	x.Row(6)[40] = math.NaN()
	x.Row(7)[0] = math.Inf(1)
	x.Row(8)[33] = math.Inf(-1)
	x.Row(9)[3], x.Row(9)[20] = math.NaN(), math.Inf(1)
	for _, l := range layouts {
		p := b.packing(x, nil, b.ints(len(tops), 1<<30), l, gpu.FP32)
		b.q.PackInt8(p.args)
		b.packed(&p)
		b.unpacked(&p, l)
		for k, r := range []float64{0, 0, 0x1p-126, 1} {
			if got := p.want(k).Scale; got != r {
				b.Errorf("row %d: scale %g, want %g", k, got, r)
			}
		}
		got := b.get(p.unpackedRow(b, l))
		for j, v := range got.Row(3) {
			if v != x.At(3, j) {
				b.Errorf("%g, a multiple of the scale, became %g", x.At(3, j), v)
			}
		}
		for k := 6; k < 10; k++ {
			for j, v := range got.Row(k) {
				if !math.IsNaN(v) {
					b.Errorf("row %d has no finite number, but column %d became %g", k, j, v)
				}
			}
		}
	}
}

// unpackedRow unpacks into a fresh matrix.
func (p *packing) unpackedRow(b *bench, l layout) gpu.Matrix {
	m := b.blank(len(p.rows), p.x.Cols, l)
	b.q.UnpackInt8(m, p.args.Dst)
	return m
}

// testPackMean: over many epochs an element is right on average, and draws depend on vertex, stream, epoch and seed, not on
// where a row lies.
func testPackMean(b *bench) {
	b.scene("mean", func(b *bench) {
		const rows, cols, epochs = 5, 37, 2000
		p := b.packing(b.normal(rows, cols), nil, b.ints(rows, 1<<30), layouts[0], gpu.FP32)
		sum := ref.NewMatrix(rows, cols)
		dst := b.blank(rows, cols, layouts[0])
		for e := range uint32(epochs) {
			p.args.Epoch = e
			b.q.PackInt8(p.args)
			b.q.UnpackInt8(dst, p.args.Dst)
			for i, v := range b.get(dst).V {
				sum.V[i] += v / epochs
			}
		}
		b.packedRows(p.args.Dst)
		bias := 0.0
		for i := range rows {
			scale := p.want(i).Scale
			for j := range cols {
				d := (sum.At(i, j) - p.x.At(i, j)) / scale
				bias += d / (rows * cols)
				// The error of one epoch has a standard deviation of scale/2 at most: five of the mean's.
				if limit := 5 * 0.5 / math.Sqrt(epochs); math.Abs(d) > limit {
					b.Errorf("element %d, %d is %.3g scales off on average, limit %.3g", i, j, d, limit)
				}
			}
		}
		if limit := 5 * 0.5 / math.Sqrt(epochs*rows*cols); math.Abs(bias) > limit {
			b.Errorf("all elements are %.3g scales off on average, limit %.3g", bias, limit)
		}
	})
	b.scene("draws", func(b *bench) {
		const cols = 64
		x := b.normal(1, cols)
		two := ref.Matrix{Rows: 2, Cols: cols, V: append(append([]float64(nil), x.V...), x.V...)}
		base := b.packing(two, nil, []int32{5, 5}, layouts[0], gpu.FP32)
		pack := func(edit func(a *gpu.PackArgs)) []string {
			a := base.args
			a.Dst = b.blank(2, gpu.Int8Words(cols), layouts[0])
			edit(&a)
			b.q.PackInt8(a)
			rows := b.packedRows(a.Dst)
			return []string{string(rows[0]), string(rows[1])}
		}
		same := pack(func(*gpu.PackArgs) {})
		if same[0] != same[1] {
			b.Error("one vertex in two places has two draws")
		}
		for name, edit := range map[string]func(a *gpu.PackArgs){
			"vertex": func(a *gpu.PackArgs) { a.IDs = array(b, []int32{6, 7}) }, "epoch": func(a *gpu.PackArgs) { a.Epoch++ },
			"stream": func(a *gpu.PackArgs) { a.Stream = gpu.Int8Stream(2, false) }, "seed": func(a *gpu.PackArgs) { a.Seed++ },
			"high seed": func(a *gpu.PackArgs) { a.Seed += 1 << 32 }, "layer": func(a *gpu.PackArgs) { a.Stream = gpu.Int8Stream(3, true) },
		} {
			if other := pack(edit); other[0] == same[0] {
				b.Errorf("another %s has the same draws", name)
			}
		}
	})
}
