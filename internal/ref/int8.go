package ref

import "math"

// PackedRow is a row of gpu.PackArgs: what it holds before it is laid out in bytes.
type PackedRow struct {
	Scale float64 // a float32
	Q     []int8
}

// PackInt8 quantises a row; draw returns the 16 random bits of an element. The loop is exact: float32 results are rounded from
// float64, which rounds quotients and sums of float32s as one operation would (Figueroa 1995: 53 ≥ 2·24 + 2).
func PackInt8(x []float64, draw func(j int) uint32) PackedRow {
	p := PackedRow{Q: make([]int8, len(x))}
	m := 0.0
	for _, v := range x {
		m = math.Max(m, math.Abs(v)) // NaN stays NaN
	}
	switch p.Scale = float64(float32(m / 127)); {
	case math.IsNaN(m) || math.IsInf(m, 0):
		p.Scale = math.NaN()
		return p
	case p.Scale < 0x1p-126:
		p.Scale = 0
		return p
	}
	for j, v := range x {
		u := float64(2*draw(j)+1) * 0x1p-17
		t := float64(float32(float64(float32(v/p.Scale)) + u))
		p.Q[j] = int8(math.Max(-127, math.Min(math.Floor(t), 127)))
	}
	return p
}

// Unpack returns scale·q, each a float32.
func (p PackedRow) Unpack() []float64 {
	x := make([]float64, len(p.Q))
	for j, q := range p.Q {
		x[j] = float64(float32(p.Scale * float64(q)))
	}
	return x
}
