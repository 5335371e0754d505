package gputest

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"math"

	"capgnn/gpu"
	"capgnn/internal/ref"
)

// packing is a PackRows with its operands on the host.
type packing struct {
	args gpu.PackArgs
	x    ref.Matrix // Src as it is stored
	rows []int32    // of the packed rows
	ids  []int32
}

// packing places the operands of a PackRows that packs x, of type t. rows nil: all rows, without a list.
func (b *bench) packing(bits int, x ref.Matrix, rows, ids []int32, l layout, t gpu.DType) packing {
	b.Helper()
	a := gpu.PackArgs{Bits: bits, Src: b.stored(x, l, t), Rows: array(b, rows), IDs: array(b, ids), Seed: 0x123456789A,
		Stream: gpu.PackStream(2, true), Epoch: 7}
	if rows == nil {
		for i := range x.Rows {
			rows = append(rows, int32(i))
		}
	}
	a.Dst = b.blank(len(rows), gpu.PackedWords(x.Cols, bits), l)
	return packing{a, x, rows, ids}
}

// want returns packed row k.
func (p *packing) want(k int) ref.PackedRow {
	i := p.rows[k]
	return ref.PackRows(p.x.Row(int(i)), p.args.Bits, func(j int) uint32 {
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
		head := math.Float32bits(float32(want.Scale)) | math.Float32bits(float32(want.Low))>>16
		if math.IsNaN(want.Scale) {
			head = 0x7FC00000
		}
		if h := binary.LittleEndian.Uint32(got); h != head {
			b.Errorf("row %d: %x, want %x: scale %g, offset %g", k, h, head, want.Scale, want.Low)
		}
		bits := p.args.Bits
		q := make([]byte, len(got)-4)
		for j, v := range want.Q {
			q[j*bits/8] |= byte(v) << (j * bits % 8)
		}
		if !bytes.Equal(got[4:], q) {
			b.Errorf("row %d of %d elements, %d bits: %x, want %x", k, len(want.Q), bits, got[4:], q)
		}
	}
}

// unpacked unpacks rows and demands the loop's values, none farther from what was packed than the bound of gpu.PackArgs.
func (b *bench) unpacked(p *packing, l layout) {
	b.Helper()
	rows, cols := len(p.rows), p.x.Cols
	full, half := b.blank(rows, cols, l), b.blankOf(rows, cols, l, gpu.BF16)
	b.q.UnpackRows(full, p.args.Dst, p.args.Bits)
	b.q.UnpackRows(half, p.args.Dst, p.args.Bits)
	want := ref.NewMatrix(rows, cols)
	for k, i := range p.rows {
		r := p.want(k)
		copy(want.Row(k), r.Unpack())
		limit := math.Max(r.Scale*(1+0x1p-17), 127*0x1p-126)
		if p.args.Bits == 2 {
			limit = math.Max(r.Scale*(1+0x1p-17), 4*0x1p-126) + 0x1p-22*largest(p.x.Row(int(i)))
		}
		for j, v := range want.Row(k) {
			if x := p.x.At(int(i), j); !math.IsNaN(r.Scale) && !(math.Abs(v-x) < limit) {
				b.Errorf("row %d: %g became %g, with a scale of %g", k, x, v, r.Scale)
			}
		}
	}
	b.equal("dst", b.get(full), want)
	b.equal("bf16 dst", b.get(half), ref.RoundBF16(want))
}

func testPackRows(b *bench) {
	b.dense(func(b *bench, s shape, l layout) {
		for n, t := range []gpu.DType{gpu.FP32, gpu.BF16, gpu.FP32, gpu.BF16} {
			bits := []int{8, 8, 2, 2}[n]
			p := b.packing(bits, b.normal(s.rows, s.cols), nil, b.ints(s.rows, 1<<30), l, t)
			b.q.PackRows(p.args)
			b.packed(&p)
			b.unpacked(&p, l)
			const from = 9
			p = b.packing(bits, b.normal(from, s.cols), b.ints(s.rows, from), b.ints(from, 1<<30), l, t)
			if s.rows > 0 { // an empty list is none
				b.q.PackRows(p.args)
				b.packed(&p)
				b.unpacked(&p, l)
			}
		}
	})
	b.scene("corners", testPackCorners)
	b.scene("corners of 2 bits", testLevelCorners)
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
		p := b.packing(8, x, nil, b.ints(len(tops), 1<<30), l, gpu.FP32)
		b.q.PackRows(p.args)
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
	b.q.UnpackRows(m, p.args.Dst, p.args.Bits)
	return m
}

// testPackMean: over many epochs an element is right on average, and draws depend on vertex, stream, epoch and seed, not on
// where a row lies.
func testPackMean(b *bench) {
	for _, bits := range []int{8, 2} {
		b.scene(fmt.Sprintf("mean of %d bits", bits), func(b *bench) { testMean(b, bits) })
	}
	b.scene("draws", func(b *bench) {
		const cols = 64
		x := b.normal(1, cols)
		two := ref.Matrix{Rows: 2, Cols: cols, V: append(append([]float64(nil), x.V...), x.V...)}
		base := b.packing(8, two, nil, []int32{5, 5}, layouts[0], gpu.FP32)
		pack := func(edit func(a *gpu.PackArgs)) []string {
			a := base.args
			a.Dst = b.blank(2, gpu.PackedWords(cols, 8), layouts[0])
			edit(&a)
			b.q.PackRows(a)
			rows := b.packedRows(a.Dst)
			return []string{string(rows[0]), string(rows[1])}
		}
		same := pack(func(*gpu.PackArgs) {})
		if same[0] != same[1] {
			b.Error("one vertex in two places has two draws")
		}
		for name, edit := range map[string]func(a *gpu.PackArgs){
			"vertex": func(a *gpu.PackArgs) { a.IDs = array(b, []int32{6, 7}) }, "epoch": func(a *gpu.PackArgs) { a.Epoch++ },
			"stream": func(a *gpu.PackArgs) { a.Stream = gpu.PackStream(2, false) }, "seed": func(a *gpu.PackArgs) { a.Seed++ },
			"high seed": func(a *gpu.PackArgs) { a.Seed += 1 << 32 }, "layer": func(a *gpu.PackArgs) { a.Stream = gpu.PackStream(3, true) },
		} {
			if other := pack(edit); other[0] == same[0] {
				b.Errorf("another %s has the same draws", name)
			}
		}
	})
}

func testMean(b *bench, bits int) {
	const rows, cols, epochs = 5, 37, 2000
	p := b.packing(bits, b.normal(rows, cols), nil, b.ints(rows, 1<<30), layouts[0], gpu.FP32)
	sum := ref.NewMatrix(rows, cols)
	dst := b.blank(rows, cols, layouts[0])
	for e := range uint32(epochs) {
		p.args.Epoch = e
		b.q.PackRows(p.args)
		b.q.UnpackRows(dst, p.args.Dst, bits)
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
}

// testLevelCorners is testPackCorners in 2 bits: rows that are zero or the same everywhere, that begin below, at and above 0, too
// narrow for a scale and just wide enough, made of levels, as wide as is promised and wider, or not finite.
func testLevelCorners(b *bench) {
	const cols = 41
	rows := []struct{ low, scale float64 }{{0, 0}, {3, 0}, {-3, 0x1p-6}, {0, 0x1p-126}, {0, 0x1p-127}, {2, 0.5}, {-1, 0.25}, {-0x1p125, 0x1p125 / 3}}
	x := b.normal(len(rows)+6, cols)
	for i, r := range rows {
		for j, row := 0, x.Row(i); j < cols; j++ {
			row[j] = r.low + r.scale*float64((i+j)%4)
		}
	}
	x.Row(0)[5] = math.Copysign(0, -1)
	n := len(rows)
	x.Row(n)[40], x.Row(n + 1)[0], x.Row(n + 2)[33] = math.NaN(), math.Inf(1), math.Inf(-1)
	x.Row(n + 3)[7], x.Row(n + 3)[9] = math.MaxFloat32, -math.MaxFloat32
	x.Row(n + 4)[11] = -math.MaxFloat32
	for j := range x.Row(n + 5) {
		x.Row(n + 5)[j] = -1 - 0x1p-20*float64(j) // rounded down to the next bf16
	}
	for _, l := range layouts {
		p := b.packing(2, x, nil, b.ints(x.Rows, 1<<30), l, gpu.FP32)
		b.q.PackRows(p.args)
		b.packed(&p)
		b.unpacked(&p, l)
		got := b.get(p.unpackedRow(b, l))
		for i, r := range rows[:n-1] {
			for j, v := range got.Row(i) {
				want := x.At(i, j)
				if r.scale == 0x1p-127 {
					want = 0
				}
				if v != want || math.Signbit(v) != math.Signbit(want+0) {
					b.Errorf("row %d: %g became %g", i, want, v)
				}
			}
		}
		for i := n; i < n+5; i++ {
			for _, v := range got.Row(i) {
				if !math.IsNaN(v) {
					b.Errorf("row %d has no finite width, but has %g", i, v)
				}
			}
		}
	}
}
