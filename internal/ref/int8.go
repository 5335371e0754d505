package ref

import "math"

// PackedRow is a row of gpu.PackArgs: what it holds before it is laid out in bytes.
type PackedRow struct {
	Scale float64 // a float32; a bf16 in 2 bits
	Low   float64 // a bf16; 0 in 8 bits
	Q     []int8
}

// PackRows quantises a row; draw returns the 16 random bits of an element. The loop is exact: float32 results are rounded from
// float64, which rounds quotients and sums of float32s as one operation would (Figueroa 1995: 53 ≥ 2·24 + 2).
func PackRows(x []float64, bits int, draw func(j int) uint32) PackedRow {
	p := PackedRow{Q: make([]int8, len(x))}
	levels, m := 127.0, 0.0
	for _, v := range x {
		m = math.Max(m, math.Abs(v)) // NaN stays NaN
	}
	if bits == 2 {
		levels = 3
		p.Low, m = lowest(x, m)
	}
	switch p.Scale = float64(float32(m / levels)); {
	case math.IsNaN(m) || math.IsInf(m, 0):
		p.Scale, p.Low = math.NaN(), 0
		return p
	case p.Scale < 0x1p-126:
		p.Scale = 0
		return p
	}
	if bits == 2 {
		p.Scale = -downBF16(-p.Scale)
	}
	for j, v := range x {
		u := float64(2*draw(j)+1) * 0x1p-17
		t := float64(float32(float64(float32(float64(float32(v-p.Low))/p.Scale)) + u))
		p.Q[j] = int8(math.Max(-127, math.Min(math.Floor(t), 127)))
	}
	return p
}

// lowest returns the offset of a row whose largest absolute value is m, and how far the row reaches above it.
func lowest(x []float64, m float64) (low, width float64) {
	if len(x) == 0 || math.IsNaN(m) {
		return 0, m
	}
	low, high := math.Inf(1), math.Inf(-1)
	for _, v := range x {
		low, high = math.Min(low, v), math.Max(high, v)
	}
	low = downBF16(low)
	return low, float64(float32(high - low))
}

// downBF16 returns the largest bf16 that is not above x, a float32; +0 for -0.
func downBF16(x float64) float64 {
	b := BF16(x)
	if b > x { // the next one below: of the same sign, as 0 is a bf16
		bits := math.Float32bits(float32(b))
		if b > 0 {
			bits -= 1 << 16
		} else {
			bits += 1 << 16
		}
		b = float64(math.Float32frombits(bits))
	}
	return b + 0
}

// Unpack returns low + scale·q, each operation rounded to a float32.
func (p PackedRow) Unpack() []float64 {
	x := make([]float64, len(p.Q))
	for j, q := range p.Q {
		x[j] = float64(float32(p.Low + float64(float32(p.Scale*float64(q)))))
	}
	return x
}
